/** Exports that a browser fetches by an address of their own: begun by a call, read once, in bounded time. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createApp } from '../../../src/app.ts'
import { Downloads } from '../../../src/http/browser/downloads.ts'
import { createApiKey } from '../../../src/projects/keys/api-key.ts'
import { getOrganizationOwner } from '../../../src/projects/organization.ts'
import { openWorld, type World } from '../world.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(120_000)

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const PATH = '/api/projects/1/query/'
/** More rows than any answer had before exports lost their limit. */
const MANY_ROWS = 1_200_000
const MANY = `select a.number as n, 'a text to fill the file with' as text
  from numbers(1200) a cross join numbers(1000) b`

type Send = (path: string, init?: RequestInit) => Promise<Response>

const sendToWorld: Send = (path, init) => world.send(path, init)

function post(send: Send, path: string, query: string, key = world.first.personal_api_key) {
  return send(path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: { kind: 'HogQLQuery', query } }),
  })
}

async function begin(format: string, query: string, send: Send = sendToWorld): Promise<string> {
  const answer = await post(send, `${PATH}download/?format=${format}`, query)
  expect(answer.status).toBe(201)
  const { path } = (await answer.json()) as { readonly path: string }
  return path
}

const isFree = (): boolean =>
  world.engine.state.running === 0 && world.service.state.background.running === 0

/** A slot that nobody frees lets the test run into its limit. */
async function untilFree(): Promise<void> {
  while (!isFree()) await Bun.sleep(5)
}

test.each(['csv', 'ndjson', 'arrow', 'parquet'])(
  'a file of %s has the bytes of the same answer by a key, and is read without one, once',
  async (format) => {
    const query = "select number as n, concat('row ', toString(number)) as name from numbers(5000)"
    const direct = await post(sendToWorld, `${PATH}?format=${format}`, query)
    const path = await begin(format, query)
    const file = await world.send(path)
    expect(file.status).toBe(200)
    expect(file.headers.get('content-type')).toBe(direct.headers.get('content-type'))
    expect(Object.fromEntries(file.headers)).toMatchObject({
      'content-disposition': 'attachment',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    expect(await file.bytes()).toEqual(await direct.bytes())
    expect((await world.send(path)).status).toBe(404)
    await untilFree()
  },
)

test('an address that was never given is not found', async () => {
  for (const token of ['x', '..', '%00', '%ff', '__proto__', 'A'.repeat(43)]) {
    expect((await world.send(`/api/downloads/${token}/`)).status).toBe(404)
  }
})

test('what is refused is refused by the call, not by the address', async () => {
  const at = `${PATH}download/`
  const cases: readonly (readonly [path: string, query: string, fault: object])[] = [
    [`${at}?format=csv`, 'select nothing from events', { code: 'invalid_input' }],
    [`${at}?format=csv`, "select throwIf(1, 'no')", { detail: 'no' }],
    // The engine says so of a damaged file, which is a 503.
    [`${at}?format=csv`, "select throwIf(1, 'Failed to read file')", { code: 'query_failed' }],
    [`${at}?format=json`, 'select 1', { attr: 'format' }],
    [at, 'select 1', { attr: 'format' }],
    [`${at}?format=doc`, 'select 1', { attr: 'format' }],
  ]
  for (const [path, query, fault] of cases) {
    const answer = await post(sendToWorld, path, query)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject(fault)
  }
  await untilFree()
})

test('a key without the right to ask begins none', async () => {
  const { control } = world.needs
  const { value } = createApiKey(
    control,
    {
      user_id: getOrganizationOwner(control, world.first.organization_id),
      label: 'test',
      scopes: ['insight:read'],
      organization_id: null,
      project_id: null,
    },
    new Date(),
  )
  const answer = await post(sendToWorld, `${PATH}download/?format=csv`, 'select 1', value)
  expect(answer.status).toBe(403)
})

test('a file that nobody fetches expires, and the engine is free', async () => {
  const app = createApp({ ...world.needs, downloads: new Downloads(50) })
  const send: Send = (path, init) => app.handle(new Request(`http://localhost${path}`, init))
  const path = await begin('csv', MANY, send)
  await untilFree()
  expect((await send(path)).status).toBe(404)
})

test('over the wire, more than a million rows come whole; a reader who leaves frees the engine', async () => {
  const app = createApp(world.needs)
  app.listen({ port: 0, hostname: '127.0.0.1' })
  try {
    const send: Send = (path, init) => fetch(`http://127.0.0.1:${app.server?.port}${path}`, init)
    let lines = 0
    for await (const part of (await send(await begin('ndjson', MANY, send))).body ?? []) {
      lines += Buffer.from(part).toString('latin1').split('\n').length - 1
    }
    expect(lines).toBe(MANY_ROWS)
    await untilFree()
    const leave = new AbortController()
    const file = await send(await begin('ndjson', MANY, send), { signal: leave.signal })
    await file.body?.getReader().read()
    expect(isFree()).toBe(false)
    leave.abort()
    await untilFree()
  } finally {
    await app.server?.stop(true)
  }
})
