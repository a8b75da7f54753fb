/** What does not stay for ever: deleted things, and the oldest end of the activity log. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { capture, manage } from './targeting/flag-world.ts'
import { openWorld, type World } from './world.ts'

const DAY_MS = 86_400_000

let world: World
/** Days that the server's clock is ahead. */
let days = 0

beforeAll(async () => {
  world = await openWorld({ now: () => new Date(Date.now() + days * DAY_MS) })
})
beforeEach(() => {
  days = 0
  world.resetControl()
})
afterAll(() => world.close())

const root = '/api/projects/1/'
const make = async (family: string, body: object) => {
  const made = await manage(world, 'POST', `${root}${family}/`, body)
  expect(made.status).toBe(201)
  return `${root}${family}/${String(made.body['id'])}/`
}
const count = (table: string): number =>
  world.needs.control.all<{ n: number }>(sql`select count(*) as n from ${sql.identifier(table)}`)[0]
    ?.n ?? -1

const FAMILIES: readonly (readonly [family: string, table: string, body: object])[] = [
  ['actions', 'actions', { name: 'a' }],
  ['annotations', 'annotations', { content: 'a' }],
  ['cohorts', 'cohorts', { name: 'c', is_static: true, _create_static_person_ids: ['ann'] }],
  ['dashboards', 'dashboards', { name: 'd' }],
  ['experiments', 'experiments', { name: 'e', feature_flag_key: 'e' }],
  ['feature_flags', 'feature_flags', { key: 'f' }],
  ['insights', 'insights', { name: 'i' }],
]

test('what was deleted is gone for good a month later, and nothing else', async () => {
  await capture(world, { event: 'seen', distinct_id: 'ann' })
  const before = FAMILIES.map(([, table]) => count(table))
  for (const [family, , body] of FAMILIES) {
    const path = await make(family, body)
    await manage(world, 'PATCH', path, { deleted: true })
  }
  const back = await make('insights', { name: 'back' })
  await manage(world, 'PATCH', back, { deleted: true })
  await manage(world, 'PATCH', back, { deleted: false })
  days = 29
  await world.tidying.look()
  expect((await manage(world, 'GET', back)).status).toBe(200)
  const kept = FAMILIES.map(([, table]) => count(table))
  expect(kept).toEqual(
    FAMILIES.map(([, table], index) => {
      const own = before[index] ?? 0
      return own + (table === 'insights' || table === 'feature_flags' ? 2 : 1)
    }),
  )
  expect(world.countEvents('select count(*) as count from cohort_people')).toBe(1)
  days = 31
  await world.tidying.look()
  expect((await manage(world, 'GET', back)).status).toBe(200)
  const left = FAMILIES.map(([, table]) => count(table))
  // The flag of the experiment was not deleted, and neither was the insight that came back.
  expect(left).toEqual(
    FAMILIES.map(([, table], index) => {
      const own = before[index] ?? 0
      return own + (table === 'insights' || table === 'feature_flags' ? 1 : 0)
    }),
  )
  expect(world.countEvents('select count(*) as count from cohort_people')).toBe(0)
})

test('a flag stays as long as an experiment has it', async () => {
  const experiment = await make('experiments', { name: 'e', feature_flag_key: 'e' })
  world.needs.control.run(sql`update feature_flags set deleted = 1`)
  days = 31
  await world.tidying.look()
  expect((await manage(world, 'GET', experiment)).status).toBe(200)
})

test('the activity log keeps the latest entries of an organization, by number and by bytes', async () => {
  const path = await make('insights', { name: 'i0' })
  const { control } = world.needs
  const total = () => count('activity_log')
  const add = (entries: number, length: number): void => {
    control.run(sql`
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${entries})
      insert into activity_log (organization_id, project_id, user_id, scope, item_id, activity, detail, created_at)
      select organization_id, project_id, user_id, scope, item_id, activity,
        json_object('name', 'x', 'changes', json('[]'), 'long', printf('%.*c', ${length}, 'x')), created_at
      from numbers, (select * from activity_log order by id desc limit 1)`)
  }
  add(1500, 1)
  await world.tidying.look()
  expect(total()).toBe(1000)
  add(100, 20_000)
  await world.tidying.look()
  expect(total()).toBeLessThan(50)
  await manage(world, 'PATCH', path, { name: 'i1' })
  const { body } = await manage(world, 'GET', `${path}activity/?limit=1`)
  expect(body['results']).toMatchObject([{ detail: { name: 'i1' } }])
  days = 731
  await world.tidying.look()
  expect(total()).toBe(0)
})

test('the activity log shortens long values and keeps the others', async () => {
  const path = await make('insights', {
    name: 'i',
    query: { kind: 'HogQLQuery', query: 'select 1' },
  })
  const query = { kind: 'HogQLQuery', query: `select '${'x'.repeat(100_000)}'` }
  await manage(world, 'PATCH', path, { name: 'j', query })
  const { body } = await manage(world, 'GET', `${path}activity/?limit=1`)
  const [entry] = body['results'] as {
    detail: { changes: { field: string; before: unknown; after: unknown }[] }
  }[]
  const changes = Object.fromEntries((entry?.detail.changes ?? []).map((one) => [one.field, one]))
  expect(changes['name']).toMatchObject({ before: 'i', after: 'j' })
  expect(changes['query']?.before).toEqual({ kind: 'HogQLQuery', query: 'select 1' })
  expect(changes['query']?.after).toEndWith('… (100041 characters)')
  expect(String(changes['query']?.after).length).toBeLessThan(600)
})

test('a flag whose filters were too long for the log is not shown as it was', async () => {
  const filters = (length: number) => ({
    groups: [{ properties: [] }],
    payloads: { true: JSON.stringify('x'.repeat(length)) },
  })
  const path = await make('feature_flags', { key: 'f', filters: filters(50_000) })
  await manage(world, 'PATCH', path, { filters: filters(10) })
  await manage(world, 'PATCH', path, { filters: filters(20) })
  const at = (version: number) => manage(world, 'GET', `${path}versions/${version}/`)
  expect((await at(2)).body).toMatchObject({ filters: filters(10) })
  expect((await at(1)).status).toBe(404)
})
