/** The persons that this room reads; other rooms write them. */
import type { UnknownToEdge } from '../../flags/subject.ts'
import type { PersonReader } from '../../storage/persons/person-reader.ts'

export type { ListedPerson, PersonRead } from '../../storage/persons/person-reader.ts'

/** All reads of persons. */
export type PersonSource = Omit<PersonReader, 'close'> & {
  /**
   * On an edge: finds the facts about a person that it does not know, null if the request has all that flags read.
   * Missing on an ordinary server, which has all facts.
   */
  readonly unknownOf?: (project_id: number, distinct_id: string | null) => UnknownToEdge
}
