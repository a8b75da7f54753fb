/** A start cleans the data folder, as a user who may not delete all that is in it. */
import { expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventLog } from '../../src/storage/log/event-log.ts'

const SOURCE = join(import.meta.dir, '../../src/snapshots/sweep.ts')
const NOBODY = 65_534
const IS_ROOT = process.getuid?.() === 0

test('what a killed backup of root left there keeps no server from starting', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-sweep-'))
  const left = join(folder, 'tmp', 'backup')
  try {
    new EventLog(folder).close()
    mkdirSync(left, { recursive: true })
    writeFileSync(join(left, 'control.db'), '')
    writeFileSync(join(folder, 'tmp', 'half.parquet'), '')
    const own = [folder, join(folder, 'tmp'), ...listDatabases(folder)]
    if (IS_ROOT) for (const path of own) chownSync(path, NOBODY, NOBODY)
    chmodSync(left, IS_ROOT ? 0o700 : 0)

    const program = `
      const { sweepDataFolder } = await import('${SOURCE}')
      if (${IS_ROOT}) process.setuid(${NOBODY})
      console.log(JSON.stringify(sweepDataFolder('${folder}')))`
    const { stdout, stderr } = Bun.spawnSync([process.execPath, '-e', program])
    expect(stdout.toString() + stderr.toString()).toBe('{"damaged":[]}\n')
    expect(readdirSync(join(folder, 'tmp'))).toEqual(['backup'])
  } finally {
    chmodSync(left, 0o700)
    rmSync(folder, { recursive: true, force: true })
  }
})

const listDatabases = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith('events.db'))
    .map((name) => join(folder, name))
