/** The dashboard of a flag: how much it is asked for, by the value that people got. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { joinWorld } from '../../shared-world.ts'
import { openWorld } from '../../world.ts'
import { capture, manage } from '../flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

setDefaultTimeout(60_000)

const FLAGS = `/api/projects/${project_id}/feature_flags/`
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
  const path = `/api/projects/${project_id}/dashboards/${id}/?refresh=blocking`
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
  expect((await manage(world, 'POST', `${flag}dashboard/`)).body['dashboard_id']).toBe(id)
  await manage(world, 'PATCH', `/api/projects/${project_id}/dashboards/${id}/`, { deleted: true })
  const again = await manage(world, 'POST', `${flag}dashboard/`)
  expect(again.status).toBe(200)
  expect(again.body['dashboard_id']).not.toBe(id)
})

test('the dashboard also tells how the feature is seen and used, once the flag says so', async () => {
  const flag = await make('seen')
  const enrich = () => manage(world, 'POST', `${flag}enrich_usage_dashboard/`)
  const detailOf = async () => (await enrich()).body['detail']
  expect(await detailOf()).toBe('Usage dashboard not found')
  const made = await manage(world, 'POST', `${flag}dashboard/`)
  expect(await detailOf()).toBe('No enriched analytics available for this feature flag')
  await manage(world, 'PATCH', flag, { has_enriched_analytics: true })
  expect((await enrich()).body).toEqual(made.body)
  expect(await detailOf()).toBe('Usage dashboard already has enriched data')
  const path = `/api/projects/${project_id}/dashboards/${String(made.body['dashboard_id'])}/`
  const tiles = (await manage(world, 'GET', path)).body['tiles']
  expect(tiles).toHaveLength(6)
})

test('one that does not fit leaves nothing behind', async () => {
  const full = await openWorld({ saved_max: 2 })
  const made = await manage(full, 'POST', '/api/projects/1/feature_flags/', { key: 'gamma' })
  const flag = `/api/projects/1/feature_flags/${String(made.body['id'])}/`
  const countOf = async (family: string) =>
    (await manage(full, 'GET', `/api/projects/1/${family}/`)).body['count']
  await manage(full, 'POST', '/api/projects/1/insights/', { name: 'first' })
  const before = [await countOf('dashboards'), await countOf('insights')]
  expect((await manage(full, 'POST', `${flag}dashboard/`)).status).toBe(400)
  expect([await countOf('dashboards'), await countOf('insights')]).toEqual(before)
  expect((await manage(full, 'GET', flag)).body['usage_dashboard']).toBeNull()
  await full.close()
})
