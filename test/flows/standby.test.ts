/** A standby follows a primary through kills of both, and takes over: what it noted is there, whole, and nothing twice. */
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openLog } from '../../src/logs.ts'
import { beginFollowing, Follower } from '../../src/standby/follower.ts'
import { Primary } from '../../src/standby/primary.ts'
import { copiesFolder } from '../../src/standby/state.ts'
import { seeded } from '../bench/events.ts'
import { run } from '../cli/command.ts'
import { makeBatches, sendBatches, tally } from './clients/ledger.ts'
import { askUntil } from './clients/patience.ts'
import {
  API_TOKEN,
  askHogQL,
  freePort,
  PERSONAL_API_KEY,
  type Server,
  serverLog,
  startServer,
} from './processes/server.ts'

/** Many: STANDBY_ROUNDS=200 bun test test/flows/standby.test.ts */
const ROUNDS = Number(process.env['STANDBY_ROUNDS'] ?? 3)
const SEED = Number(process.env['SEED'] ?? 20_261_126)
const BATCHES_PER_ROUND = 20

setDefaultTimeout(240_000 + ROUNDS * 30_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-standby-'))
const random = seeded(SEED)
const running = new Set<Server>()

/** A second attempt begins with nothing too. */
beforeEach(async () => {
  await Promise.all([...running].map((server) => server.kill()))
  for (const name of readdirSync(folder))
    rmSync(join(folder, name), { recursive: true, force: true })
})
/** Shows the log of a server whose storage failed: refused batches are sent again, and would hide it. */
afterEach(() => {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.log'))) {
    const log = serverLog(join(folder, name.slice(0, -'.log'.length)))
    if (/the storage refused|ingestion has stopped/.test(log)) console.warn(name, log)
  }
})
afterAll(async () => {
  await Promise.all([...running].map((server) => server.kill()))
  rmSync(folder, { recursive: true, force: true })
})

const KEY = { TIDEMARK_REPLICA_KEY: 'a-secret-of-both-servers' }
/** Files small enough that snapshots, their removal and the kills keep meeting. */
const PRIMARY = { ...KEY, TIDEMARK_SNAPSHOT_ROWS: '2000' }

async function start(name: string, port: number, env: Record<string, string>): Promise<Server> {
  const server = await startServer({ data_dir: join(folder, name), port, env })
  running.add(server)
  return server
}

const startStandby = (name: string, primary_url: string, port = freePort()): Promise<Server> =>
  start(name, port, { ...KEY, TIDEMARK_REPLICA_OF: primary_url })

type Health = { readonly standby: { readonly behind_s: number | null; readonly primary: string } }

const healthOf = async (standby: Server): Promise<Health['standby']> =>
  ((await (await fetch(`${standby.url}/_health`)).json()) as Health).standby

/** Waits until the standby has everything that was answered before the call. */
async function catchUp(standby: Server): Promise<void> {
  const asked_ms = Date.now()
  let equal_ms = 0
  const ask = async (): Promise<boolean> => {
    // An answer that is on its way for long must not make the standby seem younger, nor older than it was known to be.
    const sent_ms = Date.now()
    const { behind_s } = await healthOf(standby)
    if (behind_s !== null) equal_ms = Math.max(equal_ms, sent_ms - behind_s * 1000)
    return equal_ms > asked_ms
  }
  expect(await askUntil(ask, (is_equal) => is_equal)).toBe(true)
}

const takeover = (name: string) => run(['takeover', '--json', '--data-dir', join(folder, name)])

const countStored = async (server: Server): Promise<readonly unknown[]> =>
  (await askHogQL(server.url, 'select count(), count(distinct uuid) from events')).results[0] ?? []

test('a standby answers nothing but its health, takes over while it runs, and keeps all it had', async () => {
  const primary = await start('first', freePort(), PRIMARY)
  // What a standby that was killed had received of a file.
  const received = join(folder, 'second', 'tmp', 'file.received')
  mkdirSync(dirname(received), { recursive: true })
  writeFileSync(received, 'PAR1')
  const standby = await startStandby('second', primary.url)
  expect(existsSync(received)).toBe(false)
  const batches = makeBatches(SEED, 30)
  await sendBatches(primary.url, batches, 4)
  const refused = await fetch(`${standby.url}/api/users/@me/`)
  expect([refused.status, refused.headers.get('Location')]).toEqual([421, primary.url])
  expect((await fetch(`${standby.url}/batch/`, { method: 'POST', body: '{}' })).status).toBe(421)
  const early = await fetch(`${standby.url}/_standby/takeover`, { method: 'POST' })
  expect(early.status).toBe(404)
  await fetch(`${primary.url}/api/projects/1/feature_flags/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${PERSONAL_API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      key: 'copied',
      active: true,
      filters: { groups: [{ rollout_percentage: 100 }] },
    }),
  })
  for (const group_key of ['stays', 'goes']) {
    const properties = { $group_type: 'company', $group_key: group_key, $group_set: { size: 9 } }
    const event = { event: '$groupidentify', distinct_id: 'ada', properties }
    const body = JSON.stringify({ api_key: API_TOKEN, ...event })
    expect((await fetch(`${primary.url}/capture/`, { method: 'POST', body })).status).toBe(200)
  }
  await catchUp(standby)
  const deleted = await fetch(
    `${primary.url}/api/projects/1/groups/find/?group_type_index=0&group_key=goes`,
    { method: 'DELETE', headers: { Authorization: `Bearer ${PERSONAL_API_KEY}` } },
  )
  expect(deleted.status).toBe(204)
  await catchUp(standby)
  const metrics = await (await fetch(`${primary.url}/_metrics`)).text()
  expect(metrics).toMatch(/^tidemark_standby_seen_seconds\{standby="[\w-]+"\} \d/m)
  await primary.kill()

  const taken = await takeover('second')
  expect(taken).toMatchObject({ exit_code: 0, err: '' })
  // The same process goes on under the same address.
  await askUntil(
    () => fetch(`${standby.url}/_readiness`).catch(() => null),
    (answer) => answer?.ok === true,
  )
  expect((await askHogQL(standby.url, 'select key from groups')).results).toEqual([['stays']])
  expect(await countStored(standby)).toEqual([3002, 3002])
  const per_event =
    "select event, count() from events where event != '$groupidentify' group by event order by event"
  expect((await askHogQL(standby.url, per_event)).results).toEqual(
    tally(batches, (event) => event.event),
  )
  const flags = await fetch(`${standby.url}/flags/?v=2`, {
    method: 'POST',
    body: JSON.stringify({ api_key: API_TOKEN, distinct_id: 'ada' }),
  })
  expect(await flags.json()).toMatchObject({ flags: { copied: { enabled: true } } })
  // What was answered is not stored again, what is new is.
  await sendBatches(standby.url, [...makeBatches(SEED, 10), ...makeBatches(SEED + 1, 10)], 2)
  expect(await countStored(standby)).toEqual([4002, 4002])
  expect(await standby.stop()).toBe(0)
  const sound = await run(['doctor', '--json', '--data-dir', join(folder, 'second')])
  expect(JSON.parse(sound.out)).toMatchObject({ is_sound: true, findings: [] })

  // With its old settings it stays a server, and has a standby itself.
  const again = await startStandby('second', primary.url)
  expect(await countStored(again)).toEqual([4002, 4002])
  const third = await startStandby('third', again.url)
  await catchUp(third)
  expect(await third.stop()).toBe(0)
  expect(await takeover('third')).toMatchObject({ exit_code: 0, err: '' })
  const last = await start('third', freePort(), {})
  expect(await countStored(last)).toEqual([4002, 4002])
})

test(`${ROUNDS} rounds of kill -9 of either side (SEED=${SEED}): the standby has what was stored before it was equal`, async () => {
  const ports = [freePort(), freePort()] as const
  let primary = await start('primary', ports[0], PRIMARY)
  let standby = await startStandby('standby', primary.url, ports[1])
  const batches = makeBatches(SEED + 2, ROUNDS * BATCHES_PER_ROUND)
  for (let round = 0; round < ROUNDS; round += 1) {
    const due = batches.slice(0, (round + 1) * BATCHES_PER_ROUND)
    const sending = sendBatches(primary.url, due, 4)
    await Bun.sleep(50 + random() * 300)
    if (round % 4 !== 1) await standby.kill()
    if (round % 4 !== 0) await primary.kill()
    await sending
    if (round % 4 !== 0) primary = await start('primary', ports[0], PRIMARY)
    if (round % 4 !== 1) standby = await startStandby('standby', primary.url, ports[1])
    await sendBatches(primary.url, due, 4)
    await catchUp(standby)
  }
  const events = ROUNDS * BATCHES_PER_ROUND * 100
  expect(await countStored(primary)).toEqual([events, events])

  // The primary is killed under load: all that it had answered before the standby was equal to it last is there.
  const more = makeBatches(SEED + 3, 100)
  const answered_ms: number[] = []
  let next = 0
  const sendInTurn = async (): Promise<void> => {
    for (let batch = more[next++]; batch !== undefined; batch = more[next++]) {
      await sendBatches(primary.url, [batch], 1)
      if (!batch.answered) return
      answered_ms.push(Date.now())
    }
  }
  const sending = Promise.all(Array.from({ length: 4 }, sendInTurn))
  while (answered_ms.length < 10) await Bun.sleep(1)
  await primary.kill()
  await sending
  const taken = await takeover('standby')
  expect(taken).toMatchObject({ exit_code: 0, err: '' })
  const equal_ms = Date.parse(JSON.parse(taken.out).equal_at)
  const kept = answered_ms.filter((time_ms) => time_ms < equal_ms).length * 100
  await askUntil(
    () => fetch(`${standby.url}/_readiness`).catch(() => null),
    (answer) => answer?.ok === true,
  )
  const [stored, distinct] = await countStored(standby)
  expect(distinct).toBe(stored)
  expect(Number(stored)).toBeGreaterThanOrEqual(events + kept)
  for (const batch of more) batch.answered = false
  await sendBatches(standby.url, more, 4)
  expect(await countStored(standby)).toEqual([events + 10_000, events + 10_000])
  expect(await standby.stop()).toBe(0)
  const sound = await run(['doctor', '--json', '--data-dir', join(folder, 'standby')])
  expect(JSON.parse(sound.out)).toMatchObject({ is_sound: true, findings: [] })
})

test('a folder that follows is served by no one else, and one with data of its own does not follow', async () => {
  const primary = await start('whole', freePort(), PRIMARY)
  const standby = await startStandby('refused', primary.url)
  await catchUp(standby)
  expect(await standby.stop()).toBe(0)
  const served = await run(['serve', '--port', '0', '--data-dir', join(folder, 'refused')])
  expect(served).toMatchObject({ exit_code: 2, out: '' })
  expect(served.err).toContain('is a standby')
  expect(await takeover('whole')).toMatchObject({ exit_code: 1 })
  const asked = async (path: string, key = KEY.TIDEMARK_REPLICA_KEY): Promise<unknown> => {
    const headers = { Authorization: `Bearer ${key}`, 'Tidemark-Standby': 'of-a-test' }
    const answer = await fetch(`${primary.url}/_standby/v1/${path}`, { headers })
    return [answer.status, answer.ok || ((await answer.json()) as { attr: unknown }).attr]
  }
  expect(await asked('log/control?version=0')).toEqual([200, true])
  expect(await asked('log/control?version=0', PERSONAL_API_KEY)).toEqual([401, null])
  expect(await asked('log/cache?version=0')).toEqual([404, null])
  expect(await asked('log/events')).toEqual([400, 'version'])
  expect(await asked('log/events?version=0&salts=x')).toEqual([400, 'salts'])
  expect(await asked('log/events?version=0&salts=0123456789abcdef&frames=-1')).toEqual([
    400,
    'frames',
  ])
  expect(await asked('pages/events?offset=0&length=1e9')).toEqual([400, 'length'])
  expect(await asked('pages/events?offset=999999999999&length=4096')).toEqual([200, true])
  expect(await asked('files/1/..%2F..%2Fcontrol')).toEqual([404, null])
  expect(await primary.stop()).toBe(0)
  const following = await run(
    [
      'serve',
      '--port',
      '0',
      '--data-dir',
      join(folder, 'whole'),
      '--replica-of',
      'http://127.0.0.1:1',
    ],
    KEY,
  )
  expect(following).toMatchObject({ exit_code: 2, out: '' })
  expect(following.err).toContain('has data of its own')
})

test('a copy that is given up before it is whole leaves no files', async () => {
  const primary = await start('restarting', freePort(), PRIMARY)
  // Pages without an end, and another log whenever the copy asks for more: a primary that restarts again and again.
  const restarting = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search, searchParams } = new URL(request.url)
      if (pathname.startsWith('/_standby/v1/pages/')) return new Response(Buffer.alloc(1024 ** 2))
      const answer = await fetch(`${primary.url}${pathname}${search}`, { headers: request.headers })
      if (!searchParams.has('salts')) return answer
      const log = JSON.parse((await answer.text()).split('\n', 1).join(''))
      const other = { ...log, salts: 'f'.repeat(16), header: '', from: 0, until: 0, is_end: true }
      return new Response(`${JSON.stringify(other)}\n`)
    },
  })
  const data_dir = join(folder, 'restarted')
  mkdirSync(data_dir)
  const following = beginFollowing()
  const url = restarting.url.origin
  const follower = new Follower(
    {
      data_dir,
      primary: new Primary({ url, key: KEY.TIDEMARK_REPLICA_KEY, id: following.id }),
      log: openLog('error', []),
      now: () => new Date(),
    },
    following,
  )
  follower.start()
  try {
    await askUntil(
      () => follower.begun,
      (begun) => begun > 6,
    )
    await follower.close()
    const copies = readdirSync(copiesFolder(data_dir)).filter((name) => name.endsWith('.db'))
    expect(copies.length).toBeLessThanOrEqual(2)
  } finally {
    await follower.close()
    await restarting.stop(true)
  }
})

test('a standby believes no path that its primary names', async () => {
  const primary = await start('honest', freePort(), PRIMARY)
  const stolen = { project_id: 1, id: '../../stolen', byte_count: 1, sha256: '0'.repeat(64) }
  const liar = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      if (pathname.startsWith('/_standby/v1/files/')) return new Response('x')
      const answer = await fetch(`${primary.url}${pathname}${search}`, { headers: request.headers })
      if (pathname !== '/_standby/v1/log/events') return answer
      const bytes = Buffer.from(await answer.arrayBuffer())
      const end = bytes.indexOf(10)
      const log = JSON.parse(bytes.toString('utf8', 0, end))
      const head = Buffer.from(JSON.stringify({ ...log, manifest_version: 7, files: [stolen] }))
      return new Response(Buffer.concat([head, bytes.subarray(end)]))
    },
  })
  const data_dir = join(folder, 'deceived')
  mkdirSync(data_dir)
  const following = beginFollowing()
  const follower = new Follower(
    {
      data_dir,
      primary: new Primary({
        url: liar.url.origin,
        key: KEY.TIDEMARK_REPLICA_KEY,
        id: following.id,
      }),
      log: openLog('error', []),
      now: () => new Date(),
    },
    following,
  )
  follower.start()
  try {
    await askUntil(
      () => follower.last_error,
      (reason) => reason !== null,
    )
    expect(follower.last_error).toBe('the primary lists "../../stolen", which is no snapshot file')
    expect(follower.is_whole).toBe(false)
    expect(readdirSync(folder)).not.toContain('stolen')
  } finally {
    await follower.close()
    await liar.stop(true)
  }
})
