/** The main thread's view of definitions: what the data thread has committed, read once. */
import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DefinitionReader } from '../../../src/storage/files/definition-reader.ts'
import { EVENTS_MIGRATIONS } from '../../../src/storage/sqlite/sql-files.ts'
import { migrate, openWriter } from '../../../src/storage/sqlite/sqlite.ts'

let folder = ''
let db: Database
let reader: DefinitionReader
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-definitions-'))
  db = openWriter(join(folder, 'events.db'))
  migrate(db, EVENTS_MIGRATIONS)
  reader = new DefinitionReader(folder)
})
afterEach(() => {
  reader.close()
  db.close()
  rmSync(folder, { recursive: true, force: true })
})

type Definition = readonly [kind: string, index: number, name: string, type: string | null]

function define(project_id: number, change: number, definitions: readonly Definition[]): void {
  const statement = db.prepare(
    `insert into property_definitions values (?, ?, ?, ?, ?, 0, 0, ?)
     on conflict do update set property_type = excluded.property_type, change = excluded.change`,
  )
  for (const definition of definitions) statement.run(project_id, ...definition, change)
}

describe('the types of properties', () => {
  test('are told under their owner and name, undetected ones not at all', () => {
    define(1, 1, [
      ['event', -1, 'price', 'Numeric'],
      ['person', -1, 'price', 'String'],
      ['group', 0, 'seats', 'Numeric'],
      ['event', -1, 'unknown', null],
    ])
    define(2, 2, [['event', -1, 'price', 'Boolean']])
    expect([...reader.propertyTypes(1)]).toEqual([
      ['event:price', 'Numeric'],
      ['group_0:seats', 'Numeric'],
      ['person:price', 'String'],
    ])
    expect([...reader.propertyTypes(3)]).toEqual([])
  })

  test('follow what is committed, and stay the same object while nothing changes', () => {
    define(1, 1, [
      ['event', -1, 'a', 'Numeric'],
      ['event', -1, 'b', null],
    ])
    const before = reader.propertyTypes(1)
    expect(reader.propertyTypes(1)).toBe(before)
    expect(reader.propertyTypes(3)).toBe(reader.propertyTypes(3))
    define(1, 2, [['event', -1, 'b', 'DateTime']])
    expect([...reader.propertyTypes(1)]).toEqual([
      ['event:a', 'Numeric'],
      ['event:b', 'DateTime'],
    ])
    expect([...before]).toEqual([['event:a', 'Numeric']])
  })
})
