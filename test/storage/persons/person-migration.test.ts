/** Folders from before persons had row ids: opened again, they hold the same. */
import type { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventLog } from '../../../src/storage/log/event-log.ts'
import { PersonStore, propertiesOf } from '../../../src/storage/persons/person-store.ts'
import { EVENTS_MIGRATIONS } from '../../../src/storage/sqlite/sql-files.ts'
import { migrate, openWriter } from '../../../src/storage/sqlite/sqlite.ts'

const TABLES = ['persons', 'groups'] as const
/** The step that gave them row ids. */
const STEP = EVENTS_MIGRATIONS.findIndex(({ name }) => name === '0010_rows_of_people')

const rowsOf = (db: Database) =>
  TABLES.map((table) => db.query(`select * from ${table} order by 1, 2, 3`).all())

test('persons and groups of an older folder are all there, and can be changed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-rows-'))
  const old = openWriter(join(folder, 'events.db'))
  migrate(old, EVENTS_MIGRATIONS.slice(0, STEP))
  const id = (number: number) => new Uint8Array(16).fill(number)
  for (const number of [3, 1, 2]) {
    old
      .query('insert into persons values (1, ?, 10, ?, ?, 4, ?, ?)')
      .run(id(number), `{"n":${number},"t":"Zürich"}`, number % 2, number === 2 ? 1 : 0, number)
    old
      .query('insert into groups values (1, 0, ?, 10, 11, ?, ?)')
      .run(`key ${number}`, `{"n":${number}}`, number)
  }
  old
    .query(
      "insert into distinct_ids (project_id, distinct_id, person_id, version, change) values (1, 'u', ?, 0, 1)",
    )
    .run(id(3))
  const before = rowsOf(old)
  old.close(true)
  const log = new EventLog(folder)
  const [persons_before = [], groups_before = []] = before
  const kept = groups_before.map((group) => Object.assign({}, group, { is_deleted: 0 }))
  expect(rowsOf(log.db)).toEqual([persons_before, kept])
  const indexes = log.db
    .query<{ name: string }, []>(
      "select name from sqlite_master where type = 'index' and name like '%_by_change' and tbl_name in ('persons', 'groups') order by 1",
    )
    .all()
  expect(indexes.map(({ name }) => name)).toEqual(['groups_by_change', 'persons_by_change'])
  const persons = new PersonStore(log)
  const person = persons.find(1, 'u')
  expect(person && propertiesOf(person)).toEqual({ n: 3, t: 'Zürich' })
  log.close()
  rmSync(folder, { recursive: true })
})
