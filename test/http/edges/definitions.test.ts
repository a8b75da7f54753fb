/** An edge that has the definitions asks with their ETag: it is answered anew whenever they differ, and only then. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openWorld, type World } from '../world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const ask = (etag = ''): Promise<Response> =>
  world.send('/_edge/v1/definitions', {
    headers: { Authorization: `Bearer ${world.first.personal_api_key}`, 'If-None-Match': etag },
  })

async function capture(event: string, properties: object): Promise<void> {
  const body = { api_key: world.first.api_token, event, distinct_id: 'ann', properties }
  const answer = await world.send('/capture/', { method: 'POST', body: JSON.stringify(body) })
  expect(answer.status).toBe(200)
}

test('a group type that came with an event reaches an edge, although no definition changed', async () => {
  const before = await ask()
  const etag = before.headers.get('etag') ?? ''
  expect((await ask(etag)).status).toBe(304)
  await capture('$groupidentify', { $group_type: 'company', $group_key: 'acme' })
  const after = await ask(etag)
  expect(after.status).toBe(200)
  expect(await after.json()).toMatchObject({
    group_types: [{ project_id: 1, group_type: 'company', group_type_index: 0 }],
  })
})
