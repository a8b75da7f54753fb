/** Persons and events over the wire: what was captured is listed at once, and still after a restart. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { API_TOKEN, PERSONAL_API_KEY, type Server, startServer } from './processes/server.ts'

const TEST_MS = 180_000
setDefaultTimeout(TEST_MS)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-persons-'))
const data_dir = join(folder, 'data')
let server: Server

beforeAll(async () => {
  server = await startServer({ data_dir })
}, TEST_MS)
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function read(path: string): Promise<string> {
  const headers = { Authorization: `Bearer ${PERSONAL_API_KEY}` }
  const answer = await fetch(`${server.url}/api/environments/1/${path}`, { headers })
  expect([path, answer.status]).toEqual([path, 200])
  return answer.text()
}

/** What every list says about the one person there is. */
async function everything(): Promise<object> {
  const persons = JSON.parse(await read('persons/?search=ann'))
  const events = JSON.parse(await read('events/?event=bought'))
  const properties = JSON.parse(await read('property_definitions/?search=price'))
  return {
    names: persons.results.map(({ name }: { name: string }) => name),
    values: JSON.parse(await read('persons/values/?key=plan')),
    prices: events.results.map(
      (event: { properties: { price: number } }) => event.properties.price,
    ),
    types: properties.results.map((one: { property_type: string }) => one.property_type),
    empty: await read('persons/lifecycle/'),
  }
}

test(
  'what was captured is listed at once, and still after a restart',
  async () => {
    const event = {
      api_key: API_TOKEN,
      event: 'bought',
      distinct_id: 'u1',
      properties: { price: 3, $set: { email: 'ann@a.example', plan: 'pro' } },
    }
    const body = JSON.stringify(event)
    expect((await fetch(`${server.url}/capture/`, { method: 'POST', body })).status).toBe(200)
    const expected = {
      names: ['ann@a.example'],
      values: [{ name: 'pro', count: 1 }],
      prices: [3],
      types: ['Numeric'],
      empty: '',
    }
    expect(await everything()).toEqual(expected)
    await server.kill()
    server = await startServer({ data_dir })
    expect(await everything()).toEqual(expected)
  },
  TEST_MS,
)
