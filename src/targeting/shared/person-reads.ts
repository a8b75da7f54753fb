/** The persons that this room reads; other rooms write them. */
import type { UnknownToEdge } from '../../flags/subject.ts'
import type { PersonReader } from '../../storage/persons/person-reader.ts'

export type { PersonRead } from '../../storage/persons/person-read-cache.ts'
export type { ListedPerson } from '../../storage/persons/person-reader.ts'

/** The stored facts that flags read for one request. */
export type FactsNeeded = {
  /** Null if the request has all person properties that flags read. */
  readonly distinct_id: string | null
  /** The other id whose overrides are read; null without experience continuity. */
  readonly anon_distinct_id: string | null
  readonly groups: readonly { readonly group_type_index: number; readonly group_key: string }[]
}

/** All reads of persons. */
export type PersonSource = Omit<PersonReader, 'close'> & {
  /**
   * On an edge: finds which facts of a request it does not know. Called before the reads that it is about. Missing on an
   * ordinary server, which has all facts.
   */
  readonly unknownOf?: (project_id: number, needed: FactsNeeded) => UnknownToEdge
}
