/** REST hooks over the wire: a service subscribes to an action, gets its events with their persons, and leaves. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Addresses } from '../../../src/plugins/addresses.ts'
import { capture, manage } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

/** These wait for a query and for the log's reader. */
setDefaultTimeout(60_000)

const HOOKS = '/api/projects/1/hooks/'

type Posted = {
  readonly hook: Readonly<Record<string, unknown>>
  readonly data: {
    readonly event: string
    readonly eventUuid: string
    readonly distinctId: string
    readonly properties: Readonly<Record<string, unknown>>
    readonly person: { readonly uuid: string; readonly properties: object }
  }
}

let world: World
let receiver: ReturnType<typeof Bun.serve>
const posted: Posted[] = []

beforeAll(async () => {
  world = await openWorld({ addresses: new Addresses(['127.0.0.1']) })
  receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      posted.push(JSON.parse(await request.text()))
      return new Response('ok')
    },
  })
})
afterAll(async () => {
  await receiver.stop(true)
  await world.close()
})

const targetOf = (): string => `http://127.0.0.1:${receiver.port}/catch`

async function actionOf(name: string, steps: readonly object[]): Promise<number> {
  const { status, body } = await manage(world, 'POST', '/api/projects/1/actions/', { name, steps })
  expect(status).toBe(201)
  return Number(body['id'])
}

const subscribe = (resource_id: unknown, more: object = {}) =>
  manage(world, 'POST', HOOKS, {
    target: targetOf(),
    event: 'action_performed',
    resource_id,
    ...more,
  })

/** Waits until a number of bodies has come. */
async function received(count: number): Promise<readonly Posted[]> {
  while (posted.length < count) await Bun.sleep(20)
  return posted.splice(0)
}

describe('a hook', () => {
  test('posts every event that is the action, with its person, and nothing once it is ended', async () => {
    const pro = { key: 'plan', type: 'event', value: ['pro'], operator: 'exact' }
    const action = await actionOf('paid as pro', [{ event: 'paid', properties: [pro] }])
    const made = await subscribe(action)
    const id = String(made.body['id'])
    expect(made).toMatchObject({
      status: 201,
      body: {
        id,
        event: 'action_performed',
        target: targetOf(),
        resource_id: action,
        team: 1,
      },
    })
    expect((await manage(world, 'GET', HOOKS)).body).toMatchObject({ count: 1, results: [{ id }] })
    await capture(
      world,
      {
        event: 'paid',
        distinct_id: 'ann',
        properties: { plan: 'pro', $set: { email: 'ann@a.b' } },
      },
      { event: 'paid', distinct_id: 'bob', properties: { plan: 'free' } },
      { event: 'seen', distinct_id: 'bob', properties: { plan: 'pro' } },
      { event: 'paid', distinct_id: 'cat', properties: { plan: 'pro' } },
    )
    const bodies = await received(2)
    expect(bodies).toMatchObject([
      {
        hook: { id, event: 'action_performed', target: targetOf() },
        data: {
          event: 'paid',
          teamId: 1,
          distinctId: 'ann',
          properties: { plan: 'pro' },
          person: { uuid: expect.any(String), properties: { email: 'ann@a.b' } },
        },
      },
      { data: { distinctId: 'cat' } },
    ])
    expect((await manage(world, 'DELETE', `${HOOKS}${id}/`)).status).toBe(204)
    expect((await manage(world, 'DELETE', `${HOOKS}${id}/`)).status).toBe(404)
    // A second hook shows when the first one would have posted, too.
    const other = await subscribe(await actionOf('anything', [{}]))
    await capture(world, { event: 'paid', distinct_id: 'ann', properties: { plan: 'pro' } })
    const [later] = await received(1)
    expect(later?.hook).toMatchObject({ id: other.body['id'] })
    expect(posted).toEqual([])
    await manage(world, 'DELETE', `${HOOKS}${String(other.body['id'])}/`)
  })

  test('of a deleted action posts nothing, and says so nowhere', async () => {
    const action = await actionOf('short', [{ event: 'brief' }])
    const hook = await subscribe(action)
    await manage(world, 'PATCH', `/api/projects/1/actions/${action}/`, { deleted: true })
    const marker = await subscribe(await actionOf('marker', [{ event: 'brief' }]))
    await capture(world, { event: 'brief', distinct_id: 'ann' })
    const bodies = await received(1)
    expect(bodies.map((one) => one.hook['id'])).toEqual([marker.body['id']])
    for (const { body } of [hook, marker]) {
      await manage(world, 'DELETE', `${HOOKS}${String(body['id'])}/`)
    }
  })

  test('posts events of the first instant too, as senders without a clock have them', async () => {
    const hook = await subscribe(await actionOf('timeless', [{ event: 'timeless' }]))
    const timestamp = '0001-01-01T00:00:00Z'
    await capture(world, { event: 'timeless', distinct_id: 'ann', timestamp })
    const bodies = await received(1)
    expect(bodies).toMatchObject([{ data: { timestamp: '0001-01-01T00:00:00.000Z' } }])
    await manage(world, 'DELETE', `${HOOKS}${String(hook.body['id'])}/`)
  })

  test('of an action that no query can answer says so in its log', async () => {
    const unknown = { key: 'a (', type: 'hogql' }
    const action = await actionOf('unanswerable', [{ event: 'seen', properties: [unknown] }])
    const { body } = await subscribe(action)
    const hook = String(body['id'])
    await capture(world, { event: 'seen', distinct_id: 'ann' })
    const logs = `/api/projects/1/plugin_configs/${hook}/logs/?type_filter=WARN`
    const warnings = async () => (await manage(world, 'GET', logs)).body['results']
    for (let found: unknown = []; Array.isArray(found) && found.length === 0; ) {
      await Bun.sleep(50)
      found = await warnings()
    }
    expect(await warnings()).toMatchObject([
      { message: expect.stringMatching(/^Events cannot be sent yet: ./) },
    ])
    await manage(world, 'DELETE', `${HOOKS}${hook}/`)
  })

  test.each([
    [{ resource_id: 99_999 }, 'does_not_exist', 'resource_id'],
    [{ resource_id: undefined }, 'required', 'resource_id'],
    [{ event: 'annotation_created' }, 'invalid_choice', 'event'],
    [{ target: 'not an address' }, 'invalid_input', 'target'],
    [{ target: 'http://10.0.0.1/' }, 'invalid_input', 'target'],
  ])('with %j is refused', async (more, code, attr) => {
    const action = await actionOf(`refused ${JSON.stringify(more)}`, [{ event: 'a' }])
    expect(await subscribe(action, more)).toMatchObject({ status: 400, body: { code, attr } })
  })

  test('is not made or moved as a plugin config, which asks for no right on persons', async () => {
    const action = await actionOf('guarded', [{ event: 'guarded' }])
    const { body } = await subscribe(action)
    const configs = '/api/projects/1/plugin_configs/'
    const config = { url: targetOf(), action }
    expect(await manage(world, 'POST', configs, { plugin: 7, config })).toMatchObject({
      status: 400,
      body: { attr: 'plugin' },
    })
    const path = `${configs}${String(body['id'])}/`
    expect((await manage(world, 'PATCH', path, { config })).status).toBe(400)
    expect((await manage(world, 'PATCH', path, { enabled: false })).status).toBe(200)
    expect((await manage(world, 'GET', `${path}logs/`)).status).toBe(200)
    const webhook = { plugin: 6, config: { url: targetOf() } }
    const made = await manage(world, 'POST', configs, webhook)
    expect((await manage(world, 'DELETE', `${HOOKS}${String(made.body['id'])}/`)).status).toBe(404)
  })
})
