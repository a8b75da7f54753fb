/** Lists of ids in bodies: each id is looked up, so a list has a limit, and a longer one names the field. */
import { expect, test } from 'bun:test'
import { joinWorld } from '../shared-world.ts'

const world = await joinWorld()
const { project_id } = world.first

const send = (family: string, body: object): Promise<Response> =>
  world.send(`/api/projects/${project_id}/${family}/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    body: JSON.stringify(body),
  })

test('a flag has at most a hundred dashboards, however often one is named', async () => {
  const { id }: { id: number } = JSON.parse(await (await send('dashboards', { name: 'd' })).text())
  const flagOf = (key: string, count: number) => ({
    key,
    analytics_dashboards: Array.from({ length: count }, () => id),
  })
  expect((await send('feature_flags', flagOf('few', 100))).status).toBe(201)
  const refused = await send('feature_flags', flagOf('many', 60_000))
  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({
    type: 'validation_error',
    attr: 'analytics_dashboards',
  })
})
