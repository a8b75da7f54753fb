/** Functions and whole queries still give what ClickHouse and we once agreed on. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { limitOf } from '../../long-tests.ts'
import { fillWorld } from '../../oracle/events.ts'
import { fewOrMany } from '../../random-runs.ts'
import { CONTEXT, openWorld, type World } from '../engine.ts'
import { normalForm } from './normal-form.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
  await fillWorld(world)
})
afterAll(() => world.close())

type Case = readonly [name: string, timezone: string, query: string, types: string, rows: string]

const CASES = readFileSync(new URL('../cases/oracle.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line): Case => {
    const [name = '', timezone = '', query = '', types = '', rows = ''] = line.split('\t')
    return [name, timezone, query, types, rows]
  })

test('cases are there', () => {
  expect(CASES.length).toBeGreaterThan(3000)
})

/** Every function is asked in every run, but only a twelfth of its cases; `EVERY_CASE=1` asks all, which takes 40 s. */
const STEP = fewOrMany(12, 1)

test.each(
  [...Map.groupBy(CASES, ([name]) => name)].map(([name, cases], at) => ({ name, cases, at })),
)(
  '$name',
  async ({ cases, at }) => {
    const asked = cases.filter((_, index) => index % STEP === at % Math.min(STEP, cases.length))
    expect(asked.length).toBeGreaterThan(0)
    for (const [, timezone, query, types, rows] of asked) {
      const compiled = compileHogQL(query, { ...CONTEXT, timezone })
      const answer = await world.run(compiled)
      const shown = JSON.stringify(answer.map((row) => row.map(normalForm)))
      expect({
        query,
        timezone,
        types: compiled.types.join(' '),
        rows: sameEmpty(shown),
      }).toEqual({
        query,
        timezone,
        types,
        rows,
      })
    }
  },
  limitOf(60_000),
)

/** An empty map and an empty array look alike in JSON, as do both nans. */
function sameEmpty(shown: string): string {
  return shown.replaceAll('{}', '[]').replaceAll('"-nan"', '"nan"')
}
