/** The persons that this room reads; other rooms write them. */
import type { UnknownToEdge } from '../../flags/subject.ts'
import type { PersonReader } from '../../storage/persons/person-reader.ts'

export type { ListedPerson, PersonRead } from '../../storage/persons/person-reader.ts'

/** All reads of persons. */
export type PersonSource = Omit<PersonReader, 'close'> & {
  /**
   * On an edge: what it cannot know about the one whose flags are evaluated, null if the request says enough of them.
   * Missing where everything is stored.
   */
  readonly unknownOf?: (project_id: number, distinct_id: string | null) => UnknownToEdge
}
