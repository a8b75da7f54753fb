/** Which of SQLite's errors mean "later", "never again" or "a bug": told from real ones. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { faultOf } from '../../../src/ingest/threads/storage-faults.ts'

const errorOf = (work: () => void): unknown => {
  try {
    work()
    return null
  } catch (error) {
    return error
  }
}

test('faultOf tells storage that is unavailable, damaged storage and other errors apart', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-faults-'))
  const path = join(folder, 'x.db')
  const db = new Database(path)
  db.run('create table t (a integer unique) strict')

  db.run('pragma max_page_count = 3')
  const full = errorOf(() => {
    for (;;) db.run('insert into t select random() from (values (1), (2), (3), (4), (5), (6))')
  })
  expect([String(full), faultOf(full)]).toEqual([expect.stringContaining('full'), 'unavailable'])

  const other = new Database(path)
  db.run('begin immediate')
  expect(faultOf(errorOf(() => other.run('begin immediate')))).toBe('unavailable')
  db.run('rollback')

  const reader = new Database(path, { readonly: true })
  expect(faultOf(errorOf(() => reader.run('delete from t')))).toBe('unavailable')

  expect(faultOf(errorOf(() => db.run("insert into t values ('text')")))).toBeNull()
  expect(faultOf(errorOf(() => db.run('select from')))).toBeNull()
  expect(faultOf(new Error('SQLITE_FULL'))).toBeNull()
  for (const open of [db, other, reader]) open.close(true)

  writeFileSync(path, 'this is no database, and long enough to be looked at as one'.repeat(100))
  const text = new Database(path)
  expect(faultOf(errorOf(() => text.run('select * from t')))).toBe('damaged')
  text.close(true)
  rmSync(folder, { recursive: true })
})
