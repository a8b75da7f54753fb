/** What decide is measured with: fifty flags made through the API, people captured, and queries about them. */
import { PERSONAL_API_KEY } from '../flows/processes/server.ts'
import { someDefinitions, somePerson } from './flags.ts'
import { SIZES } from './sizes.ts'

/** The people that flags are asked about, in turn. */
export type Askers = {
  readonly name: string
  readonly people: number
  /** Each round has other people. */
  readonly are_new: boolean
}

const [FEW_PEOPLE, MANY_PEOPLE, ONCE_PEOPLE] = SIZES.askers

export const FEW: Askers = {
  name: `${FEW_PEOPLE} people in turn`,
  people: FEW_PEOPLE,
  are_new: false,
}
/** More than have room among the persons known without being read, not more than evaluations are remembered of. */
export const MANY: Askers = {
  name: `${MANY_PEOPLE} people in turn`,
  people: MANY_PEOPLE,
  are_new: false,
}
/** At first nobody is known; half as many are then asked about again at half the rate. */
export const NEVER_TWICE: Askers = { name: 'nobody twice', people: ONCE_PEOPLE, are_new: true }

/** Makes the flags and stores the people in a running server. */
export async function fillServer(url: string, token: string, persons: number): Promise<void> {
  for (const { key, filters } of someDefinitions().flags) {
    await send(`${url}/api/projects/1/feature_flags/`, { key, filters })
  }
  const people = Array.from({ length: persons }, (_, number) => somePerson(number))
  for (let start = 0; start < persons; start += 500) {
    const batch = people.slice(start, start + 500).map(({ distinct_id, person_properties }) => ({
      event: 'seen',
      distinct_id,
      properties: { $set: person_properties },
    }))
    await send(`${url}/batch/`, { api_key: token, batch })
  }
}

/** A query about one of the people, with the properties they have or without. */
export function someQuery(token: string, number: number, has_properties: boolean): object {
  const { distinct_id, person_properties } = somePerson(number)
  const query = { token, distinct_id, geoip_disable: true }
  return has_properties ? { ...query, person_properties } : query
}

async function send(url: string, body: object): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${PERSONAL_API_KEY}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
}
