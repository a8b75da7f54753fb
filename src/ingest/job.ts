/** One request on the data thread: from its bytes to events ready to be written, in slices. */
import { Refusal } from '../errors.ts'
import type { GeoipProperties } from '../geoip.ts'
import type { ProjectTokens } from '../storage/project-tokens.ts'
import type { DropReason } from './counters.ts'
import { decodeRequest } from './decode.ts'
import type { Surroundings } from './draft.ts'
import type { CaptureLimits, NumberedCapture, Refused } from './messages.ts'
import { type PreparedEvent, runPipeline } from './pipeline.ts'
import { type ParsedRequest, parseRequest, requireEventObject } from './requests.ts'
import type { Spikes } from './spikes.ts'
import { requireToken, unknownToken } from './token.ts'
import type { Warning } from './warnings.ts'

/** `normal` first; the others when there is room: what spikes, and what migrates (in its order). */
export type Lane = 'normal' | 'demoted' | 'historical'

export type Job = {
  readonly id: number
  readonly around: Surroundings
  readonly parsed: ParsedRequest
  /** How many of the request's events have been through the pipeline. */
  prepared: number
  lane: Lane
  readonly events: PreparedEvent[]
  readonly dropped: Map<DropReason, number>
  /** By type and key: each is told once, however many events it is about. */
  readonly warnings: Map<string, Warning>
}

/** What it takes to make sense of a request. */
export type JobNeeds = {
  readonly tokens: ProjectTokens
  readonly limits: CaptureLimits
  readonly locate: (ip: string) => GeoipProperties | null
}

/** Warnings of one request about events that were dropped or demoted. */
const WARNINGS_MAX = 100

/** Decodes a request and finds its project. Throws a `Refusal` for a request that cannot be taken. */
export function startJob(capture: NumberedCapture, needs: JobNeeds): Job {
  const { limits } = needs
  const parsed = parseRequest(capture, decodeRequest(capture, limits.body_bytes_max))
  const project = needs.tokens.find(requireToken(parsed.token))
  if (project === null) throw unknownToken()
  return {
    id: capture.id,
    around: {
      project,
      now: Math.round(capture.received_at_ms * 1000),
      sent_at: parsed.sent_at,
      sent_at_text: parsed.sent_at === null ? null : isoTime(parsed.sent_at),
      client_ip: capture.client_ip,
      locate: needs.locate,
      is_historical: parsed.is_historical,
      is_engage: parsed.is_engage,
      limits,
    },
    parsed,
    prepared: 0,
    lane: parsed.is_historical ? 'historical' : 'normal',
    events: [],
    dropped: new Map(),
    warnings: new Map(),
  }
}

/** Takes up to `count` further events through the pipeline; true when none is left. Throws a `Refusal`. */
export function prepareSome(job: Job, count: number, spikes: Spikes): boolean {
  const { events } = job.parsed
  const end = Math.min(events.length, job.prepared + count)
  const now_ms = performance.now()
  for (; job.prepared < end; job.prepared += 1) {
    const sent = requireEventObject(events[job.prepared])
    const verdict = runPipeline(sent, job.around, job.parsed.is_text_clean)
    switch (verdict.kind) {
      case 'accepted':
        job.events.push(verdict.event)
        if (!job.parsed.is_historical) watchForSpike(job, verdict.event, spikes, now_ms)
        break
      case 'dropped':
        job.dropped.set(verdict.reason, (job.dropped.get(verdict.reason) ?? 0) + 1)
        for (const warning of verdict.warnings) noteWarning(job, warning)
    }
  }
  return end === events.length
}

function watchForSpike(job: Job, event: PreparedEvent, spikes: Spikes, now_ms: number): void {
  if (spikes.allow(event.id_key, now_ms)) return
  job.lane = 'demoted'
  const { distinct_id } = event
  noteWarning(job, {
    type: 'ingestion_capacity_overflow',
    key: distinct_id,
    details: { distinct_id },
  })
}

function noteWarning(job: Job, warning: Warning): void {
  if (job.warnings.size < WARNINGS_MAX) job.warnings.set(`${warning.type}:${warning.key}`, warning)
}

function isoTime(microseconds: number): string {
  return new Date(microseconds / 1000).toISOString()
}

/** The answer that carries a refusal; null for an error that is none. */
export function refusedBy(error: unknown): Refused | null {
  if (!(error instanceof Refusal)) return null
  return { kind: 'refused', code: error.code, detail: error.detail, attr: error.attr }
}
