/** A world with flags in it, and short ways to ask for them. */
import { expect } from 'bun:test'
import { feature_flags } from '../../../src/targeting/tables.ts'
import { untold } from '../described.ts'
import type { WorldProject } from '../world.ts'

type FlagRow = typeof feature_flags.$inferInsert

const SOME_TIME = new Date('2026-01-01T00:00:00Z')

/** Puts a flag into the first project as it stands; what the API would refuse can be stored too. Answers its id. */
export function putFlag(
  world: WorldProject,
  flag: Partial<FlagRow> & { readonly key: string },
): number {
  world.needs.flags.expectChange()
  return world.needs.control
    .insert(feature_flags)
    .values({
      project_id: world.first.project_id,
      filters: { groups: [{ properties: [], rollout_percentage: 100 }] },
      created_at: SOME_TIME,
      updated_at: SOME_TIME,
      ...flag,
    })
    .returning()
    .get().id
}

/** A flag for whom one person property is as asked. */
export function flagOn(key: string, property: Readonly<Record<string, string | string[]>>) {
  return {
    key,
    filters: { groups: [{ properties: [{ type: 'person', ...property }] }] },
  }
}

export type Answered = {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

/** POSTs a body as JSON with the first project's token and reads the JSON answer. */
export async function ask(
  world: WorldProject,
  path: string,
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const answer = await world.send(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ token: world.first.api_token, ...body }),
  })
  return { status: answer.status, headers: answer.headers, body: await bodyOf(answer) }
}

/** Calls the management API as the owner; the answer has to be as its route is described. */
export async function manage(
  world: WorldProject,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answered> {
  const answer = await world.send(path, {
    method,
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.clone().text()
  expect(untold({ method, path, status: answer.status, text })).toEqual([])
  return { status: answer.status, headers: answer.headers, body: await bodyOf(answer) }
}

async function bodyOf(answer: Response): Promise<Readonly<Record<string, unknown>>> {
  const text = await answer.text()
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

/** Sends events of the first project and waits until they are stored, and until reads of this turn are over. */
export async function capture(world: WorldProject, ...events: readonly object[]): Promise<void> {
  const answer = await ask(world, '/batch/', { batch: events })
  if (answer.status !== 200) throw new Error(`not stored: ${JSON.stringify(answer.body)}`)
  world.needs.persons.refresh()
}
