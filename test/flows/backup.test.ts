/** Backup while events pour in, restore, doctor: everything answered before the backup is in it. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Ran, run } from '../cli/command.ts'
import { makeBatches, sendBatches, tally } from './clients/ledger.ts'
import { untilSnapshotFile } from './clients/patience.ts'
import { askHogQL, type Server, startServer } from './processes/server.ts'

setDefaultTimeout(180_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-backup-'))
const data_dir = join(folder, 'data')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Sixty thousand events with `EVERY_CASE=1`. */
const BATCHES = process.env['EVERY_CASE'] === '1' ? 600 : 150
const COUNT = 'select count(), count(distinct uuid) from events'

/** Files small enough that snapshots and compactions keep coming between. */
const start = async (dir: string): Promise<Server> => {
  const server = await startServer({ data_dir: dir, env: { TIDEMARK_SNAPSHOT_ROWS: '1000' } })
  running.push(server)
  return server
}
const running: Server[] = []

const tidemark = (dir: string, ...args: readonly string[]): Promise<Ran> =>
  run([...args, '--json', '--data-dir', dir])

/** The Parquet files of a folder. */
const parquetFiles = (dir: string): string[] =>
  readdirSync(join(dir, 'files'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.parquet'))
    .map((entry) => join(entry.parentPath, entry.name))

test('a backup of a busy server holds what was answered before, is whole, and is served again', async () => {
  // A second attempt begins with nothing too.
  for (const left of running.splice(0)) await left.kill()
  for (const name of readdirSync(folder))
    rmSync(join(folder, name), { recursive: true, force: true })
  const server = await start(data_dir)
  const batches = makeBatches(9, BATCHES)
  await sendBatches(server.url, batches.slice(0, BATCHES / 5), 4)
  await untilSnapshotFile(server.url)
  const sending = sendBatches(server.url, batches, 4)
  for (const [index, ...options] of [['0'], ['1', '--copy']] as const) {
    const answered = batches.filter((batch) => batch.answered).length * 100
    const to = join(folder, `backup-${index}`)
    const made = await tidemark(data_dir, 'backup', to, ...options)
    expect(made).toMatchObject({ exit_code: 0, err: '' })
    expect(JSON.parse(made.out).last_seq).toBeGreaterThanOrEqual(answered)
    expect(await tidemark(to, 'doctor')).toMatchObject({ exit_code: 0, err: '' })

    const restored_dir = join(folder, `restored-${index}`)
    expect(await tidemark(restored_dir, 'restore', to)).toMatchObject({ exit_code: 0, err: '' })
    const restored = await start(restored_dir)
    const { results } = await askHogQL(restored.url, COUNT)
    expect(results[0]?.[0]).toBe(results[0]?.[1])
    expect(Number(results[0]?.[0])).toBeGreaterThanOrEqual(answered)
    expect(Number(results[0]?.[0])).toBe(JSON.parse(made.out).last_seq)
    // It is a server like any other: what the backup did not have is taken, the rest is known.
    if (index === '1') {
      await sending
      await sendBatches(restored.url, makeBatches(9, BATCHES), 4)
      const perEvent = 'select event, count() from events group by event order by event'
      expect((await askHogQL(restored.url, perEvent)).results).toEqual(
        tally(batches, (event) => event.event),
      )
    }
    expect(await restored.stop()).toBe(0)
    expect(await tidemark(restored_dir, 'doctor')).toMatchObject({ exit_code: 0, err: '' })
  }
  // Beside a server, too.
  expect(await tidemark(data_dir, 'doctor')).toMatchObject({ exit_code: 0, err: '' })
  expect(await server.stop()).toBe(0)
})

test('a backup that is damaged, not complete, or in the way of something is refused', async () => {
  const backup = join(folder, 'backup-1')
  const again = await tidemark(data_dir, 'backup', backup)
  expect(again).toMatchObject({ exit_code: 1, out: '' })
  expect(again.err).toContain('is not empty')
  const onto = await tidemark(data_dir, 'restore', backup)
  expect(onto.err).toContain('is not empty: move it away first')

  const [file = ''] = parquetFiles(backup)
  const whole = readFileSync(file)
  const flipped = Buffer.from(whole)
  flipped.fill(0, 100, 140)
  chmodSync(file, 0o640)
  writeFileSync(file, flipped)
  const target = join(folder, 'never')
  const restored = await tidemark(target, 'restore', backup)
  expect(restored).toMatchObject({ exit_code: 1, out: '' })
  expect(restored.err).toContain('does not match its checksum')
  expect(readdirSync(folder).filter((name) => name.startsWith('never'))).toEqual([])
  const examined = await tidemark(backup, 'doctor')
  expect(examined.exit_code).toBe(1)
  const { is_sound, findings } = JSON.parse(examined.out)
  expect(is_sound).toBe(false)
  expect(findings[0].subject).toStartWith('snapshot file ')
  expect(findings[0].fault).toBe('does not match its checksum')

  // A folder with a damaged file cannot be backed up without a word.
  writeFileSync(file, whole)
  rmSync(join(backup, 'checksums.json'))
  const cut_off = await tidemark(target, 'restore', backup)
  expect(cut_off.err).toContain('is not a complete backup')
  const [own = ''] = parquetFiles(data_dir)
  const bytes = readFileSync(own)
  bytes.fill(0, 100, 140)
  chmodSync(own, 0o640)
  writeFileSync(own, bytes)
  const refused = await tidemark(data_dir, 'backup', join(folder, 'third'))
  expect(refused).toMatchObject({ exit_code: 1, out: '' })
  expect(refused.err).toContain('does not match its checksum')
})

test('a folder that holds nothing has nothing to back up', async () => {
  const ran = await tidemark(join(folder, 'nothing'), 'backup', join(folder, 'fourth'))
  expect(ran.exit_code).toBe(1)
  expect(ran.err).toContain('holds no Tidemark data')
})
