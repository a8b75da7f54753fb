/** One request on its way: from its bytes to events ready to be written, in slices. */

import { Refusal } from '../errors.ts'
import type { GeoipProperties } from '../geoip.ts'
import type { ProjectTokens } from '../storage/project-tokens.ts'
import type { DropReason } from './counters.ts'
import { type Decoded, decodeRequest } from './decode.ts'
import type { Surroundings } from './draft.ts'
import type { CaptureLimits, NumberedCapture } from './messages.ts'
import type { NameList, NameWatch } from './name-watch.ts'
import { runPipeline } from './pipeline.ts'
import type { ProjectPlugins } from './plugins.ts'
import type { PreparedEvent, PreparedRequest } from './prepared.ts'
import { type ParsedRequest, parseRequest, requireEventObject } from './requests.ts'
import { requireToken, unknownToken } from './token.ts'
import type { Warning } from './warnings.ts'

export type Job = {
  readonly id: number
  readonly around: Surroundings
  readonly parsed: ParsedRequest
  /** Characters of its JSON, which may be a thousand times the bytes that came. */
  readonly length: number
  /** How many of the request's events have been through the pipeline. */
  prepared: number
  events: PreparedEvent[]
  readonly dropped: Map<DropReason, number>
  /** By type and key: each is told once, however many events it is about. */
  readonly warnings: Map<string, Warning>
  readonly names: NameList
}

/** What it takes to make sense of a request. */
export type JobNeeds = {
  readonly tokens: ProjectTokens
  readonly limits: CaptureLimits
  readonly locate: (ip: string) => GeoipProperties | null
  readonly names: NameWatch
  /** Makes of a project's plugins what they do. */
  readonly plugins: ProjectPlugins
  /** Takes a request that is larger than it was sent, where that would hold up others; missing where it would not. */
  readonly divert?: (capture: NumberedCapture) => void
}

/** Bytes that a body may unpack to where others wait meanwhile. */
export const UNPACKED_BYTES_MAX = 256 * 1024

/** Warnings of one request about events that were dropped. */
const WARNINGS_MAX = 100

/** Decodes a request and finds its project; null when it was diverted. Throws a `Refusal` for one that cannot be taken. */
export function startJob(capture: NumberedCapture, needs: JobNeeds): Job | null {
  const { limits } = needs
  const decoded = decode(capture, needs)
  if (decoded === null) return null
  const parsed = parseRequest(capture, decoded)
  const project = needs.tokens.find(requireToken(parsed.token))
  if (project === null) throw unknownToken()
  const now = Math.round(capture.received_at_ms * 1000)
  return {
    id: capture.id,
    around: {
      project,
      now,
      sent_at: parsed.sent_at,
      sent_at_text: parsed.sent_at === null ? null : isoTime(parsed.sent_at),
      client_ip: capture.client_ip,
      locate: needs.locate,
      is_historical: parsed.is_historical,
      is_engage: parsed.is_engage,
      limits,
      transformations: needs.plugins.of(project),
    },
    parsed,
    length: decoded.length,
    prepared: 0,
    events: [],
    dropped: new Map(),
    warnings: new Map(),
    names: needs.names.list(project.id, now),
  }
}

function decode(capture: NumberedCapture, needs: JobNeeds): Decoded | null {
  const { limits, divert } = needs
  const is_sent_small = capture.body.length <= UNPACKED_BYTES_MAX
  const here_max =
    divert !== undefined && is_sent_small ? UNPACKED_BYTES_MAX : limits.body_bytes_max
  try {
    return decodeRequest(capture, {
      body_bytes_max: Math.min(here_max, limits.body_bytes_max),
      knowsToken: (token) => needs.tokens.find(token) !== null,
    })
  } catch (error) {
    const is_too_large = error instanceof Refusal && error.code === 'request_too_large'
    if (divert === undefined || !is_too_large || here_max >= limits.body_bytes_max) throw error
    divert(capture)
    return null
  }
}

/** What a slice of a request's events may come to. */
export type SliceMax = { readonly events: number; readonly length: number }

/** Takes some further events through the pipeline, as many as fill a slice; true when none is left. Throws a `Refusal`. */
export function prepareSome(job: Job, max: SliceMax): boolean {
  const { events } = job.parsed
  const end = Math.min(events.length, job.prepared + max.events)
  let length = 0
  for (; job.prepared < end && length < max.length; job.prepared += 1) {
    const sent = requireEventObject(events[job.prepared])
    const verdict = runPipeline(sent, job.around, job.parsed.is_text_clean)
    switch (verdict.kind) {
      case 'accepted':
        job.events.push(verdict.event)
        length += verdict.event.properties_text.length + verdict.event.elements_chain.length
        job.names.note(verdict.event.event, verdict.event.properties)
        break
      case 'dropped':
        job.dropped.set(verdict.reason, (job.dropped.get(verdict.reason) ?? 0) + 1)
        for (const warning of verdict.warnings) noteWarning(job, warning)
    }
  }
  return job.prepared === events.length
}

/** What a job came to, once all of its events are prepared; the events themselves aside. */
export function finishJob(job: Job): Omit<PreparedRequest, 'events'> {
  return {
    id: job.id,
    project_id: job.around.project.id,
    now: job.around.now,
    is_historical: job.parsed.is_historical,
    dropped: [...job.dropped],
    warnings: [...job.warnings.values()],
    names: job.names.close(),
  }
}

function noteWarning(job: Job, warning: Warning): void {
  if (job.warnings.size < WARNINGS_MAX) job.warnings.set(`${warning.type}:${warning.key}`, warning)
}

function isoTime(microseconds: number): string {
  return new Date(microseconds / 1000).toISOString()
}
