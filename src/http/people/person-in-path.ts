/** The person a path names, and notes of what was changed on it (wire §4.8). */
import { Refusal } from '../../errors.ts'
import type { Asker } from '../../projects/access.ts'
import { type Activity, recordActivity } from '../../projects/activity.ts'
import type { Project } from '../../projects/project.ts'
import type { ListedPerson } from '../../targeting/people.ts'
import type { Params } from '../endpoint.ts'
import type { Needs } from '../needs.ts'
import { namedIn } from '../route.ts'
import { nameOfPerson, uuidText } from './person-wire.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The 16 bytes of a person's id. Refuses what is none, naming `attr`. */
export function personIdOf(text: string, attr: string | null = null): Uint8Array {
  if (UUID.test(text)) return Uint8Array.fromHex(text.replaceAll('-', ''))
  throw new Refusal(
    'invalid_input',
    'The ID provided does not look like a personID. If you are using a distinctId, please use /persons?distinct_id=X instead.',
    { attr },
  )
}

/** The person a path names. Refuses what is no id, and what nobody has. */
export function personIn(needs: Needs, project: Project, params: Params): ListedPerson {
  const id = personIdOf(namedIn(params, 'person_id'))
  const person = needs.people.findPersonById(project.id, id)
  if (person === null) throw new Refusal('not_found', 'Not found.')
  return person
}

/** Whose change of whom. */
export type Changing = {
  readonly asker: Asker
  readonly project: Project
  readonly person: ListedPerson
}

/** Notes what was changed on a person. The change is committed by then: persons stand in another database. */
export function noteChange(
  needs: Needs,
  { asker, project, person }: Changing,
  noted: Pick<Activity, 'activity' | 'changes'> & { readonly name?: string },
): void {
  recordActivity(
    needs.control,
    {
      organization_id: project.organization_id,
      project_id: project.id,
      user_id: asker.user_id,
      scope: 'Person',
      item_id: uuidText(person.id),
      name: noted.name ?? nameOfPerson(needs, project, person),
      activity: noted.activity,
      changes: noted.changes,
    },
    needs.now(),
  )
}
