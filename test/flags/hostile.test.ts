/** Definitions and people made to hurt, and the laws of rollouts and shares. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { evaluateFlags } from '../../src/flags/evaluate.ts'
import { randomRuns } from '../random-runs.ts'
import {
  decideText,
  localDefinitions,
  makeDefinitions,
  makeFlag,
  makePerson,
  valuesFor,
} from './make.ts'

const is = (key: string, value: unknown, operator = 'exact') => ({
  key,
  value,
  operator,
  type: 'person',
})

describe('a project', () => {
  test('may have 10,000 flags, each depending on the one before', () => {
    const flags = Array.from({ length: 10_000 }, (_, index) =>
      makeFlag({
        id: index + 1,
        key: `flag-${index}`,
        filters: {
          groups: [
            {
              properties: [
                is('plan', `plan-${index}`, 'is_not'),
                ...(index === 0 ? [] : [{ key: `flag-${index - 1}`, type: 'flag', value: true }]),
              ],
            },
          ],
        },
      }),
    )
    const definitions = makeDefinitions(flags.toReversed())
    const values = valuesFor(definitions, makePerson())
    expect(Object.keys(values)).toHaveLength(10_000)
    expect(values['flag-9999']).toBe(true)
    // Clients get chains up to a length; the whole of this one would be 50 million names.
    const sent = localDefinitions(definitions, { project_id: 1, send_cohorts: true })
    expect(sent.flags).toHaveLength(10_000)
    expect(JSON.stringify(sent).length).toBeLessThan(10_000_000)
    expect(JSON.stringify(sent.flags[0]?.filters)).toContain('server_only')
    expect(JSON.stringify(sent.flags.at(-50)?.filters)).not.toContain('server_only')
  })

  test('finds the contexts of 10,000 flags among as many as a request has room for', () => {
    const flags = Array.from({ length: 10_000 }, (_, index) =>
      makeFlag({ id: index + 1, key: `flag-${index}`, evaluation_contexts: [`context-${index}`] }),
    )
    const evaluation_contexts = new CountedSet(
      Array.from({ length: 250_000 }, (_, index) => (index < 2 ? `context-${index}` : `c${index}`)),
    )
    const selection = { flag_keys: null, evaluation_runtime: null, evaluation_contexts }
    const values = valuesFor(makeDefinitions(flags), makePerson(), selection)
    expect(Object.keys(values)).toEqual(['flag-0', 'flag-1'])
    // Each flag is looked up, and none walks the contexts.
    expect(evaluation_contexts.lookups).toBeLessThanOrEqual(2 * flags.length)
    expect(evaluation_contexts.walks).toBe(0)
  })

  test('with more is answered for the first 10,000 active ones, and says so; the others can be named', () => {
    const flags = Array.from({ length: 10_003 }, (_, index) =>
      makeFlag({
        id: index + 1,
        key: `flag-${index}`,
        active: index > 0,
        // The last of those evaluated depends on one that is not among them.
        filters: {
          groups: [
            {
              properties:
                index === 10_000 ? [{ key: 'flag-10002', type: 'flag', value: true }] : [],
            },
          ],
        },
      }),
    )
    const definitions = makeDefinitions(flags)
    const all = evaluateFlags(definitions, makePerson())
    expect(all.has_errors).toBe(true)
    expect(all.results.map(({ flag }) => flag.key)).toEqual(
      flags.slice(1, 10_001).map(({ key }) => key),
    )
    expect(all.results.at(-1)?.enabled).toBe(true)
    const named = { flag_keys: ['flag-10001'], evaluation_runtime: null, evaluation_contexts: null }
    expect(evaluateFlags(definitions, makePerson(), named)).toMatchObject({
      results: [{ flag: { key: 'flag-10001' }, enabled: true }],
      has_errors: false,
    })
  })

  test('may have a flag with a megabyte of filters', () => {
    const words = Array.from({ length: 100_000 }, (_, index) => `word-${index}`)
    const filters = {
      groups: [{ properties: [is('word', words)] }],
      payloads: { true: 'x'.repeat(1_000_000) },
    }
    const definitions = makeDefinitions([makeFlag({ key: 'big', filters })])
    expect(
      valuesFor(definitions, makePerson({ person_properties: { word: 'WORD-99999' } })),
    ).toEqual({ big: true })
    expect(valuesFor(definitions, makePerson({ person_properties: { word: 'word-x' } }))).toEqual({
      big: false,
    })
  })

  test('may have a circle of 9,999 flags, and another flag that is answered', () => {
    const circle = Array.from({ length: 9999 }, (_, index) =>
      makeFlag({
        id: index + 1,
        key: `flag-${index}`,
        filters: {
          groups: [
            { properties: [{ key: `flag-${(index + 1) % 9999}`, type: 'flag', value: true }] },
          ],
        },
      }),
    )
    const definitions = makeDefinitions([...circle, makeFlag({ id: 20_000, key: 'free' })])
    const evaluation = evaluateFlags(definitions, makePerson())
    expect(evaluation.results.filter((result) => result.is_failed)).toHaveLength(9999)
    expect(evaluation.results.at(-1)).toMatchObject({ enabled: true })
  })

  test('may name flags, variants and groups after what every object inherits', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    const flags = names.map((key, index) =>
      makeFlag({
        id: index + 1,
        key,
        filters: {
          groups: [{}],
          multivariate: { variants: [{ key, rollout_percentage: 100 }] },
          payloads: {},
        },
      }),
    )
    const grouped = makeFlag({
      id: 9,
      key: 'g',
      filters: { groups: [{}], aggregation_group_type_index: 0 },
    })
    const definitions = makeDefinitions([...flags, grouped], {
      group_types: [{ group_type: 'constructor', group_type_index: 0 }],
    })
    const evaluation = evaluateFlags(definitions, makePerson())
    expect(
      evaluation.results.map(({ variant, payload, enabled }) => ({ variant, payload, enabled })),
    ).toEqual([
      ...names.map((variant) => ({ variant, payload: null, enabled: true })),
      { variant: null, payload: null, enabled: false },
    ])
    const listed = decideText(evaluation, 3)
    expect(listed).toContain('"__proto__":"__proto__"')
    const body = JSON.stringify(
      localDefinitions(definitions, { project_id: 1, send_cohorts: true }),
    )
    expect(body).toContain('"__proto__"')
  })
})

describe('a person', () => {
  const definitions = makeDefinitions([
    makeFlag({ key: 'share', filters: { groups: [{ rollout_percentage: 50 }] } }),
    makeFlag({
      key: 'pattern',
      filters: { groups: [{ properties: [is('p', '(a+)+$', 'regex')] }] },
    }),
    makeFlag({ key: 'word', filters: { groups: [{ properties: [is('p', 'b', 'icontains')] }] } }),
    makeFlag({
      key: 'date',
      filters: { groups: [{ properties: [is('p', '-1d', 'is_date_after')] }] },
    }),
    makeFlag({
      key: 'version',
      filters: { groups: [{ properties: [is('p', '1.2', 'semver_gte')] }] },
    }),
  ])

  test('of any JSON is answered without a bug', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (distinct_id, p) => {
        const evaluation = evaluateFlags(
          definitions,
          makePerson({ distinct_id, person_properties: { p } }),
        )
        expect(evaluation.results).toHaveLength(5)
        expect(evaluation.bugs).toEqual([])
        expect(typeof evaluation.results[0]?.enabled).toBe('boolean')
      }),
      randomRuns(150),
    )
  })

  test('with a text that backtracks without end elsewhere is answered here', () => {
    const p = `${'a'.repeat(9_999)}!`
    expect(valuesFor(definitions, makePerson({ person_properties: { p } }))['pattern']).toBe(false)
  })

  test('with megabytes in one property costs only the flags with patterns, and they say so', () => {
    const p = 'a'.repeat(5_000_000)
    const evaluation = evaluateFlags(definitions, makePerson({ person_properties: { p } }))
    const codes = evaluation.results.map(({ flag, reason }) => [flag.key, reason.code])
    expect(Object.fromEntries(codes)).toMatchObject({
      pattern: 'value_too_long',
      word: 'no_condition_match',
    })
  })

  test('cannot give others properties through the prototype', () => {
    const person_properties = JSON.parse('{"__proto__":{"plan":"pro"}}')
    const flags = [
      makeFlag({ key: 'flag', filters: { groups: [{ properties: [is('plan', 'pro')] }] } }),
    ]
    expect(valuesFor(makeDefinitions(flags), makePerson({ person_properties }))).toEqual({
      flag: false,
    })
    expect(({} as Record<string, unknown>)['plan']).toBeUndefined()
  })
})

describe('the laws', () => {
  const atShare = (rollout_percentage: number) =>
    makeDefinitions([makeFlag({ key: 'flag', filters: { groups: [{ rollout_percentage }] } })])

  test('whoever is in at a percentage is in at every larger one', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.double({ min: 0, max: 100, noNaN: true }),
        fc.double({ min: 0, max: 100, noNaN: true }),
        (distinct_id, a, b) => {
          const person = makePerson({ distinct_id })
          const isIn = (share: number) => valuesFor(atShare(share), person)['flag'] === true
          expect(isIn(Math.min(a, b)) && !isIn(Math.max(a, b))).toBe(false)
        },
      ),
      randomRuns(300),
    )
  })

  test('everybody is in at 100 %, and nobody we can find at 0 %', () => {
    fc.assert(
      fc.property(fc.string(), (distinct_id) => {
        const person = makePerson({ distinct_id })
        expect(valuesFor(atShare(100), person)).toEqual({ flag: true })
        expect(valuesFor(atShare(0), person)).toEqual({ flag: false })
      }),
    )
  })

  test('variants get their shares of 100,000 people within half a percent, also of those a rollout lets in', () => {
    const shares = { a: 50, b: 20, c: 20, d: 5, e: 5 }
    const variants = Object.entries(shares).map(([key, rollout_percentage]) => ({
      key,
      rollout_percentage,
    }))
    const filters = { groups: [{ rollout_percentage: 60 }], multivariate: { variants } }
    const definitions = makeDefinitions([makeFlag({ key: 'shares', filters })])
    const counts = new Map<unknown, number>()
    for (let index = 0; index < 100_000; index += 1) {
      const value = valuesFor(definitions, makePerson({ distinct_id: `person-${index}` }))['shares']
      counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    const percent = (key: unknown): number => (counts.get(key) ?? 0) / 1000
    expect(Math.abs(percent(false) - 40)).toBeLessThan(0.5)
    for (const [key, share] of Object.entries(shares)) {
      expect(Math.abs(percent(key) - share * 0.6)).toBeLessThan(0.5)
    }
  })
})

/** Counts how often it is looked into. */
class CountedSet extends Set<string> {
  lookups = 0
  walks = 0

  override has(text: string): boolean {
    this.lookups += 1
    return super.has(text)
  }

  override values(): SetIterator<string> {
    this.walks += 1
    return super.values()
  }

  override [Symbol.iterator](): SetIterator<string> {
    this.walks += 1
    return super[Symbol.iterator]()
  }
}
