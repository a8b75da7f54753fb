/** The persons that this room reads; other rooms write them. */
import type { PersonReader } from '../../storage/persons/person-reader.ts'

export type { ListedPerson, PersonRead } from '../../storage/persons/person-reader.ts'

/** All reads of persons. */
export type PersonSource = Omit<PersonReader, 'close'>
