/** Outlines: people who answer alike are evaluated together, and nobody gets another answer for it. */
import { heapStats } from 'bun:jsc'
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { ResultCache } from '../../../src/flags/decision-cache/result-cache.ts'
import type { CompiledFlags } from '../../../src/flags/definition.ts'
import { evaluateFlags } from '../../../src/flags/evaluate.ts'
import { OPERATORS } from '../../../src/flags/operators/operators.ts'
import type { FlagPerson } from '../../../src/flags/subject.ts'
import { Work } from '../../../src/flags/work.ts'
import { randomRuns } from '../../random-runs.ts'
import { decideText, makeCohort, makeDefinitions, makeFlag, makePerson, NOW } from '../make.ts'

const plainly = (definitions: CompiledFlags, person: FlagPerson) =>
  evaluateFlags({ ...definitions, decision_tables: null }, person)

const KEYS = ['plan', 'age', 'since', 'version', 'distinct_id', 'toString', '__proto__']

const value = fc.oneof(
  fc.constantFrom('pro', 'free', 'PRO', 'true', '', '30', '2026-05-01', '1.2.3', '-7d', 'person-3'),
  fc.constantFrom<unknown>(true, false, null, 0, 30, -1.5, ['pro', 'free'], [], { a: 1 }),
)
const operators = OPERATORS.map(({ name }) => name)
const filter = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      key: fc.constantFrom(...KEYS),
      operator: fc.constantFrom(...operators, 'unknown'),
      value,
      type: fc.constantFrom('person', 'person', 'person', 'group'),
      group_type_index: fc.constant(0),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ key: 'id', type: 'cohort', value: 1 }) },
  { weight: 1, arbitrary: fc.constant({ key: 'flag-0', type: 'flag', value: true }) },
)
const group = fc.record({
  properties: fc.array(filter, { maxLength: 3 }),
  rollout_percentage: fc.constantFrom(null, 0, 10, 50, 99.5, 100),
  variant: fc.constantFrom(null, 'b', 'none'),
})
const variants = ['a', 'b'].map((key) => ({ key, rollout_percentage: 40 }))
const flag = fc.record({
  filters: fc.record({
    groups: fc.array(group, { maxLength: 3 }),
    multivariate: fc.constantFrom(null, { variants }),
    payloads: fc.constantFrom({}, { true: '1', b: '2' }),
    early_exit: fc.boolean(),
    super_groups: fc.constantFrom(null, null, null, [{ properties: [], rollout_percentage: 30 }]),
    holdout: fc.constantFrom(null, null, null, { id: 7, exclusion_percentage: 20 }),
    aggregation_group_type_index: fc.constantFrom(null, null, null, 0),
  }),
  active: fc.constantFrom(true, true, true, false),
  ensure_experience_continuity: fc.constantFrom(false, false, true),
})
const properties = fc.dictionary(fc.constantFrom(...KEYS), value, { maxKeys: 5 })

/** Kept over all runs, so that people of one name are asked about in many projects. */
const kept_over_runs = new ResultCache()

describe('an outline', () => {
  test('gives everybody what evaluating flag by flag gives', () => {
    fc.assert(
      fc.property(
        fc.array(flag, { minLength: 1, maxLength: 6 }),
        fc.array(properties, { minLength: 1, maxLength: 12 }),
        (flags, people) => {
          const definitions = makeDefinitions(
            flags.map((one, index) => makeFlag({ key: `flag-${index}`, ...one })),
            {
              cohorts: [makeCohort(1, { type: 'AND', values: [{ key: 'plan', value: 'pro' }] })],
              group_types: [{ group_type: 'company', group_type_index: 0 }],
            },
          )
          people.forEach((person_properties, number) => {
            const person = makePerson({
              distinct_id: `person-${number}`,
              person_properties,
              groups: { company: 'acme' },
              group_properties: { company: { plan: 'pro' } },
              overrides: new Map([['flag-1', 'before']]),
              now: NOW + number * 86_400_000,
            })
            const wanted = plainly(definitions, person)
            const plain = evaluateFlags(definitions, person)
            expect([plain.results, plain.bugs]).toEqual([wanted.results, wanted.bugs])
            const remembering = { ...definitions, result_cache: kept_over_runs }
            for (const time of ['first', 'again']) {
              const kept = evaluateFlags(remembering, person)
              expect([time, kept.results, kept.has_errors]).toEqual([
                time,
                wanted.results,
                wanted.has_errors,
              ])
              expect(decideText(kept, 3)).toBe(decideText(wanted, 3))
            }
          })
        },
      ),
      randomRuns(80),
    )
  })

  const asking = (operator: string, count: number) =>
    makeDefinitions(
      Array.from({ length: count }, (_, number) =>
        makeFlag({
          key: `flag-${number}`,
          filters: {
            groups: [{ properties: [{ key: 'age', operator, value: String(number) }] }],
          },
        }),
      ),
    )

  test('changes with the clock where a filter looks at it', () => {
    const definitions = makeDefinitions([
      makeFlag({
        key: 'new',
        filters: {
          groups: [{ properties: [{ key: 'since', operator: 'is_date_after', value: '-7d' }] }],
        },
      }),
    ])
    const at = (now: number) =>
      evaluateFlags(
        definitions,
        makePerson({ now, person_properties: { since: '2026-05-10T12:00:00Z' } }),
      ).results[0]?.enabled
    const then = NOW + 2 * 86_400_000
    expect([at(NOW), at(then - 1), at(then), at(NOW)]).toEqual([true, true, false, true])
  })

  test.each([
    ['too many classes of one property', 'exact', 600],
    ['values that never come back', 'gt', 3],
  ])('is as good with %s', (_what, operator, count) => {
    const definitions = asking(operator, count)
    for (let age = 0; age < 2500; age += 1) {
      const person = makePerson({ person_properties: { age } })
      const { results } = evaluateFlags(definitions, person)
      if (age % 50 === 0 || age < count) {
        expect(results).toEqual([...plainly(definitions, person).results])
      }
    }
  })

  test('is as good where hardly two people answer alike', () => {
    const definitions = makeDefinitions(
      ['a', 'b', 'c'].map((key) =>
        makeFlag({
          key,
          filters: {
            groups: Array.from({ length: 20 }, (_, number) => ({
              properties: [{ key, operator: 'exact', value: String(number) }],
              rollout_percentage: 50,
            })),
          },
        }),
      ),
    )
    for (let number = 0; number < 8000; number += 1) {
      const person_properties = { a: number % 20, b: (number >> 3) % 20, c: (number >> 6) % 20 }
      const person = makePerson({ distinct_id: `p${number}`, person_properties })
      const { results } = evaluateFlags(definitions, person)
      if (number % 40 === 0) expect(results).toEqual([...plainly(definitions, person).results])
    }
  })

  test('tells apart what lies below, on and above every bound, whenever it is asked', () => {
    const day_ms = 86_400_000
    const dates = ['-1d', '-24h', '-2d', '-1w', '-1m', '-1y', '2026-05-01', 'never']
    const asked = fc.oneof(
      fc.record({
        operator: fc.constantFrom('gt', 'gte', 'lt', 'lte'),
        value: fc.constantFrom<unknown>(0, '1', 1.5, '1e3', -2, 'many', null),
      }),
      fc.record({
        operator: fc.constantFrom('is_date_exact', 'is_date_before', 'is_date_after'),
        value: fc.constantFrom<unknown>(...dates, 1, null),
      }),
      fc.record({ operator: fc.constantFrom('exact', 'is_not_set'), value: fc.constant('1') }),
    )
    const moments = [0, 1, 1.5, 2, 7, 30, 365].map((days) => NOW - days * day_ms)
    const own = fc.oneof(
      fc.constantFrom<unknown>(undefined, null, 0, '1', 1.5, 2, '1000', -3, 'x', '2026-05-01'),
      fc.constantFrom(...moments).map((ms) => new Date(ms).toISOString()),
      fc.constantFrom(...moments).map((ms) => ms / 1000),
    )
    const asking_at = fc.tuple(own, fc.constantFrom(0, 1, -1, day_ms, -day_ms, 31 * day_ms))
    const law = fc.property(
      fc.array(asked, { minLength: 1, maxLength: 12 }),
      fc.array(asking_at, { minLength: 1, maxLength: 12 }),
      (filters, askings) => {
        const definitions = makeDefinitions(
          filters.map((one, index) =>
            makeFlag({
              key: `flag-${index}`,
              filters: { groups: [{ properties: [{ key: 'x', type: 'person', ...one }] }] },
            }),
          ),
        )
        for (const [x, later_ms] of askings) {
          const person_properties = x === undefined ? {} : { x }
          const person = makePerson({ person_properties, now: NOW + later_ms })
          expect(evaluateFlags(definitions, person).results).toEqual([
            ...plainly(definitions, person).results,
          ])
        }
      },
    )
    fc.assert(law, randomRuns(80))
  })

  test('is result_cache for those who ask again, of a bounded number of people', () => {
    const result_cache = new ResultCache()
    const definitions = { ...asking('gt', 50), result_cache }
    const person = (number: number) => makePerson({ distinct_id: `p${number}` })
    const outline = definitions.decision_tables?.find({}, 'p0', NOW, new Work())
    if (!outline) throw new Error('these flags have an outline')
    const isKnown = () => result_cache.find('p0', outline) !== null
    const first = evaluateFlags(definitions, person(0)).results
    expect(isKnown()).toBe(false)
    expect(evaluateFlags(definitions, person(0)).results).toEqual(first)
    expect(isKnown()).toBe(true)
    expect(evaluateFlags(definitions, person(0)).results).toEqual(first)
    for (let number = 1; number < 140_000; number += 1) {
      result_cache.keep(`p${number}`, outline, '')
      result_cache.keep(`p${number}`, outline, '')
    }
    expect(isKnown()).toBe(false)
    expect(evaluateFlags(definitions, person(0)).results).toEqual(first)
  })

  test('is not kept of people who do not come back, however many they are', () => {
    const result_cache = new ResultCache()
    const outline = asking('gt', 50).decision_tables?.find({}, 'p0', NOW, new Work())
    if (!outline) throw new Error('these flags have an outline')
    result_cache.keep('p0', outline, 'a')
    result_cache.keep('p0', outline, 'a')
    for (let number = 1; number < 250_000; number += 1) result_cache.keep(`p${number}`, outline, '')
    expect(result_cache.find('p0', outline)).toBe('a')
  })
})

test('persons with a value that is too long leave nothing behind', () => {
  const letters = Array.from('abcdefghijklmn')
  const flagOf = (key: string, operator: string) =>
    makeFlag({
      id: key.charCodeAt(0),
      key,
      filters: { groups: [{ properties: [{ key, type: 'person', operator, value: 'x' }] }] },
    })
  const flags = [...letters.map((key) => flagOf(key, 'exact')), flagOf('z', 'icontains')]
  const definitions = makeDefinitions(flags)
  const too_long = Array.from({ length: 10_001 }, () => 1)
  const evaluateSome = (count: number): void => {
    for (let number = 0; number < count; number += 1) {
      const answers = letters.map((key, bit) => [key, (number >> bit) & 1 ? 'x' : 'y'] as const)
      const person_properties = { ...Object.fromEntries(answers), z: too_long }
      const { has_errors } = evaluateFlags(definitions, makePerson({ person_properties }))
      expect(has_errors).toBe(true)
    }
    Bun.gc(true)
  }
  evaluateSome(100)
  const before = heapStats().objectCount
  evaluateSome(2000)
  expect(heapStats().objectCount - before).toBeLessThan(1000)
})
