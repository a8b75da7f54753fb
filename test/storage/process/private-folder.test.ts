/** Rights on a data folder, as a user who may not read all that is in it. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SOURCE = join(import.meta.dir, '../../../src/storage/process/private-folder.ts')
const NOBODY = 65_534
const IS_ROOT = process.getuid?.() === 0

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-private-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Tightens the folder in a process of its owner, who is not root. */
function tightenAsOwner(): string {
  const program = `
    const { tightenFolder } = await import('${SOURCE}')
    if (${IS_ROOT}) process.setuid(${NOBODY})
    console.log(JSON.stringify(tightenFolder('${folder}')))`
  const { stdout, stderr } = Bun.spawnSync([process.execPath, '-e', program])
  return stdout.toString() + stderr.toString()
}

test('the lost+found of a mounted disk, which only root can read, is left alone', () => {
  const lost = join(folder, 'lost+found')
  const data = join(folder, 'files', '1')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  writeFileSync(join(data, 'a.parquet'), '', { mode: 0o644 })
  if (IS_ROOT)
    for (const path of [folder, join(folder, 'files'), data, join(data, 'a.parquet')])
      chownSync(path, NOBODY, NOBODY)
  mkdirSync(lost)
  chmodSync(lost, IS_ROOT ? 0o700 : 0)

  expect(JSON.parse(tightenAsOwner())).toEqual({ changed: 1, kept: [] })
  expect(statSync(join(data, 'a.parquet')).mode & 0o777).toBe(0o600)
  chmodSync(lost, 0o700)
})
