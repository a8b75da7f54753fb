/** Each pass turns its queries into the SQL of its case file, and that SQL gives the rows written there. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type NeededColumn, neededColumnName } from '../../src/column-names.ts'
import { compileHogQL } from '../../src/hogql/compile.ts'
import type { QueryReads } from '../../src/hogql/query-reads.ts'
import { withFormNames } from '../query/handwritten-sql.ts'
import { formatSQL, readPassCases } from './cases.ts'
import { CONTEXT, openWorld, type World } from './engine.ts'
import { insertRows } from './rows.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
  await insertRows(world)
  await world.connection.run('alter table all_events add column p_uuid ubigint')
})
afterAll(() => world.close())

/** Adds the property columns that a query reads, with the values that files would have. */
async function addColumns({ events }: QueryReads): Promise<void> {
  const columns = events.flatMap((macro) => macro.columns)
  for (const { kind, name } of columns) {
    const column = neededColumnName({ kind, name }) ?? ''
    const { type, value } = COLUMN_VALUES[kind]
    await world.connection.run(`
alter table all_events add column if not exists ${column} ${type};
update all_events set ${column} = ${value(`'/${name}'`)};`)
  }
}

const COLUMN_VALUES = {
  boolean: { type: 'boolean', value: (at) => `json_extract_string(properties, ${at}) = 'true'` },
  json: {
    type: 'varchar',
    value: (at) => `json_object(${at}[2:], json_extract(properties, ${at}))`,
  },
  number: {
    type: 'double',
    value: (at) => `try_cast(json_extract_string(properties, ${at}) as double)`,
  },
  text: { type: 'varchar', value: (at) => `json_extract_string(properties, ${at})` },
  // As in a file whose numbers are not all whole.
  whole_or_real: {
    type: 'double',
    value: (at) => `try_cast(json_extract_string(properties, ${at}) as double)`,
  },
} as const satisfies Record<
  NeededColumn['kind'],
  { readonly type: string; readonly value: (at: string) => string }
>

/** Files whose cases are compiled for events with property columns. */
const WITH_COLUMNS: ReadonlySet<string> = new Set([
  'materialize-late',
  'narrow-json-reads',
  'prefilter-uuids',
  'read-whole-numbers',
])

/** One file per pass and per line of REWRITES, and some for names and joins. */
const FILES = [
  'aliases',
  'fold-constants',
  'lower-functions',
  'materialize-late',
  'narrow-json-reads',
  'prefilter-uuids',
  'propagate-time-ranges',
  'prune-properties',
  'read-whole-numbers',
  'cast-output',
  'lift-lambda-captures',
  'lower-time-zones',
  'cohorts',
  'drop-date-clamps',
  'lower-comparisons',
  'count-from-manifest',
  'joins',
  'lower-limits',
  'lower-nan',
  'lower-null-safety',
  'order-inner-nulls',
  'lower-properties',
  'infer-time-ranges',
  'sessions',
  'append-totals',
  'expand-pivots',
  'fill-gaps',
  'loosen-group-keys',
  'remove-any-joins',
  'wrap-ties',
] as const

describe.each(FILES)('%s', (name) => {
  const timezone = name === 'lower-time-zones' ? 'Europe/Berlin' : CONTEXT.timezone
  const cases = readPassCases(name)
  test('has cases', () => {
    expect(cases.length).toBeGreaterThan(2)
  })

  test.each(cases.map((one) => [one.title, one] as const))('%s', async (_, one) => {
    const has_property_columns = WITH_COLUMNS.has(name)
    const compiled = compileHogQL(one.hogql, { ...CONTEXT, timezone, has_property_columns })
    expect(formatSQL(withFormNames(compiled.sql, compiled.reads))).toBe(one.sql)
    await addColumns(compiled.reads)
    expect(JSON.stringify(await world.run(compiled))).toBe(one.rows)
  })
})
