/** One person's flags: sets in stored order, reasons, groups, devices, holdouts, dependencies. */
import { describe, expect, test } from 'bun:test'
import { holdoutBucket, rolloutBucket } from '../../src/flags/bucket.ts'
import type { StoredFlag } from '../../src/flags/definition-types.ts'
import { evaluateFlags } from '../../src/flags/evaluate.ts'
import type { ReasonCode } from '../../src/flags/result.ts'
import {
  type FlagPerson,
  overlayGroupProperties,
  overlayProperties,
} from '../../src/flags/subject.ts'
import { byKey, makeDefinitions, makeFlag, makePerson, NOW, valuesFor } from './make.ts'

const COMPANY = { group_types: [{ group_type: 'company', group_type_index: 0 }] }
const is = (key: string, value: unknown) => ({ key, value, type: 'person' })

function evaluate(flag: Partial<StoredFlag>, person: Partial<FlagPerson> = {}, rest = {}) {
  const definitions = makeDefinitions([makeFlag({ key: 'flag', ...flag })], rest)
  const evaluation = evaluateFlags(definitions, makePerson(person))
  const [first] = evaluation.results
  if (!first) throw new Error('The flag was not evaluated.')
  const { flag: _flag, ...result } = first
  return { ...result, has_errors: evaluation.has_errors }
}

const reason = (code: ReasonCode, condition_index: number | null, description: string) => ({
  code,
  condition_index,
  description,
})

describe('condition sets', () => {
  const groups = [
    { properties: [is('plan', 'pro')], rollout_percentage: 100 },
    { properties: [is('plan', 'free')], rollout_percentage: 0 },
    { properties: [is('plan', ['free', 'pro'])], rollout_percentage: 100 },
  ]

  test('are asked in stored order and the first that matches is named', () => {
    const result = evaluate({ filters: { groups } }, { person_properties: { plan: 'pro' } })
    expect(result).toEqual({
      enabled: true,
      variant: null,
      payload: null,
      reason: reason('condition_match', 0, 'Matched condition set 1'),
      is_failed: false,
      value_text: '"flag":true',
      payload_text: null,
      has_errors: false,
    })
  })

  test('that match only but for their rollout do not stop the search', () => {
    const result = evaluate({ filters: { groups } }, { person_properties: { plan: 'free' } })
    expect(result.reason).toEqual(reason('condition_match', 2, 'Matched condition set 3'))
  })

  test('that match but for their rollout end the search of a flag that exits early', () => {
    const filters = { groups, early_exit: true }
    const result = evaluate({ filters }, { person_properties: { plan: 'free' } })
    expect(result.enabled).toBe(false)
    expect(result.reason).toEqual(reason('out_of_rollout_bound', 1, 'Out of rollout bound'))
  })

  test('of a variant are not preferred to earlier ones', () => {
    const filters = {
      groups: [{ properties: [] }, { properties: [], variant: 'test' }],
      multivariate: {
        variants: [
          { key: 'control', rollout_percentage: 100 },
          { key: 'test', rollout_percentage: 0 },
        ],
      },
    }
    expect(evaluate({ filters }).variant).toBe('control')
  })

  test.each([
    { sets: [[is('a', 1)], [is('b', 1)]], share: 100, code: 'no_condition_match', index: 1 },
    { sets: [[], [is('b', 1)]], share: 0, code: 'out_of_rollout_bound', index: 0 },
    { sets: [[], []], share: 0, code: 'out_of_rollout_bound', index: 1 },
  ])(
    'that all fail report the strongest reason, of equal ones the last: $code at $index',
    (row) => {
      const shared = row.sets.map((properties) => ({ properties, rollout_percentage: row.share }))
      const result = evaluate({ filters: { groups: shared } })
      expect(result.enabled).toBe(false)
      expect(result.reason).toMatchObject({ code: row.code, condition_index: row.index })
    },
  )

  test('may be none: then nobody matches', () => {
    expect(evaluate({ filters: { groups: [] } })).toMatchObject({
      enabled: false,
      reason: reason('no_condition_match', null, 'No matching condition set'),
    })
  })

  test('of the oldest shape are one set', () => {
    const filters = { properties: [is('plan', 'pro')], rollout_percentage: 100 }
    expect(evaluate({ filters }, { person_properties: { plan: 'pro' } }).enabled).toBe(true)
    expect(evaluate({ filters }, { person_properties: { plan: 'x' } }).enabled).toBe(false)
    expect(evaluate({ filters: { rollout_percentage: 0 } }).enabled).toBe(false)
    expect(evaluate({ filters: {} }).enabled).toBe(true)
  })

  test('pass people whose bucket is exactly at the percentage', () => {
    const percentage = rolloutBucket('flag', 'user_1') * 100
    // Divided by 100 again the percentage may lose its last bit, so it is asked of both neighbours too.
    const at = (own: number) =>
      evaluate({ filters: { groups: [{ rollout_percentage: own }] } }).enabled
    expect(at(percentage + 1e-9)).toBe(true)
    expect(at(percentage - 1e-9)).toBe(false)
    expect(percentage / 100 === rolloutBucket('flag', 'user_1') ? at(percentage) : true).toBe(true)
  })
})

describe('variants and payloads', () => {
  const variants = [
    { key: 'control', rollout_percentage: 0 },
    { key: 'test', rollout_percentage: 100 },
  ]
  const payloads = { true: '"on"', control: '{"a":1}', test: '[1]' }

  test('come as stored: the payload of the variant, as the text it is', () => {
    const filters = { groups: [{}], multivariate: { variants }, payloads }
    expect(evaluate({ filters })).toMatchObject({ variant: 'test', payload: '[1]' })
  })

  test('of a set that names a variant are that variant, unless there is no such variant', () => {
    const named = (variant: string) =>
      evaluate({ filters: { groups: [{ variant }], multivariate: { variants }, payloads } })
    expect(named('control')).toMatchObject({ variant: 'control', payload: '{"a":1}' })
    expect(named('other')).toMatchObject({ variant: 'test', payload: '[1]' })
  })

  test('are none beyond the sum of the shares: the flag is plainly on', () => {
    const few = [{ key: 'test', rollout_percentage: 0 }]
    const result = evaluate({
      filters: { groups: [{}], multivariate: { variants: few }, payloads },
    })
    expect(result).toMatchObject({ enabled: true, variant: null, payload: '"on"' })
  })

  test('are not given to those the flag is off for', () => {
    const filters = { groups: [{ rollout_percentage: 0 }], multivariate: { variants }, payloads }
    expect(evaluate({ filters })).toMatchObject({ enabled: false, variant: null, payload: null })
  })
})

describe('early access', () => {
  const enrolled = '$feature_enrollment/flag'
  const super_groups = [
    { properties: [{ key: enrolled, value: ['true'], operator: 'exact', type: 'person' }] },
  ]
  const others = { groups: [{ properties: [is('plan', 'pro')] }], payloads: { true: '1' } }

  test.each([
    ['super_groups', { ...others, super_groups }],
    ['feature_enrollment', { ...others, feature_enrollment: true }],
  ])('(%s) decides for those who said something about it', (_name, filters) => {
    const asked = (own: Record<string, unknown>) =>
      evaluate({ filters }, { person_properties: own })
    const final = reason('super_condition_value', 0, 'Super condition value')
    expect(asked({ [enrolled]: 'true' })).toMatchObject({
      enabled: true,
      reason: final,
      payload: '1',
    })
    expect(asked({ [enrolled]: true })).toMatchObject({ enabled: true, reason: final })
    expect(asked({ [enrolled]: 'false', plan: 'pro' })).toMatchObject({
      enabled: false,
      reason: final,
    })
    expect(asked({ plan: 'pro' })).toMatchObject({
      enabled: true,
      reason: { code: 'condition_match' },
    })
    expect(asked({})).toMatchObject({ enabled: false, reason: { code: 'no_condition_match' } })
  })

  test('without properties is a rollout and decides for everybody', () => {
    const asked = (rollout_percentage: number) =>
      evaluate({
        filters: { groups: [{}], super_groups: [{ properties: [], rollout_percentage }] },
      })
    expect(asked(0)).toMatchObject({ enabled: false, reason: { code: 'super_condition_value' } })
    expect(asked(100)).toMatchObject({ enabled: true, reason: { code: 'super_condition_value' } })
  })

  test('gives no variant', () => {
    const multivariate = { variants: [{ key: 'test', rollout_percentage: 100 }] }
    const filters = { ...others, super_groups, multivariate }
    const result = evaluate({ filters }, { person_properties: { [enrolled]: 'true' } })
    expect(result).toMatchObject({ enabled: true, variant: null })
  })
})

describe('holdouts', () => {
  const person = { distinct_id: 'example_id' }
  const percentage = holdoutBucket('example_id') * 100

  test.each([
    ['today', (share: number) => ({ holdout: { id: 42, exclusion_percentage: share } })],
    [
      'before',
      (share: number) => ({
        holdout_groups: [{ properties: [], rollout_percentage: share, variant: 'holdout-42' }],
      }),
    ],
  ])('in the shape of %s keep the same people out of every flag that has them', (_name, shape) => {
    for (const key of ['one-flag', 'another-flag']) {
      const asked = (share: number) =>
        evaluate({ key, filters: { groups: [{}], ...shape(share) } }, person)
      expect(asked(percentage + 1e-9)).toMatchObject({
        enabled: true,
        variant: 'holdout-42',
        reason: reason('holdout_condition_value', null, 'Holdout condition value'),
      })
      expect(asked(percentage - 1e-9)).toMatchObject({
        variant: null,
        reason: { code: 'condition_match' },
      })
    }
  })

  test('yield to early access', () => {
    const filters = {
      groups: [{}],
      feature_enrollment: true,
      holdout: { id: 1, exclusion_percentage: 100 },
    }
    const person_properties = { '$feature_enrollment/flag': 'true' }
    expect(evaluate({ filters }, { person_properties }).reason.code).toBe('super_condition_value')
    expect(evaluate({ filters }).reason.code).toBe('holdout_condition_value')
  })
})

describe('flags of groups', () => {
  const filters = {
    aggregation_group_type_index: 0,
    groups: [
      {
        properties: [
          { key: 'size', value: '10', operator: 'gt', type: 'group', group_type_index: 0 },
        ],
      },
    ],
  }

  test('look at the properties of the group the request names', () => {
    const asked = (size: number) =>
      evaluate(
        { filters },
        { groups: { company: 'acme' }, group_properties: { company: { size } } },
        COMPANY,
      )
    expect(asked(11).enabled).toBe(true)
    expect(asked(10).enabled).toBe(false)
  })

  test('hash the key of the group, not the person', () => {
    const share = { aggregation_group_type_index: 0, groups: [{ rollout_percentage: 50 }] }
    const asked = (distinct_id: string, company: unknown) =>
      evaluate({ key: 'group-flag', filters: share }, { distinct_id, groups: { company } }, COMPANY)
        .enabled
    expect(asked('a', 'amazon')).toBe(false)
    expect(asked('b', 'amazon')).toBe(false)
    expect(asked('a', 'amazon_without_rollout')).toBe(true)
    expect(asked('a', 7)).toBe(asked('a', '7'))
  })

  test.each([
    ['of another type', { person: 'x' }],
    ['with an empty key', { company: '' }],
    ['with a null key', { company: null }],
    ['with a list for a key', { company: ['acme'] }],
    ['by an inherited name', {}],
  ])('are off for requests without the group: one %s', (_name, groups) => {
    expect(evaluate({ filters }, { groups }, COMPANY)).toMatchObject({
      enabled: false,
      reason: reason('no_group_type', null, 'No group type'),
    })
  })

  test('are off when the project has no such group type', () => {
    const result = evaluate({ filters }, { groups: { company: 'acme' } })
    expect(result.reason.code).toBe('no_group_type')
  })

  test('know the key of the group as a property', () => {
    const by_key = {
      aggregation_group_type_index: 0,
      groups: [
        {
          properties: [{ key: '$group_key', value: ['acme'], type: 'group', group_type_index: 0 }],
        },
      ],
    }
    const asked = (company: string) =>
      evaluate({ filters: by_key }, { groups: { company } }, COMPANY).enabled
    expect(asked('acme')).toBe(true)
    expect(asked('globex')).toBe(false)
  })

  test('may have sets of persons and of groups side by side', () => {
    const mixed = {
      groups: [
        {
          aggregation_group_type_index: 0,
          properties: [{ key: 'size', value: 5, type: 'group', group_type_index: 0 }],
        },
        { aggregation_group_type_index: null, properties: [is('plan', 'pro')] },
      ],
    }
    const asked = (person: Partial<FlagPerson>) => evaluate({ filters: mixed }, person, COMPANY)
    const company = { groups: { company: 'acme' }, group_properties: { company: { size: 5 } } }
    expect(asked(company).reason).toMatchObject({ code: 'condition_match', condition_index: 0 })
    expect(asked({ person_properties: { plan: 'pro' } }).reason).toMatchObject({
      code: 'condition_match',
      condition_index: 1,
    })
    expect(asked({}).reason).toMatchObject({ code: 'no_group_type', condition_index: 0 })
  })
})

describe('what is hashed', () => {
  const filters = { groups: [{ rollout_percentage: 50 }] }
  const isIn = (identifier: string): boolean => rolloutBucket('flag', identifier) <= 0.5
  const IN = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].find(isIn) ?? ''
  const OUT = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].find((one) => !isIn(one)) ?? ''

  test('is the override of a flag with experience continuity, and the distinct id without one', () => {
    const overrides = new Map([['flag', OUT]])
    const asked = (ensure_experience_continuity: boolean, person: Partial<FlagPerson>) =>
      evaluate({ filters, ensure_experience_continuity }, { distinct_id: IN, ...person }).enabled
    expect(asked(true, { overrides })).toBe(false)
    expect(asked(true, {})).toBe(true)
    expect(asked(false, { overrides })).toBe(true)
  })

  test('is the device of a flag that buckets by device, from the request or from the person', () => {
    const bucketing_identifier = 'device_id'
    const asked = (person: Partial<FlagPerson>) =>
      evaluate({ filters, bucketing_identifier }, person)
    expect(asked({ distinct_id: OUT, device_id: IN }).enabled).toBe(true)
    expect(asked({ distinct_id: IN, device_id: OUT }).enabled).toBe(false)
    expect(asked({ distinct_id: OUT, person_properties: { $device_id: IN } }).enabled).toBe(true)
    expect(asked({ distinct_id: IN }).reason.code).toBe('no_group_type')
    expect(asked({ distinct_id: IN, device_id: '' }).reason.code).toBe('no_group_type')
  })

  test.each([
    [7, '7'],
    [true, 'true'],
    [null, 'null'],
    [{ b: 1, a: [2] }, '{"a":[2],"b":1}'],
    ['x'.repeat(500), 'x'.repeat(200)],
    ['😀'.repeat(300), '😀'.repeat(200)],
    ['', ''],
  ])(
    'is the text of a distinct id of any type, at most 200 characters: %p',
    (distinct_id, text) => {
      const exact = rolloutBucket('flag', text) * 100
      const asked = (rollout_percentage: number) =>
        evaluate({ filters: { groups: [{ rollout_percentage }] } }, { distinct_id }).enabled
      expect(asked(exact + 1e-9)).toBe(true)
      expect(asked(exact - 1e-9)).toBe(false)
    },
  )
})

describe('a person', () => {
  test('has a distinct id as a property, whatever is stored about them', () => {
    const filters = { groups: [{ properties: [is('distinct_id', 'user_1')] }] }
    expect(evaluate({ filters }).enabled).toBe(true)
    expect(evaluate({ filters }, { distinct_id: 'user_2' }).enabled).toBe(false)
  })

  test('is seen through stored, location and request properties, key by key', () => {
    const stored = { plan: 'free', $geoip_country_code: 'DE', distinct_id: 'old', kept: null }
    const location = { $geoip_country_code: 'SE', $geoip_city_name: 'Stockholm' }
    const request = { plan: 'pro', $geoip_city_name: 'Lund' }
    expect(overlayProperties({ stored, distinct_id: 5, location, request })).toEqual({
      plan: 'pro',
      $geoip_country_code: 'SE',
      $geoip_city_name: 'Lund',
      distinct_id: '5',
      kept: null,
    })
    expect(
      overlayProperties({ stored: null, distinct_id: 'a', location: null, request: ['x'] }),
    ).toEqual({
      distinct_id: 'a',
    })
  })
})

test('groups are seen through stored and request properties, key by key', () => {
  const stored = { company: { size: 5, plan: 'free' }, team: { a: 1 } }
  const request = JSON.parse('{"company":{"plan":"pro"},"__proto__":{"x":1},"odd":5}')
  const layered = overlayGroupProperties(stored, request)
  expect(Object.entries(layered)).toEqual([
    ['company', { size: 5, plan: 'pro' }],
    ['team', { a: 1 }],
    ['__proto__', { x: 1 }],
  ])
  expect(Object.entries(overlayGroupProperties(stored, 'nonsense'))).toHaveLength(2)
})

test.each([null, 'x', ['company'], 5])('groups that are no object name no group: %p', (groups) => {
  const filters = { groups: [{}], aggregation_group_type_index: 0 }
  expect(evaluate({ filters }, { groups }, COMPANY).reason.code).toBe('no_group_type')
})

describe('flags that depend on flags', () => {
  const on = (key: string, value: unknown) => ({
    key,
    value,
    type: 'flag',
    operator: 'flag_evaluates_to',
  })
  const needs = (key: string, ...parts: unknown[]) =>
    makeFlag({ key, filters: { groups: [{ properties: parts }] } })
  const multi = (key: string, id: number) =>
    makeFlag({
      id,
      key,
      filters: {
        groups: [{}],
        multivariate: { variants: [{ key: 'test', rollout_percentage: 100 }] },
      },
    })

  test.each([
    [true, true],
    [false, false],
    ['test', true],
    ['control', false],
  ])('on a variant: expecting %p of "test" gives %p', (expected, enabled) => {
    const definitions = makeDefinitions([
      needs('child', on('parent', expected)),
      multi('parent', 77),
    ])
    expect(valuesFor(definitions, makePerson())).toEqual({ child: enabled, parent: 'test' })
  })

  test('find them by key, by id, and along a chain in any stored order', () => {
    const definitions = makeDefinitions([
      needs('c', on('b', true)),
      needs('b', on('77', true)),
      needs('d', on('c', false)),
      multi('a', 77),
    ])
    expect(valuesFor(definitions, makePerson())).toEqual({ c: true, b: true, d: false, a: 'test' })
  })

  test('take a flag that is not active for off', () => {
    const definitions = makeDefinitions([
      needs('child', on('parent', false)),
      makeFlag({ key: 'parent', active: false }),
    ])
    expect(valuesFor(definitions, makePerson())).toEqual({ child: true })
  })

  test('fail when they depend on one another, or on those who do; all others are answered', () => {
    const definitions = makeDefinitions([
      needs('a', on('b', true)),
      needs('b', on('c', true)),
      needs('c', on('a', true)),
      needs('self', on('self', true)),
      needs('behind', on('a', true)),
      needs('fine', on('plain', true)),
      makeFlag({ key: 'plain' }),
    ])
    const evaluation = evaluateFlags(definitions, makePerson())
    const codes = evaluation.results.map(({ flag, reason: { code } }) => [flag.key, code])
    expect(codes).toEqual([
      ['a', 'dependency_cycle'],
      ['b', 'dependency_cycle'],
      ['c', 'dependency_cycle'],
      ['self', 'dependency_cycle'],
      ['behind', 'dependency_cycle'],
      ['fine', 'condition_match'],
      ['plain', 'condition_match'],
    ])
    expect(evaluation.has_errors).toBe(true)
    expect(evaluation.bugs).toEqual([])
  })

  test('fail when there is no such flag, and so do those who depend on them', () => {
    const definitions = makeDefinitions([
      needs('child', on('nobody', false)),
      needs('grandchild', on('child', false)),
      makeFlag({ key: 'deleted', deleted: true }),
      needs('orphan', on('deleted', false)),
    ])
    const results = byKey(evaluateFlags(definitions, makePerson()))
    for (const key of ['child', 'grandchild', 'orphan']) {
      expect(results.get(key)).toMatchObject({
        is_failed: true,
        reason: { code: 'missing_dependency' },
      })
    }
  })
})

describe('which flags are answered', () => {
  const flags = [
    makeFlag({ key: 'plain' }),
    makeFlag({ key: 'inactive', active: false }),
    makeFlag({ key: 'deleted', deleted: true }),
    makeFlag({ key: 'client', evaluation_runtime: 'client' }),
    makeFlag({ key: 'server', evaluation_runtime: 'server' }),
    makeFlag({ key: 'docs', evaluation_contexts: ['docs', 'site'] }),
    makeFlag({
      key: 'child',
      filters: { groups: [{ properties: [{ key: 'server', value: true, type: 'flag' }] }] },
    }),
  ]
  const everything = { flag_keys: null, evaluation_runtime: null, evaluation_contexts: null }

  test.each([
    ['all active ones by default', {}, ['plain', 'client', 'server', 'docs', 'child']],
    [
      'those for the runtime',
      { evaluation_runtime: 'server' },
      ['plain', 'server', 'docs', 'child'],
    ],
    [
      'those for every runtime, where nothing is known of the caller',
      { evaluation_runtime: 'unknown' },
      ['plain', 'docs', 'child'],
    ],
    [
      'those of the contexts and those of none',
      { evaluation_contexts: new Set(['app']) },
      ['plain', 'client', 'server', 'child'],
    ],
    ['those named', { flag_keys: ['child', 'docs', 'nobody', 'inactive'] }, ['docs', 'child']],
    ['none, when none are named', { flag_keys: [] }, []],
  ])('%s', (_name, part, keys) => {
    const values = valuesFor(makeDefinitions(flags), makePerson(), { ...everything, ...part })
    expect(Object.keys(values)).toEqual(keys)
  })

  test('a flag that is asked for has its dependencies evaluated, one kept from the caller is off', () => {
    const definitions = makeDefinitions(flags)
    const value = (part: object) =>
      valuesFor(definitions, makePerson(), { ...everything, ...part })['child']
    expect(value({ flag_keys: ['child'] })).toBe(true)
    expect(value({ evaluation_runtime: 'client' })).toBe(false)
  })
})

describe('a flag that cannot be evaluated', () => {
  test.each([
    ['filters that are null', null],
    ['filters that are a list', []],
    ['sets that are no list', { groups: 'all' }],
    ['a set that is no object', { groups: [null] }],
    ['properties that are no list', { groups: [{ properties: {} }] }],
    ['a property that is no object', { groups: [{ properties: ['plan'] }] }],
    ['a property without a key', { groups: [{ properties: [{ value: 1, type: 'person' }] }] }],
    ['a percentage in words', { groups: [{ rollout_percentage: 'half' }] }],
    [
      'a variant without a key',
      { groups: [{}], multivariate: { variants: [{ rollout_percentage: 5 }] } },
    ],
    [
      'a cohort without an id',
      { groups: [{ properties: [{ key: 'id', type: 'cohort', value: {} }] }] },
    ],
    [
      'a group property of no group',
      { groups: [{ properties: [{ key: 'a', value: 1, type: 'group' }] }] },
    ],
  ])('for %s is reported, and the others are answered', (_name, filters) => {
    const definitions = makeDefinitions([
      makeFlag({ key: 'broken', filters }),
      makeFlag({ key: 'fine' }),
    ])
    const evaluation = evaluateFlags(definitions, makePerson())
    expect(evaluation.results[0]).toMatchObject({
      enabled: false,
      is_failed: true,
      reason: { code: 'invalid_definition', condition_index: null, description: null },
    })
    expect(evaluation.results[1]?.enabled).toBe(true)
    expect(evaluation.has_errors).toBe(true)
  })

  test('for want of stored data is one that needs it: groups, continuity, lists of people', () => {
    const cohort = { id: 5, is_static: true, deleted: false, filters: null }
    const definitions = makeDefinitions(
      [
        makeFlag({ key: 'group', filters: { groups: [{}], aggregation_group_type_index: 0 } }),
        makeFlag({ key: 'continuity', ensure_experience_continuity: true }),
        makeFlag({
          key: 'list',
          filters: { groups: [{ properties: [{ key: 'id', type: 'cohort', value: 5 }] }] },
        }),
        makeFlag({ key: 'plain', filters: { groups: [{ properties: [is('plan', 'pro')] }] } }),
      ],
      { ...COMPANY, cohorts: [cohort] },
    )
    const person = makePerson({
      person_properties: { plan: 'pro' },
      groups: { company: 'acme' },
      is_store_unavailable: true,
    })
    const evaluation = evaluateFlags(definitions, person)
    expect(evaluation.results.map(({ reason: { code } }) => code)).toEqual([
      'store_unavailable',
      'store_unavailable',
      'store_unavailable',
      'condition_match',
    ])
    expect(evaluation.has_errors).toBe(true)
  })

  test('because of a bug is reported with its cause', () => {
    const definitions = makeDefinitions(
      [
        makeFlag({
          key: 'list',
          filters: { groups: [{ properties: [{ key: 'id', type: 'cohort', value: 5 }] }] },
        }),
        makeFlag({ key: 'fine' }),
      ],
      { cohorts: [{ id: 5, is_static: true, deleted: false, filters: null }] },
    )
    const cause = new Error('look-up fell over')
    const isInCohort = (): boolean => {
      throw cause
    }
    const evaluation = evaluateFlags(definitions, makePerson({ isInCohort }))
    expect(evaluation.results[0]).toMatchObject({
      is_failed: true,
      reason: { code: 'evaluation_failed' },
    })
    expect(evaluation.results[1]?.enabled).toBe(true)
    expect(evaluation.bugs).toEqual([{ flag_key: 'list', cause }])
  })
})

test('relative dates are counted from the moment of the evaluation', () => {
  const filters = {
    groups: [
      { properties: [{ key: 'since', value: '-1d', operator: 'is_date_after', type: 'person' }] },
    ],
  }
  const person_properties = { since: new Date(NOW - 3_600_000).toISOString() }
  expect(evaluate({ filters }, { person_properties }).enabled).toBe(true)
  expect(evaluate({ filters }, { person_properties, now: NOW + 86_400_000 }).enabled).toBe(false)
})
