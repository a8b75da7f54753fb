/** The catalog answers queries about itself, and says what its tables really give. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { NO_READS } from '../../src/hogql/query-reads.ts'
import { RESOURCE_NAMES } from '../../src/hogql/tables/resources.ts'
import { TABLES } from '../../src/hogql/tables/tables.ts'
import { CONTEXT, openWorld, type World } from './engine.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const everything = { limits: { rows_default: 10_000, rows_max: 10_000 } }

describe('system.information_schema', () => {
  test('tables names every table and itself', async () => {
    const rows = await world.ask(
      'select table_schema, table_name, table_type from system.information_schema.tables',
      everything,
    )
    expect(rows).toEqual([
      ...[...TABLES.keys()].map((name) => ['public', name, 'posthog']),
      ...RESOURCE_NAMES.map((name) =>
        name.startsWith('system.') ? ['system', name, 'system'] : ['public', name, 'posthog'],
      ),
      ['information_schema', 'tables', 'information_schema'],
      ['information_schema', 'columns', 'information_schema'],
      ['information_schema', 'relationships', 'information_schema'],
    ])
  })

  test('relationships lead from columns that are rows to the tables these come from', async () => {
    const rows = await world.ask(
      "select source_column, target_table, target_column from system.information_schema.relationships where source_table = 'events' and source_column in ('person', 'session', 'group_1') order by 1",
    )
    expect(rows).toEqual([
      ['group_1', 'groups', 'key'],
      ['person', 'persons', 'id'],
      ['session', 'sessions', 'session_id'],
    ])
  })

  test('columns tells order, type and whether there may be NULLs', async () => {
    const rows = await world.ask(
      "select column_name, data_type, is_nullable from system.information_schema.columns where table_name = 'persons' order by ordinal_position",
    )
    expect(rows).toEqual([
      ['id', 'UUID', 'NO'],
      ['created_at', 'DateTime', 'NO'],
      ['team_id', 'Integer', 'NO'],
      ['properties', 'JSON', 'NO'],
      ['is_identified', 'Boolean', 'NO'],
      ['pdi', 'Struct', 'YES'],
    ])
  })

  test('reads no relation of the engine, whichever table it tells of', () => {
    const text = 'select * from system.information_schema.columns as c where c.table_name != 1'
    expect(compileHogQL(text, CONTEXT).reads).toEqual(NO_READS)
  })

  test.each([...TABLES.keys(), ...RESOURCE_NAMES])(
    'every column of %s can be asked for',
    async (name) => {
      const listed = await world.ask(
        `select column_name from system.information_schema.columns where table_name = '${name}' and data_type != 'Struct'`,
      )
      const names = listed.map(([column]) => `\`${JSON.stringify(column).slice(1, -1)}\``)
      expect(names.length).toBeGreaterThan(1)
      expect(await world.ask(`select ${names.join(', ')} from ${name}`)).toEqual([])
    },
  )

  test('nothing else of a system is there', () => {
    for (const name of ['system.tables', 'information_schema.tables', 'system.information_schema'])
      expect(() => compileHogQL(`select * from ${name}`, CONTEXT)).toThrow('Unknown table')
  })
})
