/** Who looked at which insights: noted, and told as lists. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { getInsight } from '../../../../src/dashboards/insight.ts'
import { recordViews } from '../../../../src/dashboards/view.ts'
import { createProject } from '../../../../src/projects/settings/project.ts'
import { createUser } from '../../../../src/projects/users/user.ts'
import { manage } from '../../targeting/flag-world.ts'
import { openWorld, type World } from '../../world.ts'

setDefaultTimeout(60_000)

const INSIGHTS = '/api/projects/1/insights/'
const DAY_MS = 86_400_000

let world: World
let clock = Date.parse('2026-03-01T10:00:00Z')
const ids: number[] = []

beforeAll(async () => {
  world = await openWorld({ now: () => new Date(clock) })
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
    const { status, body } = await manage(world, 'POST', INSIGHTS, { name })
    expect(status).toBe(201)
    ids.push(Number(body['id']))
  }
})
afterAll(() => world.close())

const view = async (body: object, path = INSIGHTS) =>
  (await manage(world, 'POST', `${path}viewed/`, body)).status

async function lastViewed(root = INSIGHTS): Promise<readonly string[]> {
  const { body } = await manage(world, 'GET', `${root}my_last_viewed/`)
  return (body as unknown as { name: string }[]).map(({ name }) => name)
}

type Trending = { readonly name: string; readonly view_count: number; readonly viewers: unknown }

async function trending(search = ''): Promise<readonly Trending[]> {
  const { status, body } = await manage(world, 'GET', `${INSIGHTS}trending/${search}`)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body['results'] as Trending[]
}

test('insights that the asker looked at are told, the last one first, each once', async () => {
  expect(await lastViewed()).toEqual([])
  for (const id of [...ids, ids[2]]) {
    clock += 1000
    expect(await view({ insight_ids: [id] })).toBe(201)
  }
  expect(await lastViewed()).toEqual(['c', 'g', 'f', 'e', 'd'])
  clock += 1000
  const named = await manage(world, 'POST', `${INSIGHTS}${String(ids[0])}/viewed/`)
  expect(named.status).toBe(201)
  await manage(world, 'PATCH', `${INSIGHTS}${String(ids[6])}/`, { deleted: true })
  expect(await lastViewed()).toEqual(['a', 'c', 'f', 'e', 'd'])
})

test('insights that most members looked at lately come first, with who they are', async () => {
  clock += 10 * DAY_MS
  expect(await trending()).toEqual([])
  const db = world.needs.control
  const ann = createUser(db, { email: 'ann@example.com', first_name: 'Ann' }, new Date(clock))
  const seen = (index: number) => getInsight(db, 1, ids[index] ?? 0)
  await view({ insight_ids: [ids[0], ids[1]] })
  clock += 1000
  recordViews(db, ann.id, [seen(1)], new Date(clock))
  const most = await trending()
  expect(most.map(({ name, view_count }) => [name, view_count])).toEqual([
    ['b', 2],
    ['a', 1],
  ])
  expect(most[0]?.viewers).toMatchObject([{ first_name: 'Ann' }, { first_name: 'Owner' }])
  expect((await trending('?limit=1&offset=1')).map(({ name }) => name)).toEqual(['a'])
  expect(await trending('?days=60')).toHaveLength(6)
})

test('what cannot be looked at is refused', async () => {
  expect(await view({ insight_ids: [99_999] })).toBe(404)
  expect(await view({ insight_ids: [] })).toBe(400)
  expect(await view({})).toBe(400)
  expect(await view({}, `${INSIGHTS}nothing/`)).toBe(404)
  const days = await manage(world, 'GET', `${INSIGHTS}trending/?days=soon`)
  expect([days.status, days.body['attr']]).toEqual([400, 'days'])
})

test('nothing of one project is told in another', async () => {
  const { organization_id } = world.first
  const other = createProject(
    world.needs.control,
    { organization_id, name: 'other' },
    new Date(clock),
  )
  const root = `/api/projects/${other.id}/insights/`
  expect(await lastViewed(root)).toEqual([])
  expect((await manage(world, 'GET', `${root}trending/`)).body['results']).toEqual([])
  expect(await view({ insight_ids: [ids[0]] }, root)).toBe(404)
})
