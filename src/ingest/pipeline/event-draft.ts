/** An event on its way through the pipeline: what was sent, what surrounds it, and what has been made of it. */
import type { GeoipProperties } from '../../geoip.ts'
import type { Transformations } from '../../plugins/transformations.ts'
import type { CaptureProject } from '../../storage/control/project-tokens.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'
import type { DropReason } from '../notes/counters.ts'
import type { Warning } from '../notes/warnings.ts'
import type { PreparedEvent } from '../threads/batch.ts'
import type { CaptureLimits } from '../threads/messages.ts'
import type { SentObject } from './requests.ts'

/** What all events of one request share. Times are µs since 1970 UTC. */
export type RequestContext = {
  readonly project: CaptureProject
  readonly now: number
  readonly sent_at: number | null
  /** `sent_at` as it is written into the properties. */
  readonly sent_at_text: string | null
  readonly client_ip: string
  readonly locate: (ip: string) => GeoipProperties | null
  /** What the project's plugins do to its events; missing means nothing. */
  readonly transformations?: Transformations
  readonly is_historical: boolean
  readonly is_engage: boolean
  readonly limits: CaptureLimits
}

/**
 * Changed in place by the steps: an object per step and event would cost a third of the throughput of `/batch/`.
 * `properties` is the parsed body's own object, which belongs to nobody else.
 */
export type EventDraft = { -readonly [name in keyof PreparedEvent]: PreparedEvent[name] } & {
  /** Let go of after the last step: a body may hold a million events. */
  sent: SentObject
  readonly request_context: RequestContext
  properties: PersonProperties
}

/** Adds a warning to an event. */
export function addWarning(draft: EventDraft, warning: Warning): void {
  draft.warnings = [...draft.warnings, warning]
}

/** A line of STEPS: may change the draft; a reason drops the event; a refusal (thrown) refuses its request. */
export type PipelineStep = (draft: EventDraft) => DropReason | null
