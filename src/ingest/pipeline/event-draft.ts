/** An event in the pipeline: the JSON sent, the context of its request, and the results of the steps so far. */
import type { GeoipProperties } from '../../geoip.ts'
import type { Transformations } from '../../plugins/transformations.ts'
import type { CaptureProject } from '../../storage/control/project-tokens.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'
import type { DropReason } from '../notes/counters.ts'
import type { Warning } from '../notes/warnings.ts'
import type { CaptureLimits } from '../threads/messages.ts'
import type { PreparedEvent } from '../threads/prepared-request.ts'
import type { SentObject } from './requests.ts'

/** Facts common to all events of a request. Times are µs since 1970 UTC. */
export type RequestContext = {
  readonly project: CaptureProject
  readonly now: number
  readonly sent_at: number | null
  /** `sent_at` as ISO text, for the property `$sent_at`. */
  readonly sent_at_text: string | null
  readonly client_ip: string
  readonly locate: (ip: string) => GeoipProperties | null
  /** The project's compiled plugins; missing without any. */
  readonly transformations?: Transformations
  readonly is_historical: boolean
  readonly is_engage: boolean
  readonly limits: CaptureLimits
}

/**
 * Changed in place by the steps: an object per step and event would cost a third of the throughput of `/batch/`.
 * `properties` is an object of the parsed body, which has no other user.
 */
export type EventDraft = { -readonly [name in keyof PreparedEvent]: PreparedEvent[name] } & {
  /** Released after the last step: a body may have a million events. */
  sent: SentObject
  readonly request_context: RequestContext
  properties: PersonProperties
}

/** Adds a warning to an event. */
export function addWarning(draft: EventDraft, warning: Warning): void {
  draft.warnings = [...draft.warnings, warning]
}

/**
 * A line of STEPS. It may change the draft. A returned reason drops the event; a thrown `Refusal` refuses its request.
 */
export type PipelineStep = (draft: EventDraft) => DropReason | null
