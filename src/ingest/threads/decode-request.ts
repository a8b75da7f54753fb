/** One request on its way: from its bytes to events ready to be written, in slices. */

import { Refusal } from '../../errors.ts'
import type { GeoipProperties } from '../../geoip.ts'
import type { ProjectTokens } from '../../storage/control/project-tokens.ts'
import type { DropReason } from '../notes/counters.ts'
import type { DefinitionTracker, NameList } from '../notes/definition-tracker.ts'
import type { Warning } from '../notes/warnings.ts'
import { type DecodedBody, decodeRequest } from '../pipeline/decode.ts'
import type { EventDraft, RequestContext } from '../pipeline/event-draft.ts'
import { runPipeline } from '../pipeline/pipeline.ts'
import type { ProjectPlugins } from '../pipeline/plugins.ts'
import { type ParsedRequest, parseRequest, requireEventObject } from '../pipeline/requests.ts'
import { movedProject, requireToken, unknownToken } from '../pipeline/token.ts'
import type { CaptureLimits, NumberedCapture } from './messages.ts'
import type { PreparedEvent, PreparedRequest } from './prepared-request.ts'

export type DecodeJob = {
  readonly id: number
  readonly request_context: RequestContext
  readonly parsed: ParsedRequest
  /** Characters of the JSON, up to a thousand times the bytes of a compressed body. */
  readonly length: number
  /** Number of events that have passed the pipeline. */
  prepared: number
  events: PreparedEvent[]
  /** An event for which the last slice had no room. */
  held: HeldEvent | null
  readonly dropped: Map<DropReason, number>
  /** By type and key: a warning is reported once per request, whatever number of events has it. */
  readonly warnings: Map<string, Warning>
  readonly names: NameList
}

/** Dependencies of decoding. */
export type DecodeContext = {
  readonly tokens: ProjectTokens
  readonly limits: CaptureLimits
  readonly locate: (ip: string) => GeoipProperties | null
  readonly names: DefinitionTracker
  /** Compiled transformations by project. */
  readonly plugins: ProjectPlugins
  /** Passes a request with a large decompressed body to the decode thread for such; missing on that thread. */
  readonly divert?: (capture: NumberedCapture) => void
}

/** Bytes of a body, decompressed, on the data thread and the first decode thread; larger ones go to the second. */
export const UNPACKED_BYTES_MAX = 256 * 1024

/** Warnings of one request about events that were dropped. */
const WARNINGS_MAX = 100

/** Decodes a request and finds its project; null if it was diverted. Throws a `Refusal` for an invalid one. */
export function startDecodeJob(capture: NumberedCapture, context: DecodeContext): DecodeJob | null {
  const { limits } = context
  const decoded = decode(capture, context)
  if (decoded === null) return null
  const parsed = parseRequest(capture, decoded)
  const token = requireToken(parsed.token)
  const project = context.tokens.find(token)
  if (project === null) throw context.tokens.isMoved(token) ? movedProject() : unknownToken()
  const now = Math.round(capture.received_at_ms * 1000)
  return {
    id: capture.id,
    request_context: {
      project,
      now,
      sent_at: parsed.sent_at,
      sent_at_text: parsed.sent_at === null ? null : isoTime(parsed.sent_at),
      client_ip: capture.client_ip,
      locate: context.locate,
      is_historical: parsed.is_historical,
      is_engage: parsed.is_engage,
      limits,
      transformations: context.plugins.of(project),
    },
    parsed,
    length: decoded.length,
    prepared: 0,
    events: [],
    held: null,
    dropped: new Map(),
    warnings: new Map(),
    names: context.names.list(project.id, now),
  }
}

function decode(capture: NumberedCapture, context: DecodeContext): DecodedBody | null {
  const { limits, divert } = context
  const is_sent_small = capture.body.length <= UNPACKED_BYTES_MAX
  const here_max =
    divert !== undefined && is_sent_small ? UNPACKED_BYTES_MAX : limits.body_bytes_max
  try {
    return decodeRequest(capture, {
      body_bytes_max: Math.min(here_max, limits.body_bytes_max),
      knowsToken: (token) => context.tokens.find(token) !== null || context.tokens.isMoved(token),
    })
  } catch (error) {
    const is_too_large = error instanceof Refusal && error.code === 'request_too_large'
    if (divert === undefined || !is_too_large || here_max >= limits.body_bytes_max) throw error
    divert(capture)
    return null
  }
}

/**
 * The most events of a slice, and characters of their properties, to which each property adds some: other requests pass
 * between the slices of a body with a million events.
 */
const SLICE_EVENTS_MAX = 1000
const SLICE_LENGTH_MAX = 1024 * 1024

/** Characters that take as long as one more property: a megabyte of short ones took 60 ms, of long ones 15. */
const PROPERTY_LENGTH = 64

/** Runs the pipeline on the next slice of events; true after the last event. Throws a `Refusal`. */
export function decodeSome(job: DecodeJob): boolean {
  const { events } = job.parsed
  const { held } = job
  let length = 0
  if (held !== null) {
    job.held = null
    job.events.push(held)
    length = lengthOf(held)
  }
  const end = Math.min(events.length, job.prepared + SLICE_EVENTS_MAX)
  for (; job.prepared < end && length < SLICE_LENGTH_MAX; job.prepared += 1) {
    const sent = requireEventObject(events[job.prepared])
    const verdict = runPipeline(sent, job.request_context, job.parsed.is_text_clean)
    switch (verdict.kind) {
      case 'accepted':
        job.names.note(verdict.event.event, verdict.event.properties)
        length += lengthOf(verdict.event)
        // The next slice begins with this event: a slice with two events of a megabyte would take its receiver too
        // long.
        if (length > SLICE_LENGTH_MAX && job.events.length > 0) job.held = verdict.event
        else job.events.push(verdict.event)
        break
      case 'dropped':
        job.dropped.set(verdict.reason, (job.dropped.get(verdict.reason) ?? 0) + 1)
        for (const warning of verdict.warnings) noteWarning(job, warning)
    }
  }
  return job.prepared === events.length && job.held === null
}

type SizedEvent = Pick<EventDraft, 'elements_chain' | 'properties' | 'properties_text'>
type HeldEvent = PreparedEvent & SizedEvent

function lengthOf({ properties, properties_text, elements_chain }: SizedEvent): number {
  const names = PROPERTY_LENGTH * Object.keys(properties).length
  return properties_text.length + elements_chain.length + names
}

/** The request without its events, once all of them have passed the pipeline. */
export function finishDecodeJob(job: DecodeJob): Omit<PreparedRequest, 'events'> {
  return {
    id: job.id,
    project_id: job.request_context.project.id,
    now: job.request_context.now,
    is_historical: job.parsed.is_historical,
    dropped: [...job.dropped],
    warnings: [...job.warnings.values()],
    names: job.names.close(),
  }
}

function noteWarning(job: DecodeJob, warning: Warning): void {
  if (job.warnings.size < WARNINGS_MAX) job.warnings.set(`${warning.type}:${warning.key}`, warning)
}

function isoTime(microseconds: number): string {
  return new Date(microseconds / 1000).toISOString()
}
