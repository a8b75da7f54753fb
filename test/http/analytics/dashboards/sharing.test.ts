/** Public links to dashboards: what they show, with whose rights, and how they end. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SharedBoard } from '../../../../src/contract/analytics/sharing.ts'
import { faultsOf } from '../../described.ts'
import { openRights, type RightsWorld } from '../../rights-world.ts'
import { capture, manage } from '../../targeting/flag-world.ts'
import type { World } from '../../world.ts'

const TRENDS = {
  kind: 'InsightVizNode',
  source: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] },
}
const BY_EMAIL = { kind: 'HogQLQuery', query: 'select person.properties.email from events' }

let rights: RightsWorld
let world: World
let board = ''
beforeAll(async () => {
  rights = await openRights()
  world = rights.world
  await capture(
    world,
    { event: 'paid', distinct_id: 'a', properties: { $set: { email: 'a@secret.example' } } },
    { event: 'paid', distinct_id: 'b' },
  )
  const made = await manage(world, 'POST', '/api/projects/1/dashboards/', { name: 'Money' })
  board = `/api/projects/1/dashboards/${String(made.body['id'])}/`
  const dashboards = [made.body['id']]
  for (const query of [TRENDS, BY_EMAIL]) {
    await manage(world, 'POST', '/api/projects/1/insights/', { name: 'n', query, dashboards })
  }
  await manage(world, 'PATCH', board, { tiles: [{ text: { body: 'For the wall' } }] })
})
afterAll(() => rights.close())

type Shared = (typeof SharedBoard)['static']

async function read(token: unknown, query = '') {
  const answer = await world.send(`/shared/${String(token)}.json${query}`)
  const text = await answer.text()
  const json = JSON.parse(text) as Shared
  return { status: answer.status, headers: answer.headers, json, text }
}

const open = async (): Promise<unknown> =>
  (await manage(world, 'PATCH', `${board}sharing/`, { enabled: true })).body['access_token']

const counts = ({ json }: { readonly json: Shared }) =>
  json.dashboard.tiles.map(({ insight }) => (insight === null ? null : insight.result))

describe('a public link', () => {
  test('is not there until somebody opens it', async () => {
    expect((await manage(world, 'GET', `${board}sharing/`)).body).toMatchObject({
      enabled: false,
      access_token: null,
    })
    expect((await read('none')).status).toBe(404)
    expect((await manage(world, 'GET', board)).body['is_shared']).toBe(false)
  })

  test('shows the board with its results, and nothing of members or other boards', async () => {
    const shown = await read(await open())
    expect(shown.status).toBe(200)
    expect(faultsOf(SharedBoard, shown.json)).toEqual([])
    expect(shown.json.dashboard.name).toBe('Money')
    expect(shown.json.dashboard.tiles.map(({ text }) => text?.body ?? null)).toEqual([
      null,
      null,
      'For the wall',
    ])
    expect(counts(shown)[0]).toEqual([expect.objectContaining({ count: 2 })])
    expect(shown.headers.get('cache-control')).toBe('no-store')
    expect(shown.text).not.toContain('created_by')
    expect((await manage(world, 'GET', board)).body['is_shared']).toBe(true)
  })

  test('takes no filters and no query from whoever reads it', async () => {
    const token = await open()
    const filters = encodeURIComponent(JSON.stringify({ date_from: '2001-01-01' }))
    const shown = await read(token, `?filters_override=${filters}&refresh=force_blocking`)
    expect(counts(shown)[0]).toEqual([expect.objectContaining({ count: 2 })])
    const key = { headers: { Authorization: `Bearer ${String(token)}` } }
    expect((await world.send('/api/projects/1/events/', key)).status).toBe(401)
    expect((await world.send(`${board}?token=${String(token)}`)).status).toBe(401)
    expect((await world.send(`/shared/${String(token)}.json`, { method: 'POST' })).status).toBe(405)
  })

  test('ends at once, opens again as it was, and ends for good when it is replaced', async () => {
    const token = await open()
    await manage(world, 'PATCH', `${board}sharing/`, { enabled: false })
    expect((await read(token)).status).toBe(404)
    expect(await open()).toBe(token)
    const renewed = await manage(world, 'POST', `${board}sharing/refresh/`)
    expect(renewed.body['access_token']).not.toBe(token)
    expect((await read(token)).status).toBe(404)
    expect((await read(renewed.body['access_token'])).status).toBe(200)
    const log = await manage(world, 'GET', `${board}activity/`)
    const text = JSON.stringify(log.body)
    expect(text).toContain('"field":"sharing"')
    expect(text).not.toContain(String(renewed.body['access_token']))
  })

  test('goes with its board', async () => {
    const made = await manage(world, 'POST', '/api/projects/1/dashboards/', { name: 'Gone' })
    const its = `/api/projects/1/dashboards/${String(made.body['id'])}/`
    const link = await manage(world, 'PATCH', `${its}sharing/`, { enabled: true })
    await manage(world, 'PATCH', its, { deleted: true })
    expect((await read(link.body['access_token'])).status).toBe(404)
    expect((await manage(world, 'GET', `${its}sharing/`)).status).toBe(404)
  })

  test('shows what the member who opened it may read, and no more', async () => {
    const { send, member, owner, atLevel } = rights
    await send(owner, `PATCH ${board}sharing/`, { enabled: false })
    const opened = await send(member, `PATCH ${board}sharing/`, { enabled: true })
    const token = opened.json['access_token']
    expect((await read(token)).text).toContain('a@secret.example')
    const hidden = await atLevel('person', 'none', () => read(token))
    expect(hidden.text).not.toContain('a@secret.example')
    expect(hidden.json.dashboard.tiles[1]?.insight?.query_status).toMatchObject({ error: true })
    const without_insights = await atLevel('insight', 'none', () => read(token))
    expect(without_insights.json.dashboard.tiles.map(({ text }) => text?.body)).toEqual([
      'For the wall',
    ])
    expect((await atLevel('dashboard', 'none', () => read(token))).status).toBe(404)
  })

  test('is read thirty times a minute at most', async () => {
    const token = await open()
    const statuses: number[] = []
    for (let reads = 0; reads < 31; reads += 1) statuses.push((await read(token)).status)
    expect(statuses.at(-1)).toBe(429)
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
  })
})
