/** A disk of which one sync fails: the server ends, since a later sync may succeed without the data, and the next start has all that was answered. */
import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownCommand } from '../../src/storage/process/spawn-self.ts'
import type { ShippedLog } from '../../src/storage/sqlite/log-shipping.ts'
import { limitTests } from '../long-tests.ts'
import { makeBatches, sendBatches } from './clients/ledger.ts'
import { askUntil } from './clients/patience.ts'
import {
  askHogQL,
  PERSONAL_API_KEY,
  type Server,
  serverLog,
  startServer,
} from './processes/server.ts'

limitTests(180_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-failing-'))
const servers: Server[] = []
afterAll(async () => {
  for (const server of servers) await server.kill()
  rmSync(folder, { recursive: true, force: true })
})

async function start(name: string, env: Readonly<Record<string, string>> = {}): Promise<Server> {
  const server = await startServer({ data_dir: join(folder, name), env })
  servers.push(server)
  return server
}

const canFail = Bun.which('strace') !== null

/** From now on, the first sync of a file of the server fails with EIO, after a while; all later ones succeed. */
async function failOneSync(
  { pid }: Pick<Server, 'pid'>,
  path: string,
  after_ms = 0,
): Promise<void> {
  const fault = `inject=fsync,fdatasync:error=EIO:when=1:delay_enter=${after_ms}ms`
  const strace = ['strace', '-f', '-p', `${pid}`, '-o', '/dev/null', '-P', path, '-e', fault]
  const { stderr } = Bun.spawn(strace, { stdout: 'ignore', stderr: 'pipe' })
  // It says that it is attached.
  await stderr.getReader().read()
}

for (const file of ['events.db', 'events.db-wal']) {
  test.skipIf(!canFail)(
    `a server that cannot sync ${file} once ends, and no answered event is lost`,
    async () => {
      const server = await start(file)
      const path = join(folder, file, file)
      await failOneSync(server, path)
      const batches = makeBatches(31, 100)
      await sendBatches(server.url, batches, 4)
      expect(await server.stop()).toBe(137)
      expect(serverLog(join(folder, file))).toContain(`${file} cannot be synced`)
      // With its pages: the database file may lack those that were copied into it.
      expect(existsSync(join(folder, file, 'events.db-wal'))).toBe(true)
      const again = await start(file)
      await sendBatches(again.url, batches, 4)
      const counted = await askHogQL(again.url, 'select count(), count(distinct uuid) from events')
      expect(counted.results).toEqual([[10_000, 10_000]])
      expect(serverLog(join(folder, file))).toContain('checking its databases')
      expect(await again.stop()).toBe(0)
    },
  )
}

test.skipIf(!canFail)(
  'a server whose last sync fails while it stops ends as in a crash too',
  async () => {
    const server = await start('stop')
    const path = join(folder, 'stop', 'events.db-wal')
    await failOneSync(server, path, 3000)
    const bytes = statSync(path).size
    const sending = sendBatches(server.url, makeBatches(31, 1), 1)
    while (statSync(path).size === bytes) await Bun.sleep(10)
    expect(await server.stop()).toBe(137)
    expect(existsSync(path)).toBe(true)
    await sending
  },
)

test.skipIf(!canFail)('so does a command that serves for a moment', async () => {
  const data_dir = join(folder, 'demo')
  await (await start('demo')).stop()
  const demo = ['demo', '--project', '1', '--persons', '5000', '--data-dir', data_dir]
  const child = Bun.spawn([...ownCommand(demo)], { stdout: 'ignore', stderr: 'pipe' })
  const path = join(data_dir, 'events.db-wal')
  while (!existsSync(path) || statSync(path).size < 100_000) await Bun.sleep(10)
  await failOneSync(child, path)
  expect(await child.stderr.text()).toContain('events.db-wal cannot be synced')
  expect(await child.exited).toBe(137)
  expect(existsSync(path)).toBe(true)
})

test.skipIf(!canFail)(
  'a server that cannot sync control.db-wal once ends, and leaves the log to the next start',
  async () => {
    const server = await start('control')
    const change = async (url: string): Promise<number> => {
      const answer = await fetch(`${url}/api/projects/1/annotations/`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${PERSONAL_API_KEY}` },
        body: JSON.stringify({ content: 'release', scope: 'project' }),
      }).catch(() => null)
      return answer?.status ?? 0
    }
    expect(await change(server.url)).toBe(201)
    await failOneSync(server, join(folder, 'control', 'control.db-wal'))
    expect(await change(server.url)).not.toBe(201)
    expect(await server.stop()).toBe(137)
    expect(existsSync(join(folder, 'control', 'control.db-wal'))).toBe(true)
    const again = await start('control')
    expect(await change(again.url)).toBe(201)
    expect(await again.stop()).toBe(0)
  },
)

test.skipIf(!canFail)(
  'a standby that cannot sync what it received goes back to what it noted, and receives the rest again',
  async () => {
    const key = { TIDEMARK_REPLICA_KEY: 'a-secret-of-both-servers' }
    // A second attempt begins with folders of its own.
    const attempt = servers.length
    const primary = await start(`primary-${attempt}`, key)
    /** The first of the frames that an answer had, of answers with some. */
    const sent: number[] = []
    const line = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        const answer = await fetch(`${primary.url}${pathname}${search}`, {
          headers: request.headers,
        })
        if (!pathname.endsWith('/log/events')) return answer
        const bytes = Buffer.from(await answer.arrayBuffer())
        const log = JSON.parse(bytes.toString('utf8', 0, bytes.indexOf(10))) as ShippedLog
        if (log.until > log.from) sent.push(log.from)
        return new Response(bytes)
      },
    })
    try {
      const name = `standby-${attempt}`
      const standby = await start(name, { ...key, TIDEMARK_REPLICA_OF: line.url.origin })
      const copies = join(folder, name, 'standby')
      // The primary may have begun another one meanwhile.
      const findLatestLog = (): string | undefined =>
        readdirSync(copies)
          .filter((file) => /^events-.*\.log$/.test(file))
          .toSorted((one, other) => changedAt(one) - changedAt(other))
          .at(-1)
      const changedAt = (file: string): number => statSync(join(copies, file)).mtimeMs
      const batches = [...makeBatches(31, 40)]
      await sendBatches(primary.url, batches.splice(0, 2), 1)
      const log = await askUntil(findLatestLog, (latest) => latest !== undefined)
      await failOneSync(standby, join(copies, log ?? ''))
      // The first sync may be by a thread to which strace is not attached yet.
      const isRepeated = async (): Promise<boolean> => {
        await sendBatches(primary.url, batches.splice(0, 1), 1)
        return new Set(sent).size < sent.length
      }
      expect(await askUntil(isRepeated, (is_repeated) => is_repeated)).toBe(true)
      expect(serverLog(join(folder, name))).toContain('cannot follow the primary')
      expect(await standby.stop()).toBe(0)
    } finally {
      await line.stop(true)
    }
  },
)
