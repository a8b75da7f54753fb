/** Changes a person's properties through the API: sent as an event that sets or unsets them. */
import {
  DeletePropertyBody,
  Done,
  PersonBody,
  UpdatePropertyBody,
} from '../../contract/persons/person-changes.ts'
import { Refusal } from '../../errors.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { projectRoute } from '../route.ts'
import { findPersonInPath, type PersonChangeCall, recordPersonChange } from './person-in-path.ts'
import {
  propertyChanges,
  requireRoom,
  type SentProperties,
  sendOwnEvent,
  withoutKeys,
} from './property-changes.ts'

/** Clients look for deletions under this event name. */
const DELETING_EVENT = '$delete_person_property'

export const PERSON_PROPERTY_ROUTES = [
  projectRoute({
    method: 'PATCH',
    path: 'persons/:person_id/',
    scope: 'person:write',
    summary: 'Set properties of a person; others are kept.',
    body: validatorOf(PersonBody),
    answers: { 202: null },
    answer: async (app, { caller, body, params, project }) => {
      const person = findPersonInPath(app, project, params)
      await setProperties(app, { caller, project, person }, body.properties, 'properties')
      return answerAccepted()
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'persons/:person_id/update_property/',
    scope: 'person:write',
    summary: 'Set one property of a person.',
    body: validatorOf(UpdatePropertyBody),
    answers: { 202: null },
    answer: async (app, { caller, body, params, project }) => {
      const person = findPersonInPath(app, project, params)
      if (body.value === undefined) {
        throw new Refusal('required', 'This field is required.', { attr: 'value' })
      }
      const set = Object.fromEntries([[body.key, body.value]])
      await setProperties(app, { caller, project, person }, set, 'value')
      return answerAccepted()
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'persons/:person_id/delete_property/',
    scope: 'person:write',
    summary: 'Remove properties of a person.',
    body: validatorOf(DeletePropertyBody),
    answers: { 201: Done },
    answer: async (app, { caller, body, params, project }) => {
      const person = findPersonInPath(app, project, params)
      const $unset = [body.$unset].flat()
      await sendEvent(app, { caller, project, person }, DELETING_EVENT, { $unset })
      noteProperties(app, { caller, project, person }, withoutKeys(person.properties, $unset))
      return answerJson({ success: true }, 201)
    },
  }),
] as const

/** 202, although the change is done: clients of the interface check for exactly that status. */
export function answerAccepted(): Response {
  return new Response(null, { status: 202, headers: { 'X-Content-Type-Options': 'nosniff' } })
}

/** Sets properties. Refuses values that a person cannot store: ingestion would only write a warning. */
async function setProperties(
  app: AppContext,
  changing: PersonChangeCall,
  set: SentProperties,
  attr: string,
): Promise<void> {
  const before = changing.person.properties
  const after = { ...before, ...set }
  requireRoom('person', { before, after }, attr)
  await sendEvent(app, changing, '$set', { $set: set })
  noteProperties(app, changing, after)
}

async function sendEvent(
  app: AppContext,
  { person, project }: PersonChangeCall,
  event: string,
  properties: SentProperties,
): Promise<void> {
  const [distinct_id] = app.persons.listDistinctIds(project.id, person.id, 1)
  if (distinct_id === undefined) {
    throw new Refusal('invalid_input', 'This person has no distinct id, so it cannot be changed.')
  }
  await sendOwnEvent(app, project, { event, distinct_id, properties })
}

function noteProperties(app: AppContext, changing: PersonChangeCall, after: SentProperties): void {
  const changes = propertyChanges('Person', changing.person.properties, after)
  if (changes.length > 0) recordPersonChange(app, changing, { activity: 'updated', changes })
}
