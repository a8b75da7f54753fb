/** Opening SQLite: migrations go forward only, damage is told instead of written to. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  migrate,
  openReader,
  openWriter,
  requireTrustedSqlite,
  requireUndamaged,
} from '../../../src/storage/sqlite/sqlite.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-sqlite-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const FIRST = { name: '0001', sql: 'create table a (x integer); create table b (y integer)' }
const SECOND = { name: '0002', sql: 'insert into a values (1); drop table b' }
const BROKEN = { name: '0002', sql: 'insert into a values (2); insert into missing values (1)' }

describe('migrate', () => {
  test('applies what a database lacks, once', () => {
    using db = openWriter(join(folder, 'x.db'))
    migrate(db, [FIRST])
    migrate(db, [FIRST, SECOND])
    migrate(db, [FIRST, SECOND])
    expect(db.query('select x from a').all()).toEqual([{ x: 1 }])
    expect(db.query('pragma user_version').get()).toEqual({ user_version: 2 })
  })

  test('leaves nothing of a migration that fails half-way', () => {
    using db = openWriter(join(folder, 'x.db'))
    migrate(db, [FIRST])
    expect(() => migrate(db, [FIRST, BROKEN])).toThrow('missing')
    expect(db.query('select x from a').all()).toEqual([])
    expect(db.query('pragma user_version').get()).toEqual({ user_version: 1 })
  })

  test('makes a new database whole or not at all', () => {
    using db = openWriter(join(folder, 'x.db'))
    expect(() => migrate(db, [FIRST, BROKEN])).toThrow('missing')
    expect(db.query('select name from sqlite_schema').all()).toEqual([])
    expect(db.query('pragma user_version').get()).toEqual({ user_version: 0 })
    migrate(db, [FIRST, SECOND])
    expect(db.query('select x from a').all()).toEqual([{ x: 1 }])
    expect(db.query('pragma user_version').get()).toEqual({ user_version: 2 })
  })

  test('refuses a database of a newer executable', () => {
    using db = openWriter(join(folder, 'x.db'))
    migrate(db, [FIRST, SECOND])
    expect(() => migrate(db, [FIRST])).toThrow('run a newer tidemark')
  })
})

describe('a database', () => {
  test('is written with every commit fsynced, and not at all by readers', () => {
    const path = join(folder, 'x.db')
    using writer = openWriter(path)
    migrate(writer, [FIRST])
    expect(writer.query('pragma journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(writer.query('pragma synchronous').get()).toEqual({ synchronous: 2 })
    using reader = openReader(path)
    expect(() => reader.run('insert into a values (1)')).toThrow('readonly')
  })

  test('that is damaged is named; a sound or a missing one is not', () => {
    const path = join(folder, 'x.db')
    {
      using db = openWriter(path)
      migrate(db, [FIRST])
      const insert = db.query('insert into a values (?)')
      db.transaction(() => {
        for (let x = 0; x < 20_000; x++) insert.run(x)
      })()
      db.run('pragma wal_checkpoint(truncate)')
    }
    requireUndamaged(path)
    requireUndamaged(join(folder, 'missing.db'))
    expect(existsSync(join(folder, 'missing.db'))).toBe(false)

    const bytes = readFileSync(path)
    bytes.fill(0xff, 3 * 4096, 6 * 4096)
    writeFileSync(path, bytes)
    expect(() => requireUndamaged(path)).toThrow(/x\.db is damaged .*restore it from a backup/)
    writeFileSync(path, 'this was a database once'.repeat(1000))
    expect(() => requireUndamaged(path)).toThrow(/x\.db is damaged/)
  })

  test('a page that cannot be read is no damage: a disk may fail for a moment', () => {
    const path = join(folder, 'x.db')
    using db = openWriter(path)
    db.run(`
    create table a (x integer primary key, y text);
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 200)
    insert into a select i, hex(zeroblob(500)) from n`)
    db.run('pragma wal_checkpoint(truncate)')
    db.run("update a set y = '' where x = 150")
    truncateSync(`${path}-wal`, 0)
    expect(() => requireUndamaged(path)).toThrow(/x\.db cannot be read .*error code=522/)
  })
})

test('the SQLite inside this Bun is trusted', () => {
  requireTrustedSqlite()
})
