/** An event on its way through the pipeline: what was sent, what surrounds it, and what has been made of it. */
import type { GeoipProperties } from '../geoip.ts'
import type { GroupClaim } from '../identity/group.ts'
import type { MergeClaim } from '../identity/merge.ts'
import type { PersonUpdate } from '../identity/person.ts'
import type { Properties } from '../storage/person-store.ts'
import type { CaptureProject } from '../storage/project-tokens.ts'
import type { DropReason } from './counters.ts'
import type { CaptureLimits } from './messages.ts'
import type { JsonObject } from './requests.ts'
import type { Warning } from './warnings.ts'

/** What all events of one request share. Times are µs since 1970 UTC. */
export type Surroundings = {
  readonly project: CaptureProject
  readonly now: number
  readonly sent_at: number | null
  /** `sent_at` as it is written into the properties. */
  readonly sent_at_text: string | null
  readonly client_ip: string
  readonly locate: (ip: string) => GeoipProperties | null
  readonly is_historical: boolean
  readonly is_engage: boolean
  readonly limits: CaptureLimits
}

/**
 * Changed in place by the steps: an object per step and event would cost a third of the throughput of `/batch/`.
 * `properties` is the parsed body's own object, which belongs to nobody else.
 */
export type Draft = {
  /** Let go of after the last step: a body may hold a million events. */
  sent: JsonObject
  readonly around: Surroundings
  event: string
  distinct_id: string
  /** Project and distinct id: what caches know the sender by. */
  id_key: string
  /** As the client gave it; null when the commit is to make one. */
  uuid: Uint8Array | null
  timestamp: number
  properties: Properties
  elements_chain: string
  is_personless: boolean
  update: PersonUpdate | null
  merge: MergeClaim | null
  groups: readonly (readonly [group_type: string, group_key: string])[]
  group: GroupClaim | null
  /** As JSON; empty until the last step is done. */
  properties_text: string
  warnings: readonly Warning[]
}

/** Adds a warning to an event. */
export function warn(draft: Draft, warning: Warning): void {
  draft.warnings = [...draft.warnings, warning]
}

/** A line of STEPS: may change the draft; a reason drops the event; a refusal (thrown) refuses its request. */
export type Step = (draft: Draft) => DropReason | null
