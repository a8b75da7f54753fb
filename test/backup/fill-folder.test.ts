/** Folders that are filled: whole, or marked as not whole, or as they were before. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { takeBackup } from '../../src/backup/backup.ts'
import { exportProject } from '../../src/backup/export.ts'
import { fillFolder } from '../../src/backup/fill-folder.ts'
import { listImportFiles } from '../../src/backup/import-files.ts'
import { restoreBackup } from '../../src/backup/restore.ts'
import { openControl } from '../../src/storage/control/control-db.ts'
import { isIncomplete, UNFINISHED_MARK } from '../../src/storage/process/incomplete-marker.ts'
import { takeLock } from '../../src/storage/process/lock.ts'
import { World } from '../query/world.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-fill-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** What a kill in the midst of filling leaves. */
function leaveUnfinished(name: string): string {
  const left = join(folder, name)
  mkdirSync(join(left, 'files'), { recursive: true })
  for (const path of [UNFINISHED_MARK, 'events.db', 'files/old.parquet', 'persons.jsonl']) {
    writeFileSync(join(left, path), 'half')
  }
  return left
}

test('a folder is marked while it is filled, and not when it is whole', async () => {
  const place = join(folder, 'new')
  await fillFolder(place, async () => {
    expect(isIncomplete(place)).toBe(true)
    writeFileSync(join(place, 'data'), 'whole')
  })
  expect(readdirSync(place)).toEqual(['data'])
})

test.each([
  ['that was not there', false, []],
  ['that was there', true, []],
  ['where a disk is mounted', true, ['lost+found']],
])('what fails leaves a folder %s as it was', async (_, is_there, names) => {
  const place = join(folder, 'place')
  if (is_there) mkdirSync(place)
  for (const name of names) mkdirSync(join(place, name))
  const filling = fillFolder(place, async () => {
    writeFileSync(join(place, 'data'), 'half')
    throw new Error('cut off')
  })
  expect(await filling.catch((error: Error) => error.message)).toBe('cut off')
  expect(existsSync(place)).toBe(is_there)
  if (is_there) expect(readdirSync(place)).toEqual([...names])
})

test('a folder that another one fills just now is not touched, and one that was cut off is begun anew', async () => {
  const place = join(folder, 'a', 'b')
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = fillFolder(place, () => promise)
  writeFileSync(join(place, 'data'), 'half')
  const second = fillFolder(place, async () => undefined)
  const fault = await second.catch((error: Error) => error.message)
  expect(fault).toBe(`${place} is being filled by process ${process.pid}: wait until it is done`)
  expect(readdirSync(place).toSorted()).toEqual(['data', UNFINISHED_MARK])
  resolve()
  await first
  expect(readdirSync(place)).toEqual(['data'])

  const cut = join(folder, 'cut')
  const script = `
import { fillFolder } from ${JSON.stringify(join(import.meta.dir, '../../src/backup/fill-folder.ts'))}
await fillFolder(${JSON.stringify(cut)}, () => process.kill(process.pid, 'SIGKILL'))`
  Bun.spawnSync([process.execPath, '-e', script])
  expect(isIncomplete(cut)).toBe(true)
  await fillFolder(cut, async () => undefined)
  expect(readdirSync(cut)).toEqual([])
})

test('a folder with anything in it is not touched', async () => {
  writeFileSync(join(folder, 'mine'), 'precious')
  const filling = fillFolder(folder, async () => undefined)
  expect(await filling.catch((error: Error) => error.message)).toContain('is not empty')
  expect(readdirSync(folder)).toEqual(['mine'])
})

test('backups, restores and exports that were cut off are begun anew, and nobody takes them for whole', async () => {
  await using world = new World()
  world.send({}, {})
  openControl(world.data_dir).close()
  const { data_dir } = world

  const backup = leaveUnfinished('backup')
  const restored = leaveUnfinished('restored')
  const exported = leaveUnfinished('exported')
  expect(() => takeLock(restored, 1, new Date())).toThrow('its restore was cut off')
  expect(() => listImportFiles([exported])).toThrow('is an export that was cut off')
  const refused = await restoreBackup(backup, restored).catch((error: Error) => error.message)
  expect(refused).toContain('is not a complete backup')

  expect(
    await takeBackup({ data_dir, folder: backup, is_copied: false }, new Date()),
  ).toMatchObject({ last_seq: 2 })
  await restoreBackup(backup, restored)
  expect(readdirSync(restored).toSorted()).toEqual(['control.db', 'events.db'])
  takeLock(restored, 1, new Date()).release()
  const how = { data_dir: restored, folder: exported, project_id: 1, format: 'jsonl' } as const
  expect(await exportProject({ ...how, onProgress: () => undefined })).toMatchObject({ events: 2 })
  expect(readdirSync(exported).toSorted()).toEqual(['events-2024-03.jsonl', 'persons.jsonl'])
  expect(listImportFiles([exported])).toHaveLength(2)
}, 60_000)
