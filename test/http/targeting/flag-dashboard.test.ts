/** The dashboard of a flag: how much it is asked for, by the value that people got. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { capture, manage } from '../flag-world.ts'
import { openWorld, type World } from '../world.ts'

setDefaultTimeout(60_000)

let world: World
beforeAll(async () => {
  world = await openWorld({ saved_max: 4 })
})
afterAll(() => world.close())

const FLAGS = '/api/projects/1/feature_flags/'
const make = async (key: string) =>
  `${FLAGS}${String((await manage(world, 'POST', FLAGS, { key })).body['id'])}/`

test('a flag has one dashboard, with how often it was asked for and by how many', async () => {
  const flag = await make('beta')
  const called = (distinct_id: string, $feature_flag: string, $feature_flag_response: string) => ({
    event: '$feature_flag_called',
    distinct_id,
    properties: { $feature_flag, $feature_flag_response },
  })
  await capture(
    world,
    called('a', 'beta', 'test'),
    called('a', 'beta', 'test'),
    called('b', 'beta', 'control'),
    called('b', 'other', 'test'),
  )
  const made = await manage(world, 'POST', `${flag}dashboard/`)
  expect(made).toMatchObject({ status: 200, body: { success: true } })
  const id = Number(made.body['dashboard_id'])
  expect((await manage(world, 'GET', flag)).body['usage_dashboard']).toBe(id)
  const path = `/api/projects/1/dashboards/${id}/?refresh=blocking`
  const { body } = await manage(world, 'GET', path)
  expect(body['name']).toBe('Generated Dashboard: beta Usage')
  const tiles = body['tiles'] as {
    insight: { name: string; result: { breakdown_value: string; count: number }[] }
  }[]
  expect(
    tiles.map(({ insight: { name, result } }) => [
      name,
      ...result.map(({ breakdown_value, count }) => [breakdown_value, count]),
    ]),
  ).toEqual([
    ['Feature Flag Called Total Volume', ['test', 2], ['control', 1]],
    ['Feature Flag calls made by unique users per variant', ['control', 1], ['test', 1]],
  ])
  expect(await manage(world, 'POST', `${flag}dashboard/`)).toMatchObject({
    status: 400,
    body: { attr: 'usage_dashboard' },
  })
})

test('one that does not fit leaves nothing behind', async () => {
  const flag = await make('gamma')
  await manage(world, 'POST', '/api/projects/1/insights/', { name: 'third' })
  const before = (await manage(world, 'GET', '/api/projects/1/dashboards/')).body['count']
  expect((await manage(world, 'POST', `${flag}dashboard/`)).status).toBe(400)
  expect((await manage(world, 'GET', '/api/projects/1/dashboards/')).body['count']).toBe(before)
  expect((await manage(world, 'GET', '/api/projects/1/insights/')).body['count']).toBe(3)
  expect((await manage(world, 'GET', flag)).body['usage_dashboard']).toBeNull()
})
