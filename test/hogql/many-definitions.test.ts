/** Queries of a project with thousands of cohorts: each is named as if it were the only one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { array, assert, constantFrom, property, string } from 'fast-check'
import { compileHogQL } from '../../src/hogql/compile.ts'
import type { CohortReference } from '../../src/hogql/context.ts'
import { nearestName } from '../../src/hogql/resolve/refusals.ts'
import { randomRuns } from '../random-runs.ts'
import { CONTEXT, openWorld, type World } from './engine.ts'

const COHORTS: readonly CohortReference[] = Array.from({ length: 20_000 }, (_, index) => ({
  id: index + 1,
  name: `cohort ${index + 1}`,
  is_static: index % 2 === 0,
}))
const MANY = { cohorts: () => COHORTS }

const person = (number: number): string => `00000000-0000-4000-8000-00000000000${number}`

let world: World
beforeAll(async () => {
  world = await openWorld()
  await world.connection.run(`insert into all_persons values
    (1, '${person(1)}', '2024-01-01', '{}', false, 0), (1, '${person(2)}', '2024-01-01', '{}', false, 0)`)
  // Number 30,000 was deleted.
  await world.connection.run(`insert into all_cohort_people values
    (1, '${person(1)}', 7), (1, '${person(2)}', 8), (1, '${person(2)}', 30000)`)
})
afterAll(() => world.close())

describe('of twenty thousand cohorts', () => {
  test('one is named by its id or its name', async () => {
    const ids = (named: string) =>
      world.ask(`select id from persons where id in cohort ${named}`, MANY)
    expect(await ids('7')).toEqual([[person(1)]])
    expect(await ids("'cohort 8'")).toEqual([[person(2)]])
    expect(await ids('30')).toEqual([])
  })

  test('the tables of members have those of each kind, without deleted ones', async () => {
    const rows = (table: string) => world.ask(`select cohort_id from ${table}`, MANY)
    expect(await rows('static_cohort_people')).toEqual([['7']])
    expect(await rows('cohort_people')).toEqual([['8']])
  })

  test('an unknown one is refused with a name that is near', () => {
    const compile = () =>
      compileHogQL("select 1 from persons where id in cohort 'cohrt 2'", { ...CONTEXT, ...MANY })
    expect(compile).toThrow("'cohrt 2'. Perhaps you meant 'cohort 2'?")
  })
})

/** The distance by the definition, without any bound. */
function distanceOf(left: string, right: string): number {
  const cells = Array.from({ length: left.length + 1 }, (_, i) =>
    Array.from({ length: right.length + 1 }, (__, j) => (i === 0 ? j : j === 0 ? i : 0)),
  )
  const at = (i: number, j: number): number => cells[i]?.[j] ?? 0
  for (let i = 1; i <= left.length; i += 1) {
    for (let j = 1; j <= right.length; j += 1) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1
      const is_swapped =
        i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]
      const swapped = is_swapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY
      const row = cells[i] ?? []
      row[j] = Math.min(at(i - 1, j - 1) + same, at(i - 1, j) + 1, at(i, j - 1) + 1, swapped)
    }
  }
  return at(left.length, right.length)
}

test('the nearest name is the first of those at the least distance', () => {
  const name = array(constantFrom('a', 'b', 'c', 'd'), { maxLength: 9 }).map((letters) =>
    letters.join(''),
  )
  assert(
    property(name, array(name, { maxLength: 12 }), (wrong, names) => {
      const allowed = Math.min(Math.max(1, Math.floor(wrong.length / 3)), wrong.length - 1)
      const distances = names.map((one) => distanceOf(wrong, one))
      const least = Math.min(...distances)
      const nearest = least <= allowed ? (names[distances.indexOf(least)] ?? null) : null
      expect(nearestName(wrong, names)).toBe(nearest)
    }),
    randomRuns(80),
  )
})

test('a name of any length among many of the same length is looked for within a budget', () => {
  assert(
    property(string({ minLength: 64, maxLength: 64 }), (wrong) => {
      const names = Array.from({ length: 100_000 }, (_, index) => String(index).padEnd(64, 'x'))
      expect(nearestName(wrong, [wrong, ...names])).toBe(wrong)
      expect(nearestName(wrong, [...names, wrong])).toBeOneOf([null, names[0] ?? '', wrong])
    }),
    { numRuns: 1 },
  )
})
