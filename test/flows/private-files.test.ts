/** The modes of everything that is stored: nothing of it is open to other users of the machine, whatever umask we are started with. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandLine, ENVIRONMENT } from '../cli/command.ts'
import { makeBatches, sendBatches } from './clients/ledger.ts'
import { openPaths } from './processes/open-paths.ts'
import { askHogQL, serverLog, startServer } from './processes/server.ts'

setDefaultTimeout(180_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-private-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What most machines start a process with. */
const USUAL_UMASK = 'umask 022'
const data_dir = join(folder, 'data')

/** Runs a command of ours with the usual umask. */
function tidemark(dir: string, ...args: readonly string[]) {
  const line = commandLine([...args, '--json', '--data-dir', dir])
  const ran = Bun.spawnSync(['sh', '-c', `${USUAL_UMASK}; exec "$@"`, 'sh', ...line], {
    env: ENVIRONMENT,
  })
  return { exit_code: ran.exitCode, err: ran.stderr.toString() }
}

const start = (dir: string, rows: number) =>
  startServer({
    data_dir: dir,
    command: ['sh', '-c', `${USUAL_UMASK}; exec "$@"`, 'sh', ...commandLine([])],
    env: { ...ENVIRONMENT, TIDEMARK_SNAPSHOT_ROWS: String(rows) },
  })

const parquetFiles = (dir: string): number =>
  readdirSync(dir, { recursive: true }).filter((name) => String(name).endsWith('.parquet')).length

test('nothing that is stored, copied, exported or restored can be read by others', async () => {
  const server = await start(data_dir, 500)
  await sendBatches(server.url, makeBatches(3, 20), 4)
  while (parquetFiles(join(data_dir, 'files')) === 0) await Bun.sleep(20)
  await askHogQL(server.url, 'select event, count() from events group by event')
  const names = readdirSync(data_dir)
  expect(names.filter((name) => /\.db(-wal)?$/.test(name)).length).toBeGreaterThan(4)
  expect(openPaths(data_dir)).toEqual([])

  for (const [index, options] of [[], ['--copy']].entries()) {
    const backup = join(folder, `backup-${index}`)
    expect(tidemark(data_dir, 'backup', backup, ...options)).toEqual({ exit_code: 0, err: '' })
    expect(openPaths(backup)).toEqual([])
  }
  for (const format of ['jsonl', 'parquet']) {
    const to = join(folder, `export-${format}`)
    const args = ['export', '--project', '1', '--format', format, to]
    expect(tidemark(data_dir, ...args)).toMatchObject({ exit_code: 0 })
    expect(openPaths(to)).toEqual([])
    expect(tidemark(data_dir, 'import', '--project', '1', to)).toMatchObject({ exit_code: 0 })
  }
  expect(openPaths(data_dir)).toEqual([])
  expect(await server.stop()).toBe(0)
  expect(openPaths(data_dir)).toEqual([])
  expect(serverLog(data_dir)).not.toContain('rights of other users')
})

test('a backup that others may read is restored as a folder that they may not', () => {
  const backup = join(folder, 'backup-1')
  openAll(backup)
  const restored_dir = join(folder, 'restored')
  mkdirSync(restored_dir, { mode: 0o755 })
  expect(tidemark(restored_dir, 'restore', backup)).toEqual({ exit_code: 0, err: '' })
  expect(openPaths(restored_dir)).toEqual([])
})

test('a folder that others may read is closed to them at the next start, and the log says so', async () => {
  openAll(data_dir)
  const outside = join(folder, 'outside')
  writeFileSync(outside, '', { mode: 0o644 })
  symlinkSync(outside, join(data_dir, 'link'))
  expect(openPaths(data_dir).length).toBeGreaterThan(5)
  const server = await start(data_dir, 1_000_000)
  expect(openPaths(data_dir)).toEqual([])
  expect(lstatSync(outside).mode & 0o777).toBe(0o644)
  expect(await server.stop()).toBe(0)
  expect(serverLog(data_dir)).toMatch(/"changed":\d+,.*took the rights of other users/)
})

/** Gives a folder and all in it the rights that former versions gave. */
function openAll(dir: string): void {
  chmodSync(dir, 0o755)
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)
  }
}
