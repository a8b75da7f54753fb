/** Properties of a person changed by hand: as an event that sets or unsets them, like any other (wire §4.8). */
import {
  DeletePropertyBody,
  Done,
  PersonBody,
  UpdatePropertyBody,
} from '../../contract/person-changes.ts'
import { Refusal } from '../../errors.ts'
import { CAPTURE_LIMITS } from '../../ingest/messages.ts'
import { changesBetween } from '../../projects/activity.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { type Changing, noteChange, personIn } from './person-in-path.ts'

type Properties = Readonly<Record<string, unknown>>

const PERSON_BODY = shapeOf(PersonBody)

/** What is taken away by event is called this by clients that look for it. */
const DELETING_EVENT = '$delete_person_property'

export const PERSON_PROPERTY_ROUTES = [
  ...(['PATCH', 'PUT'] as const).map((method) =>
    projectRoute({
      method,
      path: 'persons/:person_id/',
      scope: 'person:write',
      says: 'Set properties of a person; others stay.',
      body: PERSON_BODY,
      answers: { 202: null },
      answer: async (needs, { asker, body, params, project }) => {
        const person = personIn(needs, project, params)
        await setProperties(needs, { asker, project, person }, body.properties, 'properties')
        return answerAccepted()
      },
    }),
  ),
  projectRoute({
    method: 'POST',
    path: 'persons/:person_id/update_property/',
    scope: 'person:write',
    says: 'Set one property of a person.',
    body: shapeOf(UpdatePropertyBody),
    answers: { 202: null },
    answer: async (needs, { asker, body, params, project }) => {
      const person = personIn(needs, project, params)
      if (body.value === undefined) {
        throw new Refusal('required', 'This field is required.', { attr: 'value' })
      }
      const set = Object.fromEntries([[body.key, body.value]])
      await setProperties(needs, { asker, project, person }, set, 'value')
      return answerAccepted()
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'persons/:person_id/delete_property/',
    scope: 'person:write',
    says: 'Take properties from a person.',
    body: shapeOf(DeletePropertyBody),
    answers: { 201: Done },
    answer: async (needs, { asker, body, params, project }) => {
      const person = personIn(needs, project, params)
      const $unset = [body.$unset].flat()
      await sendEvent(needs, { asker, project, person }, DELETING_EVENT, { $unset })
      noteProperties(needs, { asker, project, person }, withoutKeys(person.properties, $unset))
      return answerJson({ success: true }, 201)
    },
  }),
] as const

/** Done already, but clients of the interface look for exactly 202. */
export function answerAccepted(): Response {
  return new Response(null, { status: 202, headers: { 'X-Content-Type-Options': 'nosniff' } })
}

/** Refuses what a person could not hold: as an event it would only be warned about. */
async function setProperties(
  needs: Needs,
  changing: Changing,
  set: Properties,
  attr: string,
): Promise<void> {
  const after = { ...changing.person.properties, ...set }
  const { person_bytes_max, person_properties_max } = CAPTURE_LIMITS
  const before = Object.keys(changing.person.properties).length
  if (Object.keys(after).length > Math.max(person_properties_max, before)) {
    const detail = `A person holds at most ${person_properties_max} properties.`
    throw new Refusal('invalid_input', detail, { attr })
  }
  if (Buffer.byteLength(JSON.stringify(after)) > person_bytes_max) {
    const detail = `A person holds at most ${person_bytes_max} bytes of properties.`
    throw new Refusal('invalid_input', detail, { attr })
  }
  await sendEvent(needs, changing, '$set', { $set: set })
  noteProperties(needs, changing, after)
}

async function sendEvent(
  needs: Needs,
  { person, project }: Changing,
  event: string,
  properties: Properties,
): Promise<void> {
  const [distinct_id] = needs.people.listDistinctIds(project.id, person.id, 1)
  if (distinct_id === undefined) {
    throw new Refusal('invalid_input', 'This person has no distinct id, so it cannot be changed.')
  }
  // Where the asker is says nothing about the person.
  const sent = { event, distinct_id, properties: { ...properties, $geoip_disable: true } }
  const answer = await needs.capture.send({
    path: '/capture',
    query: '',
    content_type: 'application/json',
    content_encoding: '',
    client_ip: '',
    received_at_ms: needs.now().getTime(),
    body: new TextEncoder().encode(JSON.stringify({ api_key: project.api_token, ...sent })),
  })
  if (answer.kind === 'refused') {
    throw new Refusal(answer.code, answer.detail, { attr: answer.attr })
  }
}

function withoutKeys(properties: Properties, keys: readonly string[]): Properties {
  return Object.fromEntries(Object.entries(properties).filter(([key]) => !keys.includes(key)))
}

function noteProperties(needs: Needs, changing: Changing, after: Properties): void {
  const before = changing.person.properties
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  const all = { ...after, ...Object.fromEntries(gone.map((key) => [key, null])) }
  const changes = changesBetween('Person', before, all)
  if (changes.length > 0) noteChange(needs, changing, { activity: 'updated', changes })
}
