/** A person of very many distinct ids or merges is shown with some of them, and holds no thread for the others. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { measureTurns } from '../../threads/longest-turn.ts'
import { capture, manage } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

const IDS = 200_000
const SHOWN = 1000

let world: World
let id: string
beforeAll(async () => {
  world = await openWorld()
  await capture(
    world,
    { event: '$identify', distinct_id: 'a', properties: { $set: { plan: 'pro' } } },
    { event: '$create_alias', distinct_id: 'a', properties: { alias: 'z' } },
  )
  const { body } = await manage(world, 'GET', '/api/projects/1/persons/')
  const [person] = body['results'] as { id: string }[]
  id = person?.id ?? ''
  const db = new Database(join(world.data_dir, 'events.db'))
  db.run(
    `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?1)
     insert into distinct_ids (project_id, distinct_id, person_id, version, change)
     select 1, printf('id-%06d', n), ?2, 0, 1 from numbers`,
    [IDS, Buffer.from(id.replaceAll('-', ''), 'hex')],
  )
  db.close()
})
afterAll(() => world.close())

describe('a person of 200,000 distinct ids', () => {
  test.each([
    ['is read', (person: string) => `persons/${person}/`, (body: object) => body],
    ['is listed', () => 'persons/?search=a', firstResult],
    ['is shown with its events', () => 'events/?event=$identify', firstPerson],
  ])('%s with the first ones', async (_, pathOf, personIn) => {
    const read = () => manage(world, 'GET', `/api/projects/1/${pathOf(id)}`)
    await read()
    const { result, longest_ms } = await measureTurns(read, 80)
    expect(result.status).toBe(200)
    const { distinct_ids } = personIn(result.body) as { distinct_ids: readonly string[] }
    expect(distinct_ids.length).toBeLessThanOrEqual(SHOWN)
    // All ids took 200 to 400 ms of processor time.
    expect(longest_ms).toBeLessThan(80)
  })

  test('gives the first of them to what names one', async () => {
    const { body } = await manage(world, 'GET', `/api/projects/1/persons/${id}/`)
    const { distinct_ids } = body as { distinct_ids: readonly string[] }
    expect(distinct_ids).toHaveLength(SHOWN)
    expect(distinct_ids.slice(0, 3)).toEqual(['z', 'a', 'id-000001'])
  })
})

describe('a person of 200,000 merges', () => {
  const path = () => `/api/projects/1/persons/${id}/`
  beforeAll(() => {
    const db = new Database(join(world.data_dir, 'events.db'))
    // Each was a person of its own, so that every step of a walk through them has many to choose from.
    db.run(
      `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?1)
       insert into merges (
         project_id, into_id, other_id, merged_at, into_created_at, into_was_identified, into_main,
         other_created_at, other_was_identified, other_main, kept, given
       )
       select
         1, ?2, randomblob(16), n, 0, 0, null, 0, 0, null,
         '{"properties":{},"flags":{},"cohorts":{}}', '{"properties":[],"flags":[],"cohorts":[]}'
       from numbers`,
      [IDS, Buffer.from(id.replaceAll('-', ''), 'hex')],
    )
    db.close()
  })

  test('lists the last of them, and is not walked through', async () => {
    const read = () => manage(world, 'GET', `${path()}merges/`)
    await read()
    const { result, longest_ms } = await measureTurns(read, 80)
    const merges = result.body['results'] as readonly { readonly id: number }[]
    expect(merges).toHaveLength(SHOWN)
    expect(Number(merges[0]?.id) - Number(merges.at(-1)?.id)).toBe(SHOWN - 1)
    expect(longest_ms).toBeLessThan(80)
  })

  test('refuses an undo that all later ones depend on, and undoes the last one', async () => {
    const { body } = await manage(world, 'GET', `${path()}merges/`)
    const [last] = body['results'] as readonly { readonly id: number }[]
    const first = Number(last?.id) - IDS + 1
    for (const refused of [
      await manage(world, 'GET', `${path()}merges/${first}/`),
      await manage(world, 'POST', `${path()}undo_merge/`, { merge_id: first }),
      await manage(world, 'POST', `${path()}split/`, {}),
    ]) {
      expect(refused.status).toBe(400)
      expect(refused.body).toMatchObject({ type: 'validation_error', code: 'invalid_input' })
    }
    expect((await manage(world, 'GET', `${path()}merges/${last?.id}/`)).status).toBe(200)
    expect((await manage(world, 'POST', `${path()}undo_merge/`, {})).status).toBe(201)
  })
})

function firstResult(body: object): unknown {
  const { results } = body as { readonly results: readonly unknown[] }
  return results[0]
}

function firstPerson(body: object): unknown {
  const { person } = firstResult(body) as { readonly person: unknown }
  return person
}
