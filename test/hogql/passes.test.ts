/** Each pass turns its queries into the SQL of its case file, and that SQL gives the rows written there. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { readPassCases } from './cases.ts'
import { CONTEXT, openWorld, type World } from './engine.ts'
import { insertRows } from './rows.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
  await insertRows(world)
})
afterAll(() => world.close())

const FILES = [
  'aliases',
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
    const compiled = compileHogQL(one.hogql, { ...CONTEXT, timezone })
    expect(compiled.sql).toBe(one.sql)
    expect(JSON.stringify(await world.run(compiled))).toBe(one.rows)
  })
})
