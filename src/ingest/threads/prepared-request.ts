/** Decoded requests and events, which the pipeline produces and the committer writes. */
import type { GroupClaim } from '../../identity/group.ts'
import type { MergeClaim } from '../../identity/merge.ts'
import type { PersonUpdate } from '../../identity/person.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'
import type { DropReason } from '../notes/counters.ts'
import type { Warning } from '../notes/warnings.ts'

/**
 * The queue of a request: `normal` is committed first, `demoted` (over its rate limit) and `historical` (an import)
 * after it.
 */
export type IngestLane = 'normal' | 'demoted' | 'historical'

/** An event that has passed the pipeline. Times are µs since 1970 UTC. */
export type PreparedEvent = {
  /** The client's uuid; null when the commit generates one. */
  readonly uuid: Uint8Array | null
  readonly event: string
  readonly distinct_id: string
  /** `project:distinct id`, the key of the person caches. */
  readonly id_key: string
  readonly timestamp: number
  /** The properties as JSON. */
  readonly properties_text: string
  readonly elements_chain: string
  readonly is_personless: boolean
  readonly update: PersonUpdate | null
  readonly merge: MergeClaim | null
  readonly groups: readonly (readonly [group_type: string, group_key: string])[]
  readonly group: GroupClaim | null
  readonly warnings: readonly Warning[]
}

/** A request with all of its events. */
export type PreparedRequest = {
  readonly id: number
  readonly project_id: number
  /** Time of receipt, µs. */
  readonly now: number
  readonly is_historical: boolean
  readonly events: readonly PreparedEvent[]
  readonly dropped: readonly (readonly [reason: DropReason, count: number])[]
  readonly warnings: readonly Warning[]
  readonly names: NewNames
}

/** Names that may need a definition: the decode thread has not reported them within `REMEMBERED_US`. */
export type NewNames = {
  readonly events: readonly string[]
  /** Each with an example value, from which its type is detected. */
  readonly properties: PersonProperties
}

/** Counts, names and warnings of a request; they come with its last entry. */
export type ForwardedRest = Pick<PreparedRequest, 'dropped' | 'names' | 'warnings'>

/** An identifier that an edge hashed for a flag instead of the distinct id (experience continuity). */
export type ForwardedOverride = readonly [distinct_id: string, flag_key: string, hash_key: string]

/** An entry as the home applies it. */
export type ForwardedEntry = {
  readonly seq: number
  readonly project_id: number
  /** Time of receipt by the edge, µs since 1970 UTC by the edge's clock. */
  readonly received_at: number
  readonly events: readonly PreparedEvent[]
  readonly rest: ForwardedRest | null
  readonly overrides: readonly ForwardedOverride[]
}
