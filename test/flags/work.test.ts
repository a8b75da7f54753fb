/** Definitions and people that would take seconds: what is too much is refused when it is saved, or fails its flag in time. */
import { describe, expect, test } from 'bun:test'
import { array, assert, constantFrom, property } from 'fast-check'
import { RE2JS } from 're2js'
import { evaluateFlags } from '../../src/flags/evaluate.ts'
import { compilePattern, patternSizeFault } from '../../src/flags/operators/pattern.ts'
import { randomRuns } from '../random-runs.ts'
import { decideText, makeCohort, makeDefinitions, makeFlag, makePerson } from './make.ts'

/** One evaluation takes a fiftieth of this; the machine may be busy. */
const LONG_MS = 1000

const is = (operator: string, value: unknown) => ({ key: 'p', type: 'person', operator, value })
const flagsOf = (count: number, propertiesOf: (index: number) => readonly unknown[]) =>
  Array.from({ length: count }, (_, index) =>
    makeFlag({ key: `f${index}`, filters: { groups: [{ properties: propertiesOf(index) }] } }),
  )
const words = (prefix: string) => Array.from({ length: 1000 }, (_, index) => `${prefix}.${index}`)
const SCRAMBLED = Array.from({ length: 9000 }, (_, index) => 'ab'[((index * index) % 7) & 1]).join(
  '',
)

describe('an evaluation', () => {
  test.each<[string, ReturnType<typeof flagsOf>, unknown]>([
    [
      'patterns with many states',
      flagsOf(500, (index) => [is('regex', `(?i)(?:a|b)*a(?:a|b){90}c${index}`)]),
      SCRAMBLED.slice(0, 1000),
    ],
    [
      'patterns over long texts',
      flagsOf(1000, (index) => [is('regex', `(?:a|b)*a(?:a|b){9}c${index}`)]),
      SCRAMBLED,
    ],
    [
      'substrings of long texts',
      flagsOf(100, (index) => [is('icontains', words(`zz${index}`))]),
      'zz'.repeat(500_000),
    ],
    [
      'texts made of long lists',
      flagsOf(2000, (index) => [is('exact', `x${index}`)]),
      Array.from({ length: 9000 }, (_, index) => ({ b: index, a: 'text' })),
    ],
    [
      'truths in long lists',
      flagsOf(1000, (index) => [
        is(
          'exact',
          Array.from({ length: index }, () => true),
        ),
      ]),
      Array.from({ length: 9000 }, () => true),
    ],
  ])('of too many %s fails flags, and soon', (_what, flags, p) => {
    const definitions = makeDefinitions(flags)
    const started = performance.now()
    const evaluation = evaluateFlags(definitions, makePerson({ person_properties: { p } }))
    const text = decideText(evaluation, 4)
    expect(performance.now() - started).toBeLessThan(LONG_MS)
    expect(evaluation.has_errors).toBe(true)
    expect(text).toMatch(/too_much_work|value_too_long/)
    expect(evaluation.results).toHaveLength(flags.length)
    expect(evaluation.bugs).toEqual([])
  })

  test.each(['gt', 'semver_gt', 'is_date_after'])(
    'of %s over long texts is soon over',
    (operator) => {
      const definitions = makeDefinitions(flagsOf(2000, (index) => [is(operator, String(index))]))
      const started = performance.now()
      const person_properties = { p: '1'.repeat(2_000_000) }
      const { results } = evaluateFlags(definitions, makePerson({ person_properties }))
      expect(performance.now() - started).toBeLessThan(LONG_MS)
      expect(results).toHaveLength(2000)
    },
  )

  test('of a few hundred ordinary patterns fails none, however busy the machine is', () => {
    const value = (index: number) => `^[^@\\s]+@(?:mail\\.)?company-${index}\\.(?:com|org)$`
    const definitions = makeDefinitions(flagsOf(150, (index) => [is('regex', value(index))]))
    const person = makePerson({ person_properties: { p: 'someone@company-7.com' } })
    const { results, has_errors } = evaluateFlags(definitions, person)
    expect(has_errors).toBe(false)
    expect(results.filter(({ enabled }) => enabled).map(({ flag }) => flag.key)).toEqual(['f7'])
  })
})

describe('a pattern', () => {
  test.each([
    ['repetitions', '(?i)(?:a|b)*a(?:a|b){990}c'],
    ['repetitions in repetitions', '(?:(?:a{30}){30}){3}'],
    ['characters', 'x'.repeat(2001)],
    ['classes', '\\pL'.repeat(100)],
    ['classes in one', `[${'\\pL'.repeat(100)}]`],
    ['repetitions of long parts', `(?:${'abc|'.repeat(200)}){9}`],
    ['repetitions side by side', 'a{99}'.repeat(100)],
  ])('is refused for too many %s', (_what, text) => {
    expect(compilePattern(text)).toBeNull()
    expect(patternSizeFault(text)).toContain('egular expression')
  })

  test.each([
    ['a uuid', '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'],
    ['an address', '^[^@]{1,255}@[^@]{1,255}\\.[a-z]{2,24}$'],
    ['odd classes', '\\p{Lu}[]a-z{9}]\\{2000\\}'],
    ['a list', Array.from({ length: 60 }, (_, index) => `p-${index}@example\\.com`).join('|')],
  ])('of %s is accepted', (_what, text) => {
    expect(patternSizeFault(text)).toBeNull()
    expect(compilePattern(text)).not.toBeNull()
  })

  test('compiles to no more than is expected of it', () => {
    const pieces = ['a', '(', '(?:', ')', '{3}', '{2,5}', '{4,}', '[ab]', '|', '*', '?', '\\d', '^']
    assert(
      property(array(constantFrom(...pieces), { maxLength: 30 }), (parts) => {
        const text = parts.join('')
        const pattern = compilePattern(text)
        if (pattern === null) return
        const size = RE2JS.compile(text).programSize()
        expect(size).toBeLessThanOrEqual(2 * pattern.instructions + 10)
        expect(size).toBeLessThan(8000)
      }),
      randomRuns(300),
    )
  })
})

describe('definitions that should not have been stored', () => {
  test('fail their flags and not the others', () => {
    const many = Array.from({ length: 2001 }, (_, index) => is('exact', String(index)))
    const definitions = makeDefinitions(
      [
        makeFlag({ key: 'conditions', filters: { groups: [{ properties: many }] } }),
        makeFlag({
          key: 'sets',
          filters: { groups: Array.from({ length: 1001 }, () => ({ properties: [] })) },
        }),
        makeFlag({
          key: 'cohort',
          filters: { groups: [{ properties: [{ key: 'id', type: 'cohort', value: 1 }] }] },
        }),
        makeFlag({ key: 'free' }),
      ],
      { cohorts: [makeCohort(1, { type: 'OR', values: [...many, ...many, ...many] })] },
    )
    const { results } = evaluateFlags(definitions, makePerson())
    expect(results.map(({ is_failed, reason }) => [is_failed, reason.code])).toEqual([
      [true, 'invalid_definition'],
      [true, 'invalid_definition'],
      [true, 'cohort_too_large'],
      [false, 'condition_match'],
    ])
  })

  test('with more patterns than a project may have leave the later ones unanswered', () => {
    const definitions = makeDefinitions(
      flagsOf(100, (index) => [is('regex', `(?:abc|def){100}x${index}`)]),
    )
    expect(definitions.pattern_instructions).toBeLessThanOrEqual(50_000)
    const { results, has_errors } = evaluateFlags(definitions, makePerson())
    expect([results.length, has_errors]).toEqual([100, true])
  })
})
