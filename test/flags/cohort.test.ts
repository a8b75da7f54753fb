/** Cohorts in flags: lists of people, trees of filters, nested and negated, and the damaged ones. */
import { describe, expect, test } from 'bun:test'
import type { StoredCohort } from '../../src/flags/definition-types.ts'
import { evaluateFlags } from '../../src/flags/evaluate.ts'
import type { FlagPerson } from '../../src/flags/subject.ts'
import { makeCohort, makeDefinitions, makeFlag, makePerson } from './make.ts'

const is = (key: string, value: unknown, negation = false) => ({
  key,
  value,
  type: 'person',
  negation,
})
const within = (value: unknown, negation = false) => ({
  key: 'id',
  value,
  type: 'cohort',
  negation,
})
const and = (...values: unknown[]) => ({ type: 'AND', values })
const or = (...values: unknown[]) => ({ type: 'OR', values })

function ask(filter: object, cohorts: readonly StoredCohort[], person: Partial<FlagPerson> = {}) {
  const definitions = makeDefinitions(
    [makeFlag({ key: 'flag', filters: { groups: [{ properties: [filter] }] } })],
    { cohorts },
  )
  const evaluation = evaluateFlags(definitions, makePerson(person))
  expect(evaluation.bugs).toEqual([])
  return evaluation.results[0]
}

describe('a cohort that is a list', () => {
  const cohorts = [{ id: 7, is_static: true, deleted: false, filters: null }]
  const members = { isInCohort: (id: number) => id === 7 }

  test.each([
    ['in', false, true, false],
    ['exact', false, true, false],
    [undefined, false, true, false],
    ['not_in', false, false, true],
    ['in', true, false, true],
    ['not_in', true, true, false],
  ])(
    'asked with %p (negation %p) answers %p for members and %p for others',
    (operator, negation, member, other) => {
      const filter = { key: 'id', type: 'cohort', value: 7, operator, negation }
      expect(ask(filter, cohorts, members)?.enabled).toBe(member)
      expect(ask(filter, cohorts)?.enabled).toBe(other)
    },
  )

  test('may be named by its id in text', () => {
    expect(ask(within('7'), cohorts, members)?.enabled).toBe(true)
  })

  test('of what people did is a list too, kept up to date elsewhere', () => {
    const behavioral = makeCohort(7, or(is('a', 1), and({ type: 'behavioral', key: '$pageview' })))
    expect(ask(within(7), [behavioral], members)?.enabled).toBe(true)
    expect(ask(within(7), [behavioral], { person_properties: { a: 1 } })?.enabled).toBe(false)
  })
})

describe('a cohort that is a tree', () => {
  const tree = or(and(is('plan', 'pro'), is('country', 'DE', true)), and(is('vip', 'true')))

  test.each([
    [{ plan: 'pro', country: 'SE' }, true],
    [{ plan: 'pro', country: 'DE' }, false],
    [{ plan: 'pro' }, true],
    [{ vip: true, country: 'DE' }, true],
    [{ country: 'SE' }, false],
    [{}, false],
  ])('judges %p as %p', (person_properties, answer) => {
    expect(ask(within(1), [makeCohort(1, tree)], { person_properties })?.enabled).toBe(answer)
    expect(ask(within(1, true), [makeCohort(1, tree)], { person_properties })?.enabled).toBe(
      !answer,
    )
  })

  test('may ask about other cohorts, and about their opposites', () => {
    const cohorts = [
      makeCohort(1, and(within(2), within(3, true))),
      makeCohort(2, or(is('a', 1))),
      makeCohort(3, or(is('b', 1), within(4))),
      { id: 4, is_static: true, deleted: false, filters: {} },
    ]
    const answer = (person: Partial<FlagPerson>) => ask(within(1), cohorts, person)?.enabled
    expect(answer({ person_properties: { a: 1 } })).toBe(true)
    expect(answer({ person_properties: { a: 1, b: 1 } })).toBe(false)
    expect(answer({ person_properties: { b: 2 } })).toBe(false)
    expect(answer({ person_properties: { a: 1 }, isInCohort: (id) => id === 4 })).toBe(false)
  })

  test('looks at the person also in a flag of groups', () => {
    const definitions = makeDefinitions(
      [
        makeFlag({
          key: 'flag',
          filters: { groups: [{ properties: [within(1)] }], aggregation_group_type_index: 0 },
        }),
      ],
      {
        cohorts: [makeCohort(1, or(is('a', 1)))],
        group_types: [{ group_type: 'company', group_type_index: 0 }],
      },
    )
    const groups = { company: 'acme' }
    const answer = (own: object) =>
      evaluateFlags(definitions, makePerson({ groups, ...own })).results[0]?.enabled
    expect(answer({ person_properties: { a: 1 } })).toBe(true)
    expect(answer({ group_properties: { company: { a: 1 } } })).toBe(false)
  })

  test.each([
    ['an empty list of alternatives is nobody', or(), false],
    ['an empty list of conditions is everybody', and(), true],
    ['no filters at all are nobody', {}, false],
    ['a single leaf is a tree', is('a', 1), true],
    ['the type property means all', { type: 'property', values: [is('a', 1)] }, true],
  ])('%s', (_name, properties, answer) => {
    const person = { person_properties: { a: 1 } }
    expect(ask(within(1), [makeCohort(1, properties)], person)?.enabled).toBe(answer)
  })

  test('with a filter that cannot be judged matches neither way', () => {
    const odd = (negation: boolean) => ({ key: 'a', value: '(', operator: 'regex', negation })
    const person = { person_properties: { a: 'x' } }
    expect(ask(within(1), [makeCohort(1, or(odd(false)))], person)?.enabled).toBe(false)
    expect(ask(within(1), [makeCohort(1, or(odd(true)))], person)?.enabled).toBe(false)
  })
})

describe('a cohort that cannot be had', () => {
  test.each([
    ['there is none', []],
    ['it is deleted', [{ ...makeCohort(1, and()), deleted: true }]],
  ])('because %s matches nobody, nor their opposite', (_name, cohorts) => {
    expect(ask(within(1), cohorts)).toMatchObject({ enabled: false, is_failed: false })
    expect(ask(within(1, true), cohorts)).toMatchObject({ enabled: false, is_failed: false })
  })

  test.each([
    ['it asks about itself', 'cohort_cycle', [makeCohort(1, or(within(1)))]],
    [
      'two ask about each other',
      'cohort_cycle',
      [makeCohort(1, or(within(2))), makeCohort(2, or(within(1)))],
    ],
    [
      'it asks about such a one',
      'cohort_cycle',
      [makeCohort(1, or(within(2))), makeCohort(2, or(within(2)))],
    ],
    ['it has no filters', 'invalid_definition', [{ ...makeCohort(1, null), filters: null }]],
    [
      'it asks about one without filters',
      'invalid_definition',
      [makeCohort(1, or(within(2))), { ...makeCohort(2, null), filters: 'x' }],
    ],
    [
      'its groups are neither AND nor OR',
      'invalid_definition',
      [makeCohort(1, { type: 'XOR', values: [] })],
    ],
    ['a leaf is no object', 'invalid_definition', [makeCohort(1, or(5))]],
  ])('because %s fails the flag: %s', (_name, code, cohorts) => {
    expect(ask(within(1), cohorts)).toMatchObject({ is_failed: true, reason: { code } })
  })

  test('because trees stand too deep in trees fails the flag, without overflowing', () => {
    let deep: unknown = is('a', 1)
    for (let level = 0; level < 100_000; level += 1) deep = or(deep)
    expect(ask(within(1), [makeCohort(1, deep)])).toMatchObject({
      reason: { code: 'cohort_too_deep' },
    })
  })

  test('because its chain of cohorts is too long fails the flag; a long one that is not is judged', () => {
    const chain = (length: number): StoredCohort[] =>
      Array.from({ length }, (_, index) =>
        makeCohort(index + 1, index + 1 < length ? or(within(index + 2)) : or(is('a', 1))),
      )
    const person = { person_properties: { a: 1 } }
    expect(ask(within(1), chain(32), person)?.enabled).toBe(true)
    expect(ask(within(1), chain(33), person)).toMatchObject({ reason: { code: 'cohort_too_deep' } })
    expect(ask(within(1), chain(50_000), person)).toMatchObject({
      reason: { code: 'cohort_too_deep' },
    })
  })

  test('is no obstacle to the same evaluation of many flags that share a wide lattice of cohorts', () => {
    // Each asks twice about the next: without remembering answers this would be 2^30 steps.
    const lattice = Array.from({ length: 31 }, (_, index) =>
      makeCohort(
        index + 1,
        index < 30 ? and(within(index + 2), within(index + 2)) : or(is('a', 1)),
      ),
    )
    expect(ask(within(1), lattice, { person_properties: { a: 1 } })?.enabled).toBe(true)
  })
})
