/** Each pass turns its queries into the SQL of its case file, and that SQL gives the rows written there. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { formatSQL, readPassCases } from './cases.ts'
import { CONTEXT, openWorld, type World } from './engine.ts'
import { insertRows } from './rows.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
  await insertRows(world)
  await world.connection.run(COLUMNS)
})
afterAll(() => world.close())

/** Property columns as Parquet files have them; the engine's name is `p_` and the property's name in hexadecimal digits. */
const PROPERTY_COLUMNS = new Map([
  ['text:$browser', 'p_2462726f77736572'],
  ['number:price', 'p_n_7072696365'],
  ['json:tags', 'p_74616773'],
] as const)
const COLUMNS = `
alter table all_events add column p_uuid ubigint;
alter table all_events add column p_2462726f77736572 varchar;
alter table all_events add column p_n_7072696365 double;
alter table all_events add column p_74616773 varchar;
update all_events set
  p_2462726f77736572 = json_extract_string(properties, '/$browser'),
  p_n_7072696365 = try_cast(json_extract_string(properties, '/price') as double),
  p_74616773 = json_object('tags', json_extract(properties, '/tags'));`

/** Files whose cases are compiled for events with property columns. */
const WITH_COLUMNS: ReadonlySet<string> = new Set([
  'materialize-late',
  'narrow-json-reads',
  'prefilter-uuids',
])

/** One file per pass, and some for clauses that the resolver rewrites. */
const FILES = [
  'aliases',
  'fold-constants',
  'lower-functions',
  'materialize-late',
  'narrow-json-reads',
  'prefilter-uuids',
  'propagate-time-ranges',
  'prune-properties',
  'cast-output',
  'lift-lambda-captures',
  'lower-time-zones',
  'cohorts',
  'lower-comparisons',
  'count-from-manifest',
  'fills',
  'joins',
  'lower-limits',
  'lower-nan',
  'lower-null-safety',
  'lower-properties',
  'infer-time-ranges',
  'sessions',
  'pivots',
] as const

describe.each(FILES)('%s', (name) => {
  const timezone = name === 'lower-time-zones' ? 'Europe/Berlin' : CONTEXT.timezone
  const cases = readPassCases(name)
  test('has cases', () => {
    expect(cases.length).toBeGreaterThan(2)
  })

  test.each(cases.map((one) => [one.title, one] as const))('%s', async (_, one) => {
    const columns = WITH_COLUMNS.has(name) ? { property_columns: PROPERTY_COLUMNS } : {}
    const compiled = compileHogQL(one.hogql, { ...CONTEXT, timezone, ...columns })
    expect(formatSQL(compiled.sql)).toBe(one.sql)
    expect(JSON.stringify(await world.run(compiled))).toBe(one.rows)
  })
})
