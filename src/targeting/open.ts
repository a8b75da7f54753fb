/** Opens what this room reads: compiled definitions of control.db, people of events.db. */
import type { ControlDB } from '../projects/access.ts'
import { ControlWatch } from '../storage/control-watch.ts'
import { PeopleReader } from '../storage/people-reader.ts'
import { FlagDefinitions } from './definitions.ts'

export type Targeting = {
  readonly flags: FlagDefinitions
  readonly people: PeopleReader
  close(): void
}

/** Both databases must exist with all of their tables; `control` is the connection that this process writes through. */
export function openTargeting(data_dir: string, control: ControlDB): Targeting {
  const watch = new ControlWatch(data_dir)
  const people = new PeopleReader(data_dir)
  return {
    flags: new FlagDefinitions({ control, watch, people }),
    people,
    close() {
      people.close()
      watch.close()
    },
  }
}
