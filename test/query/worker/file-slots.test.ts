/** Slots of a locked instance: files are linked in, and stay for the queries that began with them. */
import { describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileSlots, SlotsFull } from '../../../src/query/worker/file-slots.ts'
import { filePath } from '../../../src/storage/files/parquet.ts'
import type { FileRow } from '../../../src/storage/log/event-log.ts'

describe('file slots', () => {
  test('give each file one of the paths that were told, and are full at the end', () => {
    using setting = createSetting(['a', 'b', 'c'])
    const slots = new FileSlots(setting.data_dir, setting.folder, 2)
    const told = slots.allPaths()
    expect(told).toHaveLength(2)
    const [a, b, c] = setting.files
    expect(told).toContain(slots.pathOf(a))
    expect(slots.pathOf(a)).toBe(slots.pathOf(a))
    expect(slots.pathOf(b)).not.toBe(slots.pathOf(a))
    expect(readFileSync(slots.pathOf(b), 'utf8')).toBe('b')
    expect(() => slots.pathOf(c)).toThrow(SlotsFull)
  })

  test('keep a replaced file for those who began with it, and only as long', () => {
    using setting = createSetting(['old', 'new'])
    const slots = new FileSlots(setting.data_dir, setting.folder, 10)
    const [old, next] = setting.files
    const path = slots.pathOf(old)
    const releaseFirst = slots.hold()
    slots.pathOf(next)
    slots.retireOthers([next])
    const releaseSecond = slots.hold()
    rmSync(filePath(setting.data_dir, old))
    expect(readFileSync(path, 'utf8')).toBe('old')
    releaseSecond()
    expect(existsSync(path)).toBe(true)
    releaseFirst()
    expect(existsSync(path)).toBe(false)
    expect(existsSync(slots.pathOf(next))).toBe(true)
  })

  test('drop a replaced file at once when nobody reads', () => {
    using setting = createSetting(['old'])
    const slots = new FileSlots(setting.data_dir, setting.folder, 10)
    const [old] = setting.files
    const path = slots.pathOf(old)
    slots.hold()()
    slots.retireOthers([])
    expect(existsSync(path)).toBe(false)
  })
})

/** A data folder with files that hold their own name. */
function createSetting(names: readonly string[]) {
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-test-'))
  const folder = join(data_dir, 'tmp')
  mkdirSync(folder)
  mkdirSync(join(data_dir, 'files', '1'), { recursive: true })
  const files = names.map((id) => {
    const file = fileRow(id)
    writeFileSync(filePath(data_dir, file), id)
    return file
  })
  return {
    data_dir,
    folder,
    files: files as unknown as readonly [FileRow, FileRow, FileRow],
    [Symbol.dispose]: () => rmSync(data_dir, { recursive: true, force: true }),
  }
}

function fileRow(id: string): FileRow {
  return {
    id,
    project_id: 1,
    month: '2024-03',
    first_seq: 1,
    last_seq: 1,
    row_count: 1,
    byte_count: id.length,
    sha256: '',
    min_timestamp: 0,
    max_timestamp: 0,
    created_at: 0,
    columns: '[]',
    layout: 'whole',
    own: '',
  }
}
