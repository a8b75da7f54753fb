/** A full disk, a read-only one: nothing is acknowledged that is not kept, reading goes on, and it recovers by itself. */
import { afterAll, expect, test } from 'bun:test'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run as tidemark } from '../cli/command.ts'
import { limitTests, longTestIf } from '../long-tests.ts'
import { makeBatches, sendBatches } from './clients/ledger.ts'
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

limitTests(180_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-full-'))
const image = join(folder, 'disk.img')
const disk = join(folder, 'disk')
mkdirSync(disk)

const run = (...command: readonly string[]): boolean =>
  Bun.spawnSync([...command], { stdout: 'ignore', stderr: 'ignore' }).success

/** Needs root and loop devices. */
const canMount =
  run('truncate', '-s', '400M', image) &&
  run('mkfs.ext4', '-q', '-F', '-m', '0', image) &&
  run('mount', '-o', 'loop', image, disk)

const servers: Server[] = []

afterAll(async () => {
  for (const server of servers) await server.kill()
  // The server's own processes end a moment after it.
  for (let tries = 0; tries < 600 && !run('umount', disk); tries++) await Bun.sleep(100)
  rmSync(folder, { recursive: true, force: true })
})

const COUNT = 'select count(), count(distinct uuid) from events'
/** What the server says goes to the same disk, so that saying it fails too. */
const data_dir = join(disk, 'data')

const ballast = join(disk, 'ballast')

/** Begins with no server and no folder `dir`, also after an attempt that failed. */
async function begin(dir: string): Promise<void> {
  for (const server of servers.splice(0)) await server.kill()
  rmSync(ballast, { force: true })
  if (existsSync(dir)) protect(dir, '-i')
  rmSync(dir, { recursive: true, force: true })
}

/** Leaves about a number of bytes free, until the returned function is called. */
function fill(free_bytes: number): () => void {
  // Most of it is reserved at once; what the file system itself takes of that shows only then.
  const { bavail, bsize } = statfsSync(disk)
  run('fallocate', '-l', String(Math.max(0, bavail * bsize - free_bytes - 4_000_000)), ballast)
  for (;;) {
    const left = statfsSync(disk)
    const bytes = Math.min(left.bavail * left.bsize - free_bytes, 4_000_000)
    if (bytes <= 0 || !tryAppend(bytes)) return () => rmSync(ballast)
  }
}

/** False where a server has taken the rest meanwhile. */
function tryAppend(bytes: number): boolean {
  try {
    appendFileSync(ballast, Buffer.alloc(bytes))
    return true
  } catch {
    return false
  }
}

async function start(env: Readonly<Record<string, string>>, dir = data_dir): Promise<Server> {
  const server = await startServer({ data_dir: dir, env })
  servers.push(server)
  return server
}

const parquetFiles = (dir: string): string[] =>
  existsSync(join(dir, 'files'))
    ? readdirSync(join(dir, 'files'), { recursive: true })
        .map(String)
        .filter((name) => name.endsWith('.parquet'))
    : []

/** Not from the log, which may have found no room either. */
async function failedSnapshots(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/_metrics`)).text()
  return Number(/\{work="snapshot",outcome="failed"\} (\d+)/.exec(metrics)?.[1])
}

async function capture(url: string): Promise<{ status: number; code: unknown; retry: boolean }> {
  const answer = await fetch(`${url}/capture/`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      api_key: API_TOKEN,
      event: 'large',
      distinct_id: 'ann',
      properties: { text: 'x'.repeat(200_000) },
    }),
  })
  const { code } = JSON.parse(await answer.text())
  return { status: answer.status, code, retry: answer.headers.has('retry-after') }
}

async function readiness(url: string): Promise<[number, unknown]> {
  const answer = await fetch(`${url}/_readyz`)
  return [answer.status, await answer.json()]
}

test.skipIf(!canMount)(
  'a full disk is answered with 503, queries go on, and all is well when there is room again',
  async () => {
    await begin(data_dir)
    const server = await start({ TIDEMARK_SNAPSHOT_ROWS: '20000' })
    const batches = makeBatches(21, 50)
    await sendBatches(server.url, batches, 4)
    const before = (await askHogQL(server.url, COUNT)).results
    expect(before).toEqual([[5000, 5000]])

    const empty = fill(2_000_000)
    let stored = 0
    let refused: Awaited<ReturnType<typeof capture>> | null = null
    for (let tries = 0; tries < 2000 && refused === null; tries++) {
      const answer = await capture(server.url)
      if (answer.status === 200) stored++
      else refused = answer
    }
    expect(refused).toEqual({ status: 503, code: 'storage_unavailable', retry: true })
    expect((await askHogQL(server.url, COUNT)).results).toEqual([[5000 + stored, 5000 + stored]])

    empty()
    for (let tries = 0; (await capture(server.url)).status !== 200; tries++) {
      expect(tries).toBeLessThan(600)
      await Bun.sleep(100)
    }
    const after = 5001 + stored
    expect((await askHogQL(server.url, COUNT)).results).toEqual([[after, after]])
    expect(await server.stop()).toBe(0)
  },
)

test.skipIf(!canMount)(
  'a server stops in order on a full disk, with answers in its cache',
  async () => {
    const filled = join(disk, 'filled')
    await begin(filled)
    const server = await start({}, filled)
    expect((await capture(server.url)).status).toBe(200)
    expect((await askHogQL(server.url, COUNT)).results).toEqual([[1, 1]])
    const endless =
      'select sum(cityHash64(a.number + b.number)) from numbers(1000000) as a cross join numbers(1000000) as b'
    const started = await fetch(`${server.url}/api/projects/1/query/`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Bearer ${PERSONAL_API_KEY}`,
      },
      body: JSON.stringify({ query: { kind: 'HogQLQuery', query: endless }, refresh: 'async' }),
    })
    expect(started.status).toBe(200)
    const empty = fill(0)
    expect(await server.stop()).toBe(0)
    for (const dir of [filled, join(disk, 'another')]) {
      const ran = await tidemark(['serve', '--port', '0', '--data-dir', dir])
      expect(ran.exit_code).toBe(1)
      expect(ran.err).toContain('make room on the disk of the data folder')
      expect(ran.err).not.toContain('SQL.run')
    }
    empty()
    // Enough for the lock and its note: the shared memory of the databases would end the process by a bus error.
    for (const free_bytes of [20_000, 400_000]) {
      const emptyMore = fill(free_bytes)
      const ran = await tidemark(['serve', '--port', '0', '--data-dir', filled])
      expect(ran.exit_code).toBe(1)
      expect(ran.err).toContain('a start needs 512 KiB')
      expect(ran.err).toContain('make room on the disk of the data folder')
      emptyMore()
    }
    const again = await start({}, filled)
    expect((await askHogQL(again.url, COUNT)).results).toEqual([[1, 1]])
    expect(await again.stop()).toBe(0)
  },
)

test.skipIf(!canMount)(
  'a large request that a full disk cuts off is refused as a whole, and the server stops in order',
  async () => {
    const large = join(disk, 'large')
    await begin(large)
    const server = await start({}, large)
    expect((await capture(server.url)).status).toBe(200)
    const event = { event: 'e', distinct_id: 'ann', properties: { text: 'x'.repeat(500) } }
    const body = JSON.stringify({
      api_key: API_TOKEN,
      batch: Array.from({ length: 20_000 }, () => event),
    })
    const empty = fill(3_000_000)
    expect((await fetch(`${server.url}/batch/`, { method: 'POST', body })).status).toBe(503)
    expect(await server.stop()).toBe(0)
    empty()
    const again = await start({}, large)
    expect((await askHogQL(again.url, COUNT)).results).toEqual([[1, 1]])
    expect(await again.stop()).toBe(0)
  },
)

longTestIf(canMount)(
  'a snapshot that finds no room leaves nothing behind and loses nothing, and is taken when there is',
  async () => {
    const fresh = join(disk, 'fresh')
    await begin(fresh)
    const whole = { TIDEMARK_SNAPSHOT_ROWS: '100000000', TIDEMARK_SNAPSHOT_AGE_S: '100000' }
    const first = await start(whole, fresh)
    await sendBatches(first.url, makeBatches(22, 400), 4)
    expect(await first.stop()).toBe(0)

    // Less than the file needs (about 2 MB), more than it takes to start.
    const empty = fill(1_200_000)
    const small = { ...whole, TIDEMARK_SNAPSHOT_ROWS: '1000' }
    const second = await start(small, fresh)
    while ((await failedSnapshots(second.url)) === 0) await Bun.sleep(50)
    // The disk gives back what was deleted a few seconds later.
    while (statfsSync(disk).bavail * statfsSync(disk).bsize < 500_000) await Bun.sleep(50)
    expect((await askHogQL(second.url, COUNT)).results).toEqual([[40_000, 40_000]])
    expect(parquetFiles(fresh)).toEqual([])
    await second.kill()
    empty()

    const third = await start(small, fresh)
    while (parquetFiles(fresh).length === 0) await Bun.sleep(50)
    expect((await askHogQL(third.url, COUNT)).results).toEqual([[40_000, 40_000]])
    expect(await third.stop()).toBe(0)
  },
)

/** Without the shared memory of the databases, which has to be writable to be read. */
const protect = (dir: string, how: '+i' | '-i'): boolean =>
  run('find', dir, '!', '-name', '*-shm', '-exec', 'chattr', how, '{}', '+')

test.skipIf(!canMount)(
  'a folder that becomes read-only answers 503 to events, queries go on, and all is well when it is writable',
  async () => {
    const guarded = join(disk, 'guarded')
    await begin(guarded)
    const server = await start({ TIDEMARK_DISK_FREE_MIN_MB: '0' }, guarded)
    expect((await capture(server.url)).status).toBe(200)
    expect((await askHogQL(server.url, COUNT)).results).toEqual([[1, 1]])

    expect(protect(guarded, '+i')).toBe(true)
    const refused = { status: 503, code: 'storage_unavailable', retry: true }
    expect(await capture(server.url)).toEqual(refused)
    expect((await askHogQL(server.url, COUNT)).results).toEqual([[1, 1]])
    expect(await capture(server.url)).toEqual(refused)
    expect(serverLog(guarded)).toContain('the storage refused events')
    const reasons = [{ check: 'disk', detail: 'The data folder cannot be written (EPERM).' }]
    expect(await readiness(server.url)).toEqual([503, { status: 'unavailable', reasons }])

    expect(protect(guarded, '-i')).toBe(true)
    for (let tries = 0; (await capture(server.url)).status !== 200; tries++) {
      expect(tries).toBeLessThan(600)
      await Bun.sleep(100)
    }
    expect(await readiness(server.url)).toEqual([200, { status: 'ok' }])
    expect((await askHogQL(server.url, COUNT)).results).toEqual([[2, 2]])
    expect(await server.stop()).toBe(0)
  },
)

test.skipIf(!canMount)(
  'a folder that was read-only before the first query refuses it with 503, and a start in it in words',
  async () => {
    const guarded = join(disk, 'guarded-early')
    await begin(guarded)
    const server = await start({}, guarded)
    expect((await capture(server.url)).status).toBe(200)

    expect(protect(guarded, '+i')).toBe(true)
    expect(await askHogQL(server.url, COUNT).catch(String)).toContain('503')
    expect(protect(guarded, '-i')).toBe(true)
    expect((await askHogQL(server.url, COUNT)).results).toEqual([[1, 1]])
    expect(await server.stop()).toBe(0)

    expect(protect(guarded, '+i')).toBe(true)
    const ran = await tidemark(['serve', '--data-dir', guarded])
    expect(protect(guarded, '-i')).toBe(true)
    expect(ran.exit_code).toBe(1)
    expect(ran.err).toContain(guarded)
    expect(ran.err).toMatch(/not permitted|read-?only/i)
  },
)

/** Sends events to an edge until it takes no more; answers how many it took. */
async function fillEdge(url: string): Promise<number> {
  let stored = 0
  for (; (await capture(url)).status === 200; stored++) expect(stored).toBeLessThan(2000)
  return stored
}

/** A home and its edge on the disk, of which the home is away. */
async function startEdge(name: string, env: Readonly<Record<string, string>> = {}) {
  const edge_dir = join(disk, name)
  await begin(edge_dir)
  const options = { data_dir: join(folder, `${name}-home`), port: freePort() }
  const home = await startServer(options)
  servers.push(home)
  const forward = { TIDEMARK_FORWARD_TO: home.url, TIDEMARK_FORWARD_KEY: PERSONAL_API_KEY }
  const edge = await start({ ...forward, ...env }, edge_dir)
  await home.kill()
  const startHome = async (): Promise<Server> => {
    const again = await startServer(options)
    servers.push(again)
    return again
  }
  return { edge, startHome }
}

test.skipIf(!canMount)(
  'an edge whose disk is full of what waits takes events again once its home has them',
  async () => {
    const { edge, startHome } = await startEdge('edge')
    const empty = fill(130_000_000)
    const stored = await fillEdge(edge.url)
    const home = await startHome()
    for (let tries = 0; (await capture(edge.url)).status !== 200; tries++) {
      expect(tries).toBeLessThan(300)
      await Bun.sleep(100)
    }
    const all = [[stored + 1, stored + 1]]
    const ask = async () => (await askHogQL(home.url, COUNT)).results
    expect(await askUntil(ask, (found) => Bun.deepEquals(found, all))).toEqual(all)
    expect(await edge.stop()).toBe(0)
    empty()
  },
)

longTestIf(canMount)(
  'an edge that had no room to delete what is at home does so later, although no event comes',
  async () => {
    const { edge, startHome } = await startEdge('edge-of-6', { TIDEMARK_EDGE_DISK_MB: '6' })
    const stored = await fillEdge(edge.url)
    const empty = fill(0)
    const home = await startHome()
    const ask = async () => (await askHogQL(home.url, COUNT)).results
    expect(await askUntil(ask, ([row]) => row?.[0] === stored)).toEqual([[stored, stored]])
    empty()
    const backlog = async (): Promise<unknown> => {
      const health = await (await fetch(`${edge.url}/_health`)).json()
      return (health as { edge: { backlog_events: number } }).edge.backlog_events
    }
    expect(await askUntil(backlog, (events) => events === 0)).toBe(0)
    expect(await edge.stop()).toBe(0)
  },
)

test.skipIf(!canMount)('a read-only folder is refused in words', async () => {
  // Processes of the servers before end a moment after them.
  for (let tries = 0; tries < 600 && !run('mount', '-o', 'remount,ro', disk); tries++) {
    await Bun.sleep(100)
  }
  const ran = await tidemark(['serve', '--data-dir', data_dir])
  expect(ran.exit_code).toBe(1)
  expect(ran.err).toMatch(/read-?only/i)
  expect(run('mount', '-o', 'remount,rw', disk)).toBe(true)
  const server = await start({})
  expect((await askHogQL(server.url, COUNT)).results[0]?.[0]).toBeGreaterThan(5000)
  expect(await server.stop()).toBe(0)
})
