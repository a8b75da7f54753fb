/** A copied database is what the migrations make. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CONTROL_MIGRATIONS, EVENTS_MIGRATIONS } from '../src/storage/sqlite/sql-files.ts'
import { migrate, openWriter } from '../src/storage/sqlite/sqlite.ts'
import { copyFreshDatabase } from './fresh-databases.ts'

const IDS = { events: ['log_ids', 'log_id'], control: ['home', 'home_id'] } as const

test.each([
  ['events', EVENTS_MIGRATIONS],
  ['control', CONTROL_MIGRATIONS],
] as const)(
  '%s.db of a new folder is as after its migrations, with an id of its own',
  (name, migrations) => {
    const folders = [0, 1, 2].map(() => mkdtempSync(join(tmpdir(), 'tidemark-fresh-')))
    const [first = '', ...others] = folders
    const db = openWriter(join(first, `${name}.db`))
    migrate(db, migrations)
    db.close()
    for (const folder of others) copyFreshDatabase(name, folder)
    const readIn = (folder: string) => read(join(folder, `${name}.db`), IDS[name])
    const migrated = readIn(first)
    const copied = others.map(readIn)
    for (const { content } of copied) expect(content).toEqual(migrated.content)
    const ids = [migrated, ...copied].map(({ id }) => id)
    expect(ids).toEqual(folders.map(() => expect.stringMatching(/^[0-9a-f]{24}$/)))
    expect(new Set(ids).size).toBe(3)
    for (const folder of folders) rmSync(folder, { recursive: true })
  },
)

/** The schema, all settings that a file keeps, all rows, and the random id apart from them. */
function read(path: string, [table, column]: readonly [string, string]) {
  using db = new Database(path)
  const all = (sql: string): readonly unknown[] => db.query(sql).all()
  const schema = db.query<{ name: string; type: string }, []>('select * from sqlite_schema').all()
  const [id] = db.query<{ id: string }, []>(`select ${column} as id from ${table}`).all()
  db.run(`update ${table} set ${column} = ''`)
  const tables = schema.filter(({ type }) => type === 'table')
  const content = {
    schema,
    rows: tables.map((one) => [one.name, all(`select * from "${one.name}"`)]),
    pragmas: ['user_version', 'journal_mode', 'page_size', 'auto_vacuum', 'integrity_check'].map(
      (pragma) => all(`pragma ${pragma}`),
    ),
  }
  return { id: id?.id ?? '', content }
}
