/** The oldest addresses mean the caller's current project, with the same checks as today's. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { capture, manage } from './targeting/flag-world.ts'
import { openWorld, type World } from './world.ts'

/** The clock stands still: some answers have tokens that end some seconds from now. */
const NOW = new Date()

let world: World
beforeAll(async () => {
  world = await openWorld({ now: () => NOW })
  await capture(world, { event: 'seen', distinct_id: 'ann', properties: { $set: { plan: 'pro' } } })
})
afterAll(() => world.close())

const read = async (path: string, key: string | null = world.first.personal_api_key) => {
  const headers = key === null ? {} : { Authorization: `Bearer ${key}` }
  const answer = await world.send(path, { headers })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) }
}

describe('the old root', () => {
  test.each([
    ['/api/person/', '/api/projects/1/persons/'],
    ['/api/person/values/?key=plan', '/api/projects/1/persons/values/?key=plan'],
    ['/api/event/', '/api/projects/1/events/'],
    ['/api/event/values/?key=x', '/api/projects/1/events/values/?key=x'],
    ['/api/cohort/', '/api/projects/1/cohorts/'],
    ['/api/annotation/', '/api/projects/1/annotations/'],
    ['/api/action/', '/api/projects/1/actions/'],
    ['/api/element/', '/api/projects/1/elements/'],
    ['/api/element/stats/', '/api/projects/1/elements/stats/'],
    ['/api/insight/', '/api/projects/1/insights/'],
    ['/api/dashboard_item/', '/api/projects/1/insights/'],
    ['/api/plugin_config/', '/api/projects/1/plugin_configs/'],
    ['/api/dashboard/1/', '/api/projects/1/dashboards/1/'],
    ['/api/feature_flag/', '/api/projects/1/feature_flags/'],
  ])('%s answers as %s', async (old, today) => {
    expect(await read(old)).toEqual(await read(today))
  })

  test('computes insights', async () => {
    const events = encodeURIComponent(JSON.stringify([{ id: 'seen' }]))
    const { status, body } = await read(`/api/insight/trend/?events=${events}`)
    expect([status, body.result[0].count]).toEqual([200, 1])
  })

  test('pages with its own address', async () => {
    for (const name of ['a', 'b']) {
      await manage(world, 'POST', '/api/projects/1/actions/', { name, steps: [{ event: 'seen' }] })
    }
    const { body } = await read('/api/action/?limit=1')
    expect(body.next).toBe('https://tidemark.example/api/action/?limit=1&offset=1')
    expect((await read('/api/action/1/count/')).body).toEqual({ count: 1 })
  })

  test('asks for a key, a scope and a known method', async () => {
    expect((await read('/api/person/', null)).status).toBe(401)
    const made = await manage(world, 'POST', '/api/personal_api_keys/', {
      label: 'flags',
      scopes: ['feature_flag:read'],
    })
    const key = String(made.body['value'])
    expect((await read('/api/person/', key)).status).toBe(403)
    expect((await read('/api/feature_flag/', key)).status).toBe(200)
    const refused = await world.send('/api/person/', { method: 'DELETE' })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
  })

  test('makes things in the current project', async () => {
    const made = await manage(world, 'POST', '/api/projects/', { name: 'second' })
    await manage(world, 'PATCH', '/api/users/@me/', { set_current_team: made.body['id'] })
    const answer = await world.send('/api/action/', {
      method: 'POST',
      headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
      body: JSON.stringify({ name: 'there' }),
    })
    expect([answer.status, await answer.json()]).toMatchObject([201, { team_id: made.body['id'] }])
    await manage(world, 'PATCH', '/api/users/@me/', { set_current_team: 1 })
  })
})

test('users are read by their UUID, the caller alone', async () => {
  const me = (await read('/api/users/@me/')).body
  expect(me.id).toBe(1)
  expect((await read(`/api/users/${me.uuid}/`)).body).toEqual(me)
  expect((await read('/api/users/')).body).toMatchObject({ count: 1, results: [{ uuid: me.uuid }] })
  expect((await read(`/api/users/${crypto.randomUUID()}/`)).status).toBe(404)
})

test('the events of an action are counted, and none of a deleted one', async () => {
  const { body } = await manage(world, 'POST', '/api/projects/1/actions/', {
    name: 'counted',
    steps: [{ event: 'seen' }],
  })
  const path = `/api/projects/1/actions/${String(body['id'])}/`
  expect((await manage(world, 'GET', `${path}count/`)).body).toEqual({ count: 1 })
  await manage(world, 'PATCH', path, { deleted: true })
  expect((await manage(world, 'GET', `${path}count/`)).status).toBe(404)
})
