/** The person of a path, and activity records of changes to it. */

import { Refusal } from '../../errors.ts'
import { type ActivityEntry, recordActivity } from '../../projects/activity.ts'
import type { Caller } from '../../projects/rights/access.ts'
import type { Project } from '../../projects/settings/project.ts'
import type { ListedPerson } from '../../targeting/shared/person-reads.ts'
import { formatUuid, isUuid, uuidBytes } from '../../uuid.ts'
import type { AppContext } from '../app-context.ts'
import type { PathParams } from '../endpoint.ts'
import { pathNames } from '../route.ts'
import { nameOfPerson } from './person-serializer.ts'

const NUMBER = /^\d+$/

/** Parses a person's id to 16 bytes. Refuses a malformed one, naming `attr`. */
export function personIdOf(text: string, attr: string | null = null): Uint8Array {
  if (isUuid(text)) return uuidBytes(text)
  throw new Refusal(
    'invalid_input',
    'The ID provided does not look like a personID. If you are using a distinctId, please use /persons?distinct_id=X instead.',
    { attr },
  )
}

/** Parses the path's id. Refuses a malformed one, and a number with `not_found`: no person here has one. */
export function personIdInPath(params: PathParams): Uint8Array {
  const text = pathNames(params, 'person_id')
  if (NUMBER.test(text)) throw new Refusal('not_found', 'Not found.')
  return personIdOf(text)
}

/** Returns the person of the path. Refuses a malformed id, and one without a person. */
export function findPersonInPath(
  app: AppContext,
  project: Project,
  params: PathParams,
): ListedPerson {
  const id = personIdInPath(params)
  const person = app.persons.findPersonById(project.id, id)
  if (person === null) throw new Refusal('not_found', 'Not found.')
  return person
}

/** The caller, the project and the person of a change. */
export type PersonChangeCall = {
  readonly caller: Caller
  readonly project: Project
  readonly person: ListedPerson
}

/**
 * Records a change in the activity log. The change is already committed, because persons are in another
 * database.
 */
export function recordPersonChange(
  app: AppContext,
  { caller, project, person }: PersonChangeCall,
  noted: Pick<ActivityEntry, 'activity' | 'changes'> & { readonly name?: string },
): void {
  recordActivity(
    app.control,
    {
      organization_id: project.organization_id,
      project_id: project.id,
      user_id: caller.user_id,
      scope: 'Person',
      item_id: formatUuid(person.id),
      name: noted.name ?? nameOfPerson(app, project, person),
      activity: noted.activity,
      changes: noted.changes,
    },
    app.now(),
  )
}
