/** The people this room reads about; the identity rooms write them. */
import type { PersonReader } from '../../storage/persons/person-reader.ts'

export type { ListedPerson, PersonRead } from '../../storage/persons/person-reader.ts'

/** Everything that is read of people. */
export type PersonSource = Omit<PersonReader, 'close'>
