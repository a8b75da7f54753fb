/** Lists and small figures of routes: a server whose events are in ClickHouse answers them as one with its own files does. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { API_TOKEN, PERSONAL_API_KEY, type Server, startServer } from '../flows/processes/server.ts'
import { askFresh } from '../shipping/ask-fresh.ts'
import { type ClickHouseCluster, startCluster } from './cluster.ts'
import { hasClickHouse } from './library.ts'
import { clickhouseEnvironment } from './settings.ts'

const PERSONS = 6
const SESSION_ID = '01890000-0000-7000-8000-000000000001'
const BEGIN_MS = Date.now() - 3_600_000

/** Each person identifies, joins a company, clicks a button and buys something. */
const EVENTS = Array.from({ length: PERSONS }, (_, person) =>
  [
    { event: '$identify', properties: { $set: { email: `u${person}@a.com`, age: 20 + person } } },
    {
      event: '$groupidentify',
      properties: {
        $group_type: 'company',
        $group_key: `c${person % 2}`,
        $group_set: { size: person % 2 },
      },
    },
    {
      event: '$autocapture',
      properties: {
        $elements: [{ tag_name: 'button', $el_text: `B${person % 2}`, nth_child: 1 }],
        $current_url: 'https://a.com/',
      },
    },
    {
      event: 'buy',
      properties: {
        price: person * 1.5,
        colour: ['red', "o'dd \\"][person % 2],
        $groups: { company: `c${person % 2}` },
        $feature_flag: 'new',
        $session_id: SESSION_ID,
      },
    },
  ].map((one, index) => ({
    ...one,
    distinct_id: `d${person}`,
    uuid: `01890000-0000-7000-8000-${String(100 + person * 10 + index).padStart(12, '0')}`,
    timestamp: new Date(BEGIN_MS + person * 1000 + index).toISOString(),
  })),
).flat()

const properties = (...filters: readonly object[]) =>
  `properties=${encodeURIComponent(JSON.stringify(filters))}`
const OF_EMAIL = { key: 'email', value: 'u3', operator: 'icontains', type: 'person' }
const OF_ODD_COLOUR = { key: 'colour', value: "o'dd \\", operator: 'exact', type: 'event' }
const OF_COMPANY = { key: 'size', value: 1, operator: 'exact', type: 'group', group_type_index: 0 }
const OF_TEXT = { key: 'text', value: ['B1'], operator: 'exact', type: 'element' }

/** Paths below the project's, and a part that their answers have. */
const LISTS: readonly (readonly [string, string])[] = [
  ['events/?event=buy', '"price":7.5'],
  [`events/?${properties(OF_EMAIL)}`, '"price":4.5'],
  [`events/?${properties(OF_ODD_COLOUR)}`, '"price":7.5'],
  [`events/?${properties(OF_COMPANY)}`, '"price":7.5'],
  [`events/?${properties(OF_TEXT)}`, '"text":"B1"'],
  ['events/01890000-0000-7000-8000-000000000103/', '"price":0'],
  // Read from the log, which events have left for ClickHouse by then.
  ['events/live/', '"last_id":"24"'],
  [`events/live/?${properties(OF_EMAIL)}`, '"price":4.5'],
  ['events/values/?key=colour', '{"name":"red","count":3}'],
  ['events/values/?key=price', '{"name":7.5,"count":1}'],
  ['actions/1/count/', '{"count":4}'],
  ['persons/', '"count":6'],
  ['persons/?search=u3', '"count":1'],
  [`persons/?${properties(OF_EMAIL)}`, '"count":1'],
  ['persons/values/?key=age', '{"name":25,"count":1}'],
  ['groups/?group_type_index=0', '"group_key":"c1"'],
  ['groups/property_definitions/', '{"name":"size","count":2}'],
  ['groups/property_values/?group_type_index=0&key=size', '{"name":1,"count":1}'],
  ['groups/related/?group_type_index=0&id=c1', '"id":'],
  ['elements/stats/', '"text":"B1"'],
  ['elements/values/?key=text', '{"name":"B1","count":3}'],
  ['sessions/values/?key=$channel_type', '"count":1'],
  ['property_definitions/?event_names=["buy"]&filter_by_event_names=true', '"name":"colour"'],
]

describe.skipIf(!hasClickHouse())('lists of a server with ClickHouse', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-clickhouse-lists-'))
  let cluster: ClickHouseCluster
  let servers: readonly Server[] = []

  beforeAll(async () => {
    cluster = await startCluster(2)
    const env = clickhouseEnvironment(cluster)
    const carried = await startServer({ data_dir: join(folder, 'carried'), env })
    const plain = await startServer({ data_dir: join(folder, 'plain') })
    servers = [carried, plain]
    const steps = [{ event: 'buy', properties: [{ key: 'price', value: 2, operator: 'gt' }] }]
    for (const { url } of servers) {
      const body = JSON.stringify({ api_key: API_TOKEN, batch: EVENTS })
      expect((await fetch(`${url}/batch/`, { method: 'POST', body })).status).toBe(200)
      expect((await ask(url, 'actions/', { name: 'bought', steps })).status).toBe(201)
      expect(await askFresh(url, 'select count() from events')).toEqual([[EVENTS.length]])
    }
  }, 120_000)

  afterAll(async () => {
    for (const server of servers) await server.stop()
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = (url: string, path: string, body?: object): Promise<Response> =>
    fetch(`${url}/api/projects/1/${path}`, {
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${PERSONAL_API_KEY}`,
      },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })

  test.each(LISTS)('answer %s as a server with files does', async (path, part) => {
    const answers = servers.map(async ({ url }) => {
      const answer = await ask(url, path)
      return [answer.status, withoutTimes((await answer.text()).replaceAll(url, ''))]
    })
    const [carried, plain] = await Promise.all(answers)
    expect(plain).toEqual([200, expect.stringContaining(part)])
    expect(carried).toEqual(plain)
  })
})

/** A server's own times differ between two servers. */
const withoutTimes = (text: string): string =>
  text.replaceAll(/"(created_at|updated_at|last_seen_at|last_updated_at)":"[^"]*"/g, '"$1":""')
