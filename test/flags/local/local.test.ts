/** Clients that evaluate by themselves get our definitions and come to our answers. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import * as fc from 'fast-check'
import { PostHog } from 'posthog-node'
import { type CompiledFlags, compileDefinitions } from '../../../src/flags/definition.ts'
import type { StoredDefinitions } from '../../../src/flags/definition-types.ts'
import { evaluateFlags } from '../../../src/flags/evaluate.ts'
import { localVerdict } from '../../../src/flags/local/local.ts'
import { asText } from '../../../src/flags/operators/value.ts'
import { valueOf } from '../../../src/flags/result.ts'
import { type FlagPerson, overlayProperties } from '../../../src/flags/subject.ts'
import { codePoint } from '../../code-points.ts'
import { limitOf } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { localDefinitions, makeCohort, makeDefinitions, makeFlag, makePerson } from '../make.ts'

const DAY_MS = 86_400_000
const isoDaysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()

/** Serves whatever `body` is at the moment to an unmodified posthog-node. */
let body: unknown = { flags: [] }
let server: ReturnType<typeof Bun.serve>
let client: PostHog

/** The client warns on the console of every flag it cannot decide, again and again. */
const warnings = spyOn(console, 'warn')

beforeAll(() => {
  warnings.mockImplementation(() => {})
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) =>
      new URL(request.url).pathname === '/flags/definitions'
        ? Response.json(body)
        : Response.json({ status: 1 }),
  })
  client = new PostHog('phc_test', {
    host: `http://127.0.0.1:${server.port}`,
    secretKey: 'phx_test',
    featureFlagsPollingInterval: 3_600_000,
  })
})

afterAll(async () => {
  warnings.mockRestore()
  await client.shutdown()
  await server.stop(true)
})

const anyKey = fc.constantFrom('plan', 'age', 'email', 'since', 'version', 'vip', 'note')
const word = fc.constantFrom(
  'pro',
  'Pro',
  'free',
  'a@Example.com',
  'ÉTÉ',
  'été',
  '',
  'true',
  'null',
)
const decimal = fc.constantFrom('5', '10', '9.5', '-3', '1e2', '0')
const version = fc.constantFrom('1.2.3', '1.10', 'v2', '0.2.9', '1.2.3-beta', '2.0.0')
const date = fc.integer({ min: 0, max: 400 }).map((days) => isoDaysAgo(days + 0.5))
const percentage = fc.oneof(
  fc.constantFrom(0, 100, null),
  fc.integer({ min: 1, max: 99 }),
  fc.double({ min: 0, max: 100, noNaN: true }),
)

const property = fc.oneof(
  fc.record({
    operator: fc.constantFrom('exact', 'is_not'),
    value: fc.oneof(word, decimal, fc.integer(), fc.boolean(), fc.array(word, { maxLength: 3 })),
  }),
  fc.record({ operator: fc.constantFrom('is_set', 'is_not_set'), value: fc.constant('is_set') }),
  fc.record({
    operator: fc.constantFrom(
      'icontains',
      'not_icontains',
      'starts_with',
      'not_starts_with',
      'ends_with',
      'not_ends_with',
    ),
    value: fc.oneof(word, decimal),
  }),
  fc.record({
    operator: fc.constantFrom('regex', 'not_regex'),
    value: fc.constantFrom(
      '^p',
      '[aeiou]{2}',
      '\\d+',
      '(pro|free)$',
      '@example\\.com',
      '(a+)+$',
      '(',
    ),
  }),
  fc.record({
    operator: fc.constantFrom('gt', 'gte', 'lt', 'lte'),
    value: fc.oneof(decimal, fc.integer(), fc.constant('soon')),
  }),
  fc.record({
    operator: fc.constantFrom('is_date_before', 'is_date_after'),
    value: fc.oneof(date, fc.constantFrom('-7d', '30d', '-6w', '-3m', '1y', '-12h', 'soon')),
  }),
  fc.record({
    operator: fc.constantFrom(
      'semver_eq',
      'semver_neq',
      'semver_gt',
      'semver_lte',
      'semver_tilde',
      'semver_caret',
    ),
    value: version,
  }),
  fc.record({
    operator: fc.constant('semver_wildcard'),
    value: fc.constantFrom('1.*', '1.2.*', '2.*'),
  }),
)

/**
 * Values on which server and clients agree. Clients compare as text what is no number, count dates in milliseconds, and
 * do not compare whole numbers with texts at all.
 */
function ownValueFor(name: string): fc.Arbitrary<unknown> {
  switch (name) {
    case 'age':
      return fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
        decimal,
        fc.constant(null),
      )
    case 'since':
      return fc.oneof(date, fc.constant(null))
    case 'version':
      return fc.oneof(version, fc.constant(null))
    case 'vip':
      return fc.oneof(fc.boolean(), fc.constantFrom('true', 'False', null))
    default:
      return fc.oneof(word, fc.boolean(), fc.constant(null), fc.constant(2.5))
  }
}

/** Operators whose opposite holds for us, but is open to clients, when the person's value is no number, date or version. */
function keyFor(operator: string, any_key: string): string {
  if (/^[gl]te?$/.test(operator)) return 'age'
  if (operator.startsWith('is_date')) return 'since'
  return operator.startsWith('semver') ? 'version' : any_key
}

const personFilter = fc.tuple(anyKey, property).map(([any_key, { operator, value }]) => ({
  key: keyFor(operator, any_key),
  type: 'person',
  operator,
  value,
}))

/** All of them: of a property it is not told, a client does not know that the person lacks it. */
const ownProperties = fc.record(
  Object.fromEntries(
    ['plan', 'age', 'email', 'since', 'version', 'vip', 'note'].map((name) => [
      name,
      ownValueFor(name),
    ]),
  ),
)

const FLAG_KEYS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta']
const VARIANTS = ['control', 'test', 'other']

const filter = fc.oneof(
  { weight: 8, arbitrary: personFilter },
  {
    weight: 1,
    arbitrary: fc.record({
      key: fc.constant('id'),
      type: fc.constant('cohort'),
      value: fc.integer({ min: 1, max: 5 }),
      operator: fc.constantFrom('in', 'not_in', 'exact'),
      negation: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      key: fc.constantFrom(...FLAG_KEYS, '2', 'nobody'),
      type: fc.constant('flag'),
      operator: fc.constant('flag_evaluates_to'),
      value: fc.oneof(fc.boolean(), fc.constantFrom(...VARIANTS)),
    }),
  },
)

const set = fc.record(
  {
    properties: fc.array(filter, { maxLength: 2 }),
    rollout_percentage: percentage,
    variant: fc.constantFrom(null, 'test', 'nowhere'),
  },
  { requiredKeys: [] },
)

const multivariate = fc.option(
  fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 3 }).map((shares) => ({
    variants: shares.map((rollout_percentage, index) => ({
      key: VARIANTS[index],
      rollout_percentage,
    })),
  })),
)

const extras = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constant({ early_exit: true }) },
  { weight: 1, arbitrary: fc.constant({ feature_enrollment: true }) },
  { weight: 1, arbitrary: fc.constant({ holdout: { id: 7, exclusion_percentage: 30 } }) },
  {
    weight: 1,
    arbitrary: fc.constant({ holdout_groups: [{ rollout_percentage: 40, variant: 'holdout-9' }] }),
  },
)

const groupSet = fc.record({
  properties: fc.array(
    personFilter.map((one) => ({ ...one, type: 'group', group_type_index: 0 })),
    { maxLength: 2 },
  ),
  rollout_percentage: percentage,
})

const anyFilters = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.array(set, { maxLength: 3 }), multivariate, extras)
      .map(([groups, variants, more]) => ({ groups, multivariate: variants, ...more })),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      properties: fc.array(personFilter, { maxLength: 2 }),
      rollout_percentage: percentage,
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.array(groupSet, { maxLength: 3 }), multivariate)
      .map(([groups, variants]) => ({
        groups,
        multivariate: variants,
        aggregation_group_type_index: 0,
      })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(set, groupSet).map(([person_set, group_set]) => ({
      groups: [{ ...group_set, aggregation_group_type_index: 0 }, person_set],
    })),
  },
)

const node: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(personFilter, fc.boolean()).map(([one, negation]) => ({ ...one, negation })),
    fc.record({
      type: fc.constantFrom('AND', 'OR'),
      values: fc.array(tie('node'), { maxLength: 3 }),
    }),
    fc.record({
      key: fc.constant('id'),
      type: fc.constant('cohort'),
      value: fc.integer({ min: 1, max: 5 }),
      negation: fc.boolean(),
    }),
  ),
})).node

const definitionsOf: fc.Arbitrary<StoredDefinitions> = fc
  .tuple(
    fc.array(fc.tuple(anyFilters, fc.integer({ min: 0, max: 19 })), {
      minLength: FLAG_KEYS.length,
      maxLength: FLAG_KEYS.length,
    }),
    fc.array(node, { minLength: 3, maxLength: 3 }),
  )
  .map(([flags, trees]) => ({
    flags: flags.map(([own, dice], index) =>
      makeFlag({
        id: index + 1,
        key: FLAG_KEYS[index] ?? '',
        filters: { ...own, payloads: { true: '{"a":1}', test: '"t"', 'holdout-7': '[7]' } },
        active: dice !== 0,
        ensure_experience_continuity: dice === 1,
        bucketing_identifier: dice === 2 ? 'device_id' : null,
      }),
    ),
    cohorts: [
      ...trees.map((tree, index) => makeCohort(index + 1, { type: 'AND', values: [tree] })),
      { ...makeCohort(4, {}), is_static: true },
    ],
    group_types: [{ group_type: 'company', group_type_index: 0 }],
  }))

type Asked = {
  readonly distinct_id: string
  readonly own: Record<string, unknown>
  readonly enrollment: string | null
  readonly company: string | null
  readonly company_properties: Record<string, unknown>
}

const asked: fc.Arbitrary<Asked> = fc.record({
  distinct_id: fc.oneof(fc.string({ unit: codePoint, minLength: 1, maxLength: 12 }), fc.uuid()),
  own: ownProperties,
  enrollment: fc.constantFrom(null, 'true', 'false'),
  company: fc.constantFrom(null, 'acme', 'globex'),
  company_properties: ownProperties,
})

function personOf(one: Asked): FlagPerson {
  const enrolled = one.enrollment === null ? {} : enrollments(one.enrollment)
  const request = { ...one.own, ...enrolled, $device_id: 'device-1' }
  return makePerson({
    distinct_id: one.distinct_id,
    person_properties: overlayProperties({
      stored: null,
      distinct_id: one.distinct_id,
      location: null,
      request,
    }),
    groups: one.company === null ? {} : { company: one.company },
    group_properties: { company: one.company_properties },
    isInCohort: (id) => id === 4,
    now: Date.now(),
  })
}

function enrollments(answer: string): Record<string, string> {
  return Object.fromEntries(FLAG_KEYS.map((name) => [`$feature_enrollment/${name}`, answer]))
}

/** What posthog-node says by itself; a flag that it cannot decide is not among the keys. */
async function askClient(one: Asked, person: FlagPerson) {
  return await client.getAllFlagsAndPayloads(one.distinct_id, {
    personProperties: person.person_properties,
    groups: person.groups as Record<string, string>,
    groupProperties: person.group_properties,
    onlyEvaluateLocally: true,
  })
}

function expectSameAnswers(
  definitions: CompiledFlags,
  person: FlagPerson,
  answer: Awaited<ReturnType<typeof askClient>>,
): number {
  const ours = new Map(
    evaluateFlags(definitions, person).results.map((result) => [result.flag.key, result]),
  )
  const flags = answer.featureFlags ?? {}
  const payloads = answer.featureFlagPayloads ?? {}
  for (const [flag_key, value] of Object.entries(flags)) {
    const result = ours.get(flag_key)
    expect({ flag_key, is_failed: result?.is_failed ?? false }).toEqual({
      flag_key,
      is_failed: false,
    })
    // A flag we do not list is one that is not active; clients know some of those, as off.
    expect({ flag_key, value }).toEqual({ flag_key, value: result ? valueOf(result) : false })
    const payload = result?.payload ?? null
    const own = Object.hasOwn(payloads, flag_key) ? payloads[flag_key] : null
    expect({ flag_key, own }).toEqual({
      flag_key,
      own: payload === null ? null : JSON.parse(asText(payload)),
    })
  }
  return Object.keys(flags).length
}

describe("an unmodified posthog-node's own evaluation", () => {
  test.each([true, false])(
    'gives our answer wherever it gives one (send_cohorts %p)',
    async (send_cohorts) => {
      let answers = 0
      let queries = 0
      await fc.assert(
        fc.asyncProperty(
          definitionsOf,
          fc.array(asked, { minLength: 4, maxLength: 4 }),
          async (stored, people) => {
            const definitions = compileDefinitions(stored)
            body = localDefinitions(definitions, { project_id: 1, send_cohorts })
            await client.reloadFeatureFlags()
            for (const one of people) {
              const person = personOf(one)
              answers += expectSameAnswers(definitions, person, await askClient(one, person))
              queries += stored.flags.filter((flag) => flag.active).length
            }
          },
        ),
        randomRuns(80),
      )
      // The law would hold of a client that decides nothing: see that it decides much.
      expect(answers / queries).toBeGreaterThan(0.5)
    },
    limitOf(240_000),
  )

  test(
    'decides every flag with a local verdict when it is told all properties',
    async () => {
      let decided = 0
      await fc.assert(
        fc.asyncProperty(definitionsOf, asked, async (stored, one) => {
          const definitions = compileDefinitions(stored)
          body = localDefinitions(definitions, { project_id: 1, send_cohorts: true })
          await client.reloadFeatureFlags()
          // A version is also a word, and a number with a fraction is also a version.
          const words = {
            plan: '1.2.3',
            email: '1.2.3',
            version: '1.2.3',
            vip: '1.2.3',
            note: '1.2.3',
          }
          const own = { ...words, age: 2.5, since: isoDaysAgo(3) }
          const told = { ...one, own, company: 'acme', company_properties: own, enrollment: 'true' }
          const answer = await askClient(told, personOf(told))
          for (const { key: flag_key, active } of stored.flags) {
            if (!active || !localVerdict(definitions, flag_key)?.is_local) continue
            expect(Object.keys(answer.featureFlags ?? {})).toContain(flag_key)
            decided += 1
          }
        }),
        randomRuns(30),
      )
      expect(decided).toBeGreaterThan(100)
    },
    limitOf(240_000),
  )
})

describe('the definitions for clients', () => {
  const options = { project_id: 7, send_cohorts: true }
  const is = (key: string, value: unknown) => ({ key, value, type: 'person' })
  const inCohort = (value: number, operator = 'in') => ({
    key: 'id',
    type: 'cohort',
    value,
    operator,
  })

  test('list active flags whole, with the group types by index', () => {
    const definitions = makeDefinitions(
      [
        makeFlag({
          key: 'on',
          name: 'about it',
          filters: { groups: [{ properties: [is('plan', 5)] }] },
        }),
        makeFlag({ key: 'inactive', active: false }),
        makeFlag({ key: 'deleted', deleted: true }),
      ],
      { group_types: [{ group_type: 'company', group_type_index: 2 }] },
    )
    expect(localDefinitions(definitions, options)).toEqual({
      flags: [
        {
          id: 1,
          team_id: 7,
          key: 'on',
          name: 'about it',
          active: true,
          deleted: false,
          version: 1,
          ensure_experience_continuity: false,
          bucketing_identifier: null,
          evaluation_runtime: null,
          evaluation_contexts: [],
          evaluation_tags: [],
          filters: {
            groups: [
              { properties: [{ key: 'plan', type: 'person', operator: 'exact', value: '5' }] },
            ],
            multivariate: null,
            payloads: {},
            aggregation_group_type_index: null,
            holdout: null,
          },
        },
      ],
      group_type_mapping: { '2': 'company' },
      cohorts: {},
    })
  })

  test('have no members of a wrong type: SDKs of Go, Rust and .NET would refuse them all', () => {
    const filtersOf = (filters: object) => {
      const flag = makeFlag({ key: 'odd', filters: { groups: [{}], ...filters } })
      const definitions = makeDefinitions([flag])
      return localDefinitions(definitions, options).flags[0]?.['filters']
    }
    const plain = filtersOf({})
    for (const early_exit of [null, 'yes', false]) expect(filtersOf({ early_exit })).toEqual(plain)
    for (const variants of [null, undefined]) {
      expect(filtersOf({ multivariate: { variants } })).toEqual(plain)
    }
    expect(filtersOf({ early_exit: true })).toMatchObject({ early_exit: true })
  })

  test('name the flags a flag depends on, in order, and list those that are not active', () => {
    const on = (key: string) => ({ key, value: true, type: 'flag', operator: 'flag_evaluates_to' })
    const needs = (key: string, other: string, id: number) =>
      makeFlag({ id, key, filters: { groups: [{ properties: [on(other)] }] } })
    const definitions = makeDefinitions([
      needs('c', '12', 13),
      needs('b', 'a', 12),
      makeFlag({ id: 11, key: 'a', active: false }),
    ])
    const body_flags = localDefinitions(definitions, options).flags
    expect(body_flags.map((flag) => [flag.key, flag.active])).toEqual([
      ['c', true],
      ['b', true],
      ['a', false],
    ])
    expect(body_flags[0]?.filters['groups']).toEqual([
      {
        properties: [
          {
            key: 'b',
            type: 'flag',
            operator: 'flag_evaluates_to',
            value: true,
            dependency_chain: ['a', 'b'],
          },
        ],
      },
    ])
  })

  test('hold the cohorts that flags ask about, and those these ask about, but no lists of people', () => {
    const definitions = makeDefinitions(
      [makeFlag({ key: 'flag', filters: { groups: [{ properties: [inCohort(1)] }] } })],
      {
        cohorts: [
          makeCohort(1, {
            type: 'OR',
            values: [is('a', 'x'), { type: 'AND', values: [inCohort(2)] }],
          }),
          makeCohort(2, {
            type: 'AND',
            values: [{ ...is('b', 'y'), negation: true }, inCohort(3), inCohort(5, 'not_in')],
          }),
          { ...makeCohort(3, {}), is_static: true },
          makeCohort(4, { type: 'AND', values: [is('c', 'z')] }),
          makeCohort(5, { type: 'AND', values: [is('d', 'w')] }),
        ],
      },
    )
    const leaf = (key: string, value: string, negation: boolean) => ({
      key,
      type: 'person',
      operator: 'exact',
      value,
      negation,
    })
    expect(localDefinitions(definitions, options).cohorts).toEqual({
      '1': {
        type: 'OR',
        values: [
          { type: 'AND', values: [leaf('a', 'x', false)] },
          { type: 'AND', values: [{ ...inCohort(2), negation: false }] },
        ],
      },
      '2': {
        type: 'AND',
        values: [
          leaf('b', 'y', true),
          { ...inCohort(3), negation: false },
          { ...inCohort(5), negation: true },
        ],
      },
      '5': { type: 'AND', values: [leaf('d', 'w', false)] },
    })
    expect(localVerdict(definitions, 'flag')).toEqual({
      is_local: false,
      reasons: ['static_cohort'],
    })
  })

  test('write a cohort out as properties for clients who do not take cohorts', () => {
    const definitions = makeDefinitions(
      [
        makeFlag({
          key: 'flag',
          filters: {
            groups: [{ properties: [is('p', 'q'), inCohort(1)], rollout_percentage: 30 }],
          },
        }),
      ],
      { cohorts: [makeCohort(1, { type: 'OR', values: [is('a', 'x'), is('b', 'y')] })] },
    )
    const exact = (key: string, value: string) => ({
      key,
      type: 'person',
      operator: 'exact',
      value,
    })
    const sent = localDefinitions(definitions, { ...options, send_cohorts: false })
    expect(sent.cohorts).toEqual({})
    expect(sent.flags[0]?.filters['groups']).toEqual([
      {
        properties: [exact('p', 'q'), { ...exact('a', 'x'), negation: false }],
        rollout_percentage: 30,
      },
      {
        properties: [exact('p', 'q'), { ...exact('b', 'y'), negation: false }],
        rollout_percentage: 30,
      },
    ])
  })

  test.each([
    ['experience_continuity', { ensure_experience_continuity: true }, 'kept'],
    ['static_cohort', { filters: { groups: [{ properties: [inCohort(1)] }] } }, 'kept'],
    ['behavioral_cohort', { filters: { groups: [{ properties: [inCohort(2)] }] } }, 'kept'],
    ['missing_cohort', { filters: { groups: [{ properties: [inCohort(3)] }] } }, 'kept'],
    [
      'unsupported_operator',
      { filters: { groups: [{ properties: [{ ...is('a', 'x'), operator: 'icontains_multi' }] }] } },
      'withheld',
    ],
    [
      'unsupported_operator',
      { filters: { groups: [{ properties: [{ ...is('a', '('), operator: 'regex' }] }] } },
      'withheld',
    ],
    [
      'unsupported_value',
      { filters: { groups: [{ properties: [{ ...is('a', 'many'), operator: 'gt' }] }] } },
      'withheld',
    ],
    [
      'unsupported_value',
      {
        filters: { groups: [{}], holdout_groups: [{ variant: 'kept out', rollout_percentage: 5 }] },
      },
      'withheld',
    ],
    [
      'mixed_targeting',
      {
        filters: {
          groups: [{ properties: [{ ...is('a', 1), type: 'group', group_type_index: 0 }] }],
        },
      },
      'withheld',
    ],
    [
      'mixed_targeting',
      {
        filters: {
          groups: [{ aggregation_group_type_index: null }],
          aggregation_group_type_index: 0,
        },
      },
      'withheld',
    ],
    [
      'early_access',
      {
        filters: {
          groups: [{}],
          feature_enrollment: true,
          holdout: { id: 1, exclusion_percentage: 5 },
        },
      },
      'withheld',
    ],
    [
      'early_access',
      { filters: { groups: [{}], super_groups: [{ properties: [inCohort(4)] }] } },
      'withheld',
    ],
    ['invalid_definition', { filters: { groups: 5 } }, 'withheld'],
    [
      'dependency',
      { filters: { groups: [{ properties: [{ key: 'other', type: 'flag', value: true }] }] } },
      'withheld',
    ],
  ])('say why a flag is not for clients: %s', (why, part, filters) => {
    const definitions = makeDefinitions(
      [
        makeFlag({ key: 'flag', ...part }),
        makeFlag({ key: 'other', ensure_experience_continuity: true }),
      ],
      {
        cohorts: [
          { ...makeCohort(1, {}), is_static: true },
          makeCohort(2, {
            type: 'AND',
            values: [{ type: 'behavioral', key: '$pageview', value: 'performed_event' }],
          }),
        ],
      },
    )
    expect(localVerdict(definitions, 'flag')).toEqual({ is_local: false, reasons: [why] as never })
    const sent = JSON.stringify(localDefinitions(definitions, options).flags[0]?.filters['groups'])
    expect(sent.includes('server_only') ? 'withheld' : 'kept').toBe(filters)
  })

  test('have no verdict on a flag that does not exist', () => {
    expect(localVerdict(makeDefinitions([]), 'nobody')).toBeNull()
  })
})
