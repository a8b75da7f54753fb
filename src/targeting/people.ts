/** The people this room reads about; the identity rooms write them. */
import type { PeopleReader } from '../storage/people-reader.ts'

export type { FoundPerson, ListedPerson } from '../storage/people-reader.ts'

/** Everything that is read of people. */
export type PeopleSource = Omit<PeopleReader, 'close'>
