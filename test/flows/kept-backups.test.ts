/** Backups that a server makes by itself, into a folder and into a bucket, and what it says of those that fail. */
import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findNextTime } from '../../src/serve/backups.ts'
import { BucketServer } from '../backup/store/bucket-server.ts'
import { type Ran, run } from '../cli/command.ts'
import { EVERY_CASE, limitTests } from '../long-tests.ts'
import { makeBatches, sendBatches } from './clients/ledger.ts'
import { askUntil } from './clients/patience.ts'
import { askHogQL, type Server, type StartOptions, startServer } from './processes/server.ts'

limitTests(180_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-scheduled-'))
/** Servers that a failed attempt left. */
const running: Server[] = []
/** A second attempt begins with nothing too. */
afterEach(async () => {
  for (const server of running.splice(0)) await server.kill()
  for (const name of readdirSync(folder))
    rmSync(join(folder, name), { recursive: true, force: true })
})

async function start(options: StartOptions): Promise<Server> {
  const server = await startServer(options)
  running.push(server)
  return server
}

const COUNT = 'select count(), count(distinct uuid) from events'
const EVERY_SECOND = { TIDEMARK_BACKUP_EVERY: '* * * * * *', TIDEMARK_BACKUP_KEEP: '2' }

async function metricsOf(url: string): Promise<string> {
  return (await fetch(`${url}/_metrics`)).text()
}

/** Reads a counter of backups. */
async function countBackups(url: string, outcome: 'done' | 'failed'): Promise<number> {
  const found = new RegExp(`tidemark_backups_total\\{outcome="${outcome}"\\} (\\d+)`).exec(
    await metricsOf(url),
  )
  return Number(found?.[1] ?? -1)
}

const untilBackups = (url: string, outcome: 'done' | 'failed', more: number): Promise<number> =>
  askUntil(
    () => countBackups(url, outcome),
    (count) => count >= more,
  )

test.each(EVERY_CASE ? ['folder', 'bucket'] : ['folder'])(
  'a server keeps backups in a %s by itself, and one is restored',
  async (kind) => {
    await using bucket = new BucketServer()
    await bucket.start()
    const { endpoint } = bucket.access()
    const keys = {
      AWS_ENDPOINT_URL: endpoint ?? '',
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
    }
    const store = kind === 'folder' ? join(folder, 'store') : 's3://acme-backups/edge/rome'
    const tidemark = (...args: readonly string[]): Promise<Ran> => run([...args, '--json'], keys)
    const data_dir = join(folder, `data-${kind}`)
    const env = {
      ...EVERY_SECOND,
      ...keys,
      TIDEMARK_BACKUP_TO: store,
      TIDEMARK_SNAPSHOT_ROWS: '500',
    }
    const server = await start({ data_dir, env })
    const batches = makeBatches(3, 10)
    await sendBatches(server.url, batches, 4)
    // The one that runs now may have begun before the events came.
    const done = await countBackups(server.url, 'done')
    await untilBackups(server.url, 'done', done + 3)
    const metrics = await metricsOf(server.url)
    expect(metrics).toMatch(/^tidemark_backup_age_seconds \d/m)
    expect(metrics).toMatch(/^tidemark_backup_overdue_seconds \d/m)
    expect(metrics).toContain('tidemark_backups_total{outcome="failed"} 0\n')
    const { results } = await askHogQL(server.url, COUNT)
    expect(await server.stop()).toBe(0)

    const listed = await tidemark('backup', 'list', '--to', store)
    expect(listed).toMatchObject({ exit_code: 0, err: '' })
    const { backups } = JSON.parse(listed.out)
    // A run that the stop ended may have had its list written, and nothing removed yet.
    expect([2, 3]).toContain(backups.length)
    expect(await tidemark('doctor', '--store', store)).toMatchObject({ exit_code: 0, err: '' })
    const restored_dir = join(folder, `restored-${kind}`)
    const at = backups.at(-1).made_at
    const restored = await tidemark(
      'restore',
      '--from',
      store,
      '--at',
      at,
      '--data-dir',
      restored_dir,
    )
    expect(restored).toMatchObject({ exit_code: 0, err: '' })
    expect(JSON.parse(restored.out).made_at).toBe(at)
    const again = await start({ data_dir: restored_dir })
    expect((await askHogQL(again.url, COUNT)).results).toEqual(results)
    expect(await again.stop()).toBe(0)
    const sound = await tidemark('doctor', '--data-dir', restored_dir)
    expect(JSON.parse(sound.out)).toMatchObject({ is_sound: true, findings: [] })
  },
)

test('a server whose backups fail serves on, counts them, and logs why without the secret', async () => {
  const data_dir = join(folder, 'failing')
  const env = {
    ...EVERY_SECOND,
    TIDEMARK_BACKUP_TO: 's3://acme-backups',
    TIDEMARK_BACKUP_S3_ENDPOINT: 'http://127.0.0.1:1',
    TIDEMARK_BACKUP_S3_KEY_ID: 'somebody',
    TIDEMARK_BACKUP_S3_SECRET: 'the-secret-of-somebody',
  }
  const server = await start({ data_dir, env })
  await untilBackups(server.url, 'failed', 1)
  expect(/^tidemark_backup_age_seconds \d/m.test(await metricsOf(server.url))).toBe(false)
  await sendBatches(server.url, makeBatches(1, 10), 1)
  expect(await server.stop()).toBe(0)
  const log = readFileSync(`${data_dir}.log`, 'utf8')
  expect(log).toContain('backup failed')
  expect(log).toContain('s3://acme-backups/: ConnectionRefused')
  expect(log).not.toContain('the-secret-of-somebody')
})

test.each(['s3://UPPER', 's3://acme/../other'])('%s is no store', async (store) => {
  const refused = await run(['backup', 'list', '--to', store])
  expect(refused).toMatchObject({ exit_code: 2, out: '' })
  expect(refused.err).toContain('must be a folder, or s3://bucket/prefix')
})

test('a store in the data folder is refused', async () => {
  const to = join(folder, 'data', 'files')
  const refused = await run(['backup', '--to', to, '--data-dir', join(folder, 'data')])
  expect(refused).toMatchObject({ exit_code: 2, out: '' })
  expect(refused.err).toContain('--to must name a store outside of the data folder')
})

test('the next backup is due hours after the newest one, or at the next time of a cron expression in UTC', () => {
  const made_at = new Date('2026-11-20T12:00:00Z')
  const later = new Date('2026-11-25T00:00:00Z')
  const next = (every: string, now = later): string =>
    findNextTime(every, made_at, now).toISOString()
  expect(next('6')).toBe('2026-11-20T18:00:00.000Z')
  expect(next('30 3 * * *')).toBe('2026-11-21T03:30:00.000Z')
  // A newest backup from the future counts as made now.
  expect(next('6', new Date('2026-11-19T00:00:00Z'))).toBe('2026-11-19T06:00:00.000Z')
})
