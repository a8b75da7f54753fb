/** What is refused when a flag is stored, in which words. */
import { describe, expect, test } from 'bun:test'
import { findFlagFault, normalizeFilters } from '../../src/flags/validate.ts'
import { makeCohort, makeDefinitions, makeFlag } from './make.ts'

const on = (key: string) => ({ key, value: true, type: 'flag', operator: 'flag_evaluates_to' })
const is = (key: string, value: unknown, operator = 'exact') => ({
  key,
  value,
  operator,
  type: 'person',
})
const inCohort = (value: number) => ({ key: 'id', type: 'cohort', value, operator: 'in' })
const set = (...properties: unknown[]) => ({ groups: [{ properties }] })

const stored = makeDefinitions(
  [
    makeFlag({ id: 1, key: 'first', filters: set(on('second')) }),
    makeFlag({ id: 2, key: 'second', filters: set(on('third')) }),
    makeFlag({ id: 3, key: 'third' }),
    makeFlag({ id: 4, key: 'gone', deleted: true }),
  ],
  { cohorts: [makeCohort(5, {}), { ...makeCohort(6, {}), deleted: true }] },
)
const fault = (part: object) => findFlagFault(makeFlag({ id: 99, key: 'new', ...part }), stored)

describe('a flag is stored', () => {
  test.each([
    ['with a new key', {}],
    ['with the key of a deleted one', { key: 'gone' }],
    ['under its own key', { id: 3, key: 'third' }],
    ['in the oldest shape', { filters: { properties: [is('a', 'x')], rollout_percentage: 5 } }],
    [
      'with fractions that add up',
      {
        filters: {
          groups: [{ variant: 'a', rollout_percentage: 12.5 }],
          multivariate: {
            variants: [
              { key: 'a', rollout_percentage: 33.34 },
              { key: 'b', rollout_percentage: 33.33 },
              { key: 'c', rollout_percentage: 33.33 },
            ],
          },
          payloads: { a: '{"x":1}', b: { y: 2 } },
        },
      },
    ],
    [
      'with filters of every kind',
      {
        filters: set(
          is('a', '5', 'gt'),
          is('b', '-7d', 'is_date_after'),
          is('c', '^x', 'regex'),
          inCohort(5),
          on('3'),
        ),
      },
    ],
    [
      'for groups',
      {
        filters: {
          ...set({ key: 'a', value: 'x', type: 'group', group_type_index: 1 }),
          aggregation_group_type_index: 1,
        },
      },
    ],
  ])('%s', (_name, part) => {
    expect(fault(part)).toBeNull()
  })
})

describe('a flag is refused', () => {
  test.each([
    ['unique', 'key', 'There is already a feature flag with this key.', { key: 'third' }],
    [
      'invalid_key',
      'key',
      'Only letters, numbers, hyphens (-) & underscores (_) are allowed.',
      { key: 'a b' },
    ],
    [
      'invalid_key',
      'key',
      'Only letters, numbers, hyphens (-) & underscores (_) are allowed.',
      { key: '' },
    ],
    [
      'invalid_key',
      'key',
      'Only letters, numbers, hyphens (-) & underscores (_) are allowed.',
      { key: 'a\n' },
    ],
    [
      'max_length',
      'key',
      'Ensure this field has no more than 400 characters.',
      { key: 'x'.repeat(401) },
    ],
    ['invalid_input', 'filters', 'Filters must be an object.', { filters: [] }],
    ['invalid_input', 'filters', 'groups must be a list.', { filters: { groups: {} } }],
    [
      'invalid_input',
      'filters',
      'A percentage must be a number.',
      { filters: { groups: [{ rollout_percentage: '5' }] } },
    ],
    [
      'invalid_input',
      'filters',
      'Rollout percentages must be between 0 and 100.',
      { filters: { groups: [{ rollout_percentage: 101 }] } },
    ],
    [
      'invalid_input',
      'filters',
      'Filters are not valid (can only use person and cohort properties)',
      {
        filters: set({ key: 'a', value: 'x', type: 'group', group_type_index: 0 }),
      },
    ],
    [
      'invalid_input',
      'filters',
      'Filters are not valid (can only use person and cohort properties)',
      { filters: set({ key: 'a', value: 'x', type: 'event' }) },
    ],
    [
      'invalid_input',
      'filters',
      'Filters are not valid (can only use group properties)',
      {
        filters: { ...set(is('a', 'x')), aggregation_group_type_index: 0 },
      },
    ],
    [
      'invalid_input',
      'filters',
      'Filters are not valid (can only use group properties)',
      {
        filters: {
          ...set({ key: 'a', value: 'x', type: 'group', group_type_index: 1 }),
          aggregation_group_type_index: 0,
        },
      },
    ],
    [
      'invalid_input',
      'filters',
      'Invalid variant definitions: Variant rollout percentages must sum to 100.',
      {
        filters: {
          groups: [{}],
          multivariate: { variants: [{ key: 'a', rollout_percentage: 50 }] },
        },
      },
    ],
    [
      'invalid_input',
      'filters',
      'Filters are not valid (variant override does not exist)',
      {
        filters: {
          groups: [{ variant: 'b' }],
          multivariate: { variants: [{ key: 'a', rollout_percentage: 100 }] },
        },
      },
    ],
    [
      'cohort_does_not_exist',
      'filters',
      'Cohort with id 7 does not exist',
      { filters: set(inCohort(7)) },
    ],
    [
      'cohort_does_not_exist',
      'filters',
      'Cohort with id 6 does not exist',
      { filters: set(inCohort(6)) },
    ],
    [
      'invalid_date',
      'filters',
      'Invalid date value: soon',
      { filters: set(is('a', 'soon', 'is_date_before')) },
    ],
    [
      'invalid_value',
      'filters',
      'Invalid value for operator gt: 5',
      { filters: set(is('a', 5, 'gt')) },
    ],
    [
      'invalid_value',
      'filters',
      'Invalid value for operator icontains: ["x"]',
      { filters: set(is('a', ['x'], 'icontains')) },
    ],
    [
      'invalid_value',
      'filters',
      'between operator requires a two-element array [min, max]',
      { filters: set(is('a', 5, 'between')) },
    ],
    [
      'invalid_value',
      'filters',
      'not_between operator requires numeric values',
      { filters: set(is('a', [1, 'x'], 'not_between')) },
    ],
    [
      'invalid_value',
      'filters',
      'between operator requires min value to be less than or equal to max value',
      { filters: set(is('a', ['10', '9'], 'between')) },
    ],
    [
      'invalid_value',
      'filters',
      'Operator regex cannot use this value.',
      { filters: set(is('a', '(', 'regex')) },
    ],
    [
      'invalid_value',
      'filters',
      'Operator sounds_like is not known.',
      { filters: set(is('a', 'x', 'sounds_like')) },
    ],
    [
      'invalid_input',
      'filters',
      'Property group expressions of type a cannot contain more than 1000 values.',
      {
        filters: set(
          is(
            'a',
            Array.from({ length: 1001 }, () => 'x'),
          ),
        ),
      },
    ],
    [
      'invalid_input',
      'filters',
      'Payloads must be passed as a dictionary',
      { filters: { groups: [{}], payloads: [] } },
    ],
    [
      'invalid_input',
      'filters',
      'Payload value is not valid JSON',
      { filters: { groups: [{}], payloads: { true: '{' } } },
    ],
    [
      'invalid_input',
      'filters',
      "Payload keys must be 'true' for boolean flags",
      { filters: { groups: [{}], payloads: { on: '1' } } },
    ],
    [
      'invalid_input',
      'filters',
      'Payload keys must match a variant key for multivariate flags',
      {
        filters: {
          groups: [{}],
          multivariate: { variants: [{ key: 'a', rollout_percentage: 100 }] },
          payloads: { true: '1' },
        },
      },
    ],
    ['invalid_input', 'filters', 'There is no flag nobody.', { filters: set(on('nobody')) }],
    [
      'invalid_input',
      'filters',
      "Feature flag 'new' cannot depend on itself",
      { filters: set(on('new')) },
    ],
    [
      'invalid_input',
      'filters',
      "Feature flag 'third' cannot depend on itself",
      { id: 3, key: 'third', filters: set(on('3')) },
    ],
    [
      'invalid_input',
      'filters',
      'Circular dependency detected: third → first → second → third',
      {
        id: 3,
        key: 'third',
        filters: set(on('first')),
      },
    ],
  ])('with %s of %s: %s', (code, attr, detail, part) => {
    expect(fault(part)).toEqual({ code, attr, detail } as never)
  })
})

test('payloads are stored as JSON text, whatever JSON was sent', () => {
  const filters = { groups: [], payloads: { a: { x: 1 }, b: [1], c: 5, d: '"text"' } }
  expect(normalizeFilters(filters)).toEqual({
    groups: [],
    payloads: { a: '{"x":1}', b: '[1]', c: '5', d: '"text"' },
  })
  expect(normalizeFilters({ groups: [] })).toEqual({ groups: [] })
  expect(normalizeFilters(null)).toBeNull()
})

describe('a flag of 20,000 variants', () => {
  const keys = Array.from({ length: 20_000 }, (_, index) => `v${index}`)
  const variants = keys.map((key, index) => ({ key, rollout_percentage: index === 0 ? 100 : 0 }))
  const payloads = Object.fromEntries(keys.map((key) => [key, '1']))
  const groups = (count: number) => Array.from({ length: count }, () => ({ variant: keys.at(-1) }))

  test('has a payload for each', () => {
    const filters = { groups: groups(5), multivariate: { variants }, payloads }
    // Each was searched for among all variants: 200 million comparisons.
    const before = process.threadCpuUsage()
    expect(fault({ filters })).toBeNull()
    expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(500)
  })

  test('is refused where its condition sets would have millions of results', () => {
    const filters = { groups: groups(900), multivariate: { variants }, payloads }
    expect(fault({ filters })).toMatchObject({
      detail: expect.stringContaining('A flag may have 100000 variants, times its condition sets.'),
    })
  })
})
