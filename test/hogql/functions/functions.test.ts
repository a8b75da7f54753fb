/** Functions and whole queries give what ClickHouse gives, value and type. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { readTable } from '../cases.ts'
import { CONTEXT, openWorld, type World } from '../engine.ts'
import { normalForm } from './normal-form.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const FUNCTION_CASES = readTable('functions')
const QUERY_CASES = readTable('queries')

describe('functions', () => {
  test('cases are there', () => {
    expect(FUNCTION_CASES.length).toBeGreaterThan(800)
    expect(QUERY_CASES.length).toBeGreaterThan(80)
  })

  test.each(FUNCTION_CASES)('%s', async (expression, types, value) => {
    const compiled = compileHogQL(`select ${expression}`, CONTEXT)
    const [row] = await world.run(compiled)
    expect(JSON.stringify(normalForm(row?.[0] ?? null))).toBe(value)
    expect(compiled.types.join(' ')).toBe(types)
  })
})

describe('whole queries', () => {
  test.each(QUERY_CASES)('%s', async (query, types, rows) => {
    const compiled = compileHogQL(query, CONTEXT)
    const answer = await world.run(compiled)
    expect(JSON.stringify(answer.map((row) => row.map(normalForm)))).toBe(rows)
    expect(compiled.types.join(' ')).toBe(types)
  })
})
