/** Requests and events that are ready to be written, however they got ready. */
import type { GroupClaim } from '../../identity/group.ts'
import type { MergeClaim } from '../../identity/merge.ts'
import type { PersonUpdate } from '../../identity/person.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'
import type { DropReason } from '../notes/counters.ts'
import type { Warning } from '../notes/warnings.ts'

/** `normal` first; the others when there is room: what spikes, and what migrates (in its order). */
export type IngestLane = 'normal' | 'demoted' | 'historical'

/** An event that only has to be written. Times are µs since 1970 UTC. */
export type PreparedEvent = {
  /** As the client gave it; null when the commit is to make one. */
  readonly uuid: Uint8Array | null
  readonly event: string
  readonly distinct_id: string
  /** Project and distinct id: what caches know the sender by. */
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

/** A request all of whose events are ready. */
export type PreparedRequest = {
  readonly id: number
  readonly project_id: number
  /** When it was received. */
  readonly now: number
  readonly is_historical: boolean
  readonly events: readonly PreparedEvent[]
  readonly dropped: readonly (readonly [reason: DropReason, count: number])[]
  readonly warnings: readonly Warning[]
  readonly names: NewNames
}

/** Names that may need a definition: what the one who prepared the request had not met within the hour. */
export type NewNames = {
  readonly events: readonly string[]
  /** Each with a value that shows its type. */
  readonly properties: PersonProperties
}
