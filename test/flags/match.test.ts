/** Every operator of a property filter, against values of every type, null, and a missing property. */
import { describe, expect, test } from 'bun:test'
import { evaluateFlags } from '../../src/flags/evaluate.ts'
import { OPERATORS, REGEX_TEXT_CHARS_MAX } from '../../src/flags/operators/operators.ts'
import { makeDefinitions, makeFlag, makePerson } from './make.ts'

/** Stands for a person who lacks the property. */
const MISSING = Symbol('missing')

type Case = readonly [operator: string, filter_value: unknown, own: unknown, holds: boolean]

const CASES: readonly Case[] = [
  // exact: string forms, case aside
  ['exact', 'pro', 'pro', true],
  ['exact', 'pro', 'PRO', true],
  ['exact', 'PRO', 'pro', true],
  ['exact', 'pro', 'prof', false],
  ['exact', 'pro', '', false],
  ['exact', '', '', true],
  ['exact', 'pro', null, false],
  ['exact', 'null', null, true],
  ['exact', 'pro', MISSING, false],
  ['exact', 'Straße', 'STRASSE', false],
  ['exact', 'ÉTÉ', 'été', true],
  ['exact', '5', 5, true],
  ['exact', 5, '5', true],
  ['exact', 5, 5, true],
  ['exact', 5, 5.5, false],
  ['exact', '5.5', 5.5, true],
  ['exact', ['pro', 'team'], 'Team', true],
  ['exact', ['pro', 'team'], 'free', false],
  ['exact', ['1', '2'], 2, true],
  ['exact', [1, 2], '2', true],
  ['exact', [1, 2], MISSING, false],
  ['exact', ['pro'], null, false],
  ['exact', '["a"]', ['a'], true],
  ['exact', '{"a":1,"b":2}', { b: 2, a: 1 }, true],
  ['exact', { a: 1 }, { a: 1 }, true],
  ['exact', { a: 1 }, { a: 2 }, false],
  // exact with a truth: the truth of both sides is compared
  ['exact', 'true', true, true],
  ['exact', 'True', 'TRUE', true],
  ['exact', true, 'true', true],
  ['exact', ['true'], true, true],
  ['exact', ['true'], 'yes', false],
  ['exact', true, 1, false],
  ['exact', 'false', false, true],
  ['exact', false, 'False', true],
  ['exact', false, 'anything', true],
  ['exact', 'false', null, true],
  ['exact', 'false', true, false],
  ['exact', 'false', MISSING, false],
  ['exact', ['true', 'false'], 'true', false],
  ['exact', ['true', 'false'], 'false', true],
  ['exact', [], 'us', false],
  ['exact', [], true, true],
  ['exact', [], MISSING, false],
  ['exact', null, null, false],
  // is_not
  ['is_not', 'pro', 'free', true],
  ['is_not', 'pro', 'Pro', false],
  ['is_not', 'pro', null, true],
  ['is_not', 'pro', MISSING, true],
  ['is_not', ['a', 'b'], 'B', false],
  ['is_not', ['a', 'b'], 'c', true],
  ['is_not', ['a', 'b'], MISSING, true],
  ['is_not', 'true', true, false],
  ['is_not', 'true', false, true],
  ['is_not', 5, 5, false],
  ['is_not', null, 'x', false],
  ['is_not', null, MISSING, false],
  // is_set, is_not_set
  ['is_set', 'is_set', 'x', true],
  ['is_set', undefined, 'x', true],
  ['is_set', 'is_set', '', true],
  ['is_set', 'is_set', 0, true],
  ['is_set', 'is_set', false, true],
  ['is_set', 'is_set', null, true],
  ['is_set', 'is_set', MISSING, false],
  ['is_not_set', 'is_not_set', 'x', false],
  ['is_not_set', 'is_not_set', null, false],
  ['is_not_set', undefined, MISSING, true],
  // icontains and its opposite: ASCII letters fold, others do not
  ['icontains', '@Example.com', 'a@example.COM', true],
  ['icontains', 'example', 'a@other.org', false],
  ['icontains', '', 'anything', true],
  ['icontains', 'É', 'é', false],
  ['icontains', 'é', 'ÉTÉ é', true],
  ['icontains', 'k', '\u212a', false],
  ['icontains', '2', 323, true],
  ['icontains', '3', 123.5, true],
  ['icontains', 'ru', true, true],
  ['icontains', 'ul', null, true],
  ['icontains', 'a', ['x', 'a'], true],
  ['icontains', 'x', MISSING, false],
  ['not_icontains', 'example', 'a@EXAMPLE.com', false],
  ['not_icontains', 'example', 'a@other.org', true],
  ['not_icontains', 'ul', null, false],
  ['not_icontains', 'x', MISSING, true],
  ['not_icontains', null, MISSING, false],
  ['icontains_multi', ['foo', 'BAR'], 'lumber', false],
  ['icontains_multi', ['foo', 'BAR'], 'a bar b', true],
  ['icontains_multi', 'bar', 'a BAR b', true],
  ['icontains_multi', [], 'a', false],
  ['icontains_multi', ['1'], 21, true],
  ['icontains_multi', ['a'], MISSING, false],
  ['not_icontains_multi', ['foo', 'bar'], 'a bar b', false],
  ['not_icontains_multi', ['foo', 'bar'], 'baz', true],
  ['not_icontains_multi', ['foo'], MISSING, true],
  // prefixes and suffixes
  ['starts_with', 'Mo', 'mozilla', true],
  ['starts_with', 'zi', 'mozilla', false],
  ['starts_with', ['a', 'mo'], 'Mozilla', true],
  ['starts_with', '12', 123, true],
  ['starts_with', 'nu', null, true],
  ['starts_with', 'm', MISSING, false],
  ['not_starts_with', 'Mo', 'mozilla', false],
  ['not_starts_with', 'zi', 'mozilla', true],
  ['not_starts_with', 'm', MISSING, true],
  ['ends_with', '.ORG', 'a@b.org', true],
  ['ends_with', '.com', 'a@b.org', false],
  ['ends_with', '23', 123, true],
  ['ends_with', 'se', false, true],
  ['ends_with', 'm', MISSING, false],
  ['not_ends_with', '.org', 'a@b.ORG', false],
  ['not_ends_with', '.com', 'a@b.org', true],
  ['not_ends_with', '.com', null, true],
  ['not_ends_with', '.com', MISSING, true],
  // patterns: searched anywhere, case kept
  ['regex', '^a.*z$', 'abcz', true],
  ['regex', 'bc', 'abcz', true],
  ['regex', 'BC', 'abcz', false],
  ['regex', '(?i)BC', 'abcz', true],
  ['regex', '\\d{3}', 12_345, true],
  ['regex', '^true$', true, true],
  ['regex', '^null$', null, true],
  ['regex', '', 'x', true],
  ['regex', '日本', '東京 日本', true],
  ['regex', 'x', MISSING, false],
  ['not_regex', '\\d', 'abc', true],
  ['not_regex', '\\d', 'ab3', false],
  ['not_regex', '\\d', MISSING, true],
  ['not_regex', '^null$', null, false],
  // order of numbers
  ['gt', 5, 6, true],
  ['gt', 5, 5, false],
  ['gt', '5', '6', true],
  ['gt', '5', 10, true],
  ['gt', '5', '10', true],
  ['gt', 5, 'abc', false],
  ['gt', 'abc', 5, false],
  ['gt', 'abc', 'abd', false],
  ['gt', 5, true, false],
  ['gt', 5, null, false],
  ['gt', 5, '', false],
  ['gt', 5, [6], false],
  ['gt', 5, MISSING, false],
  ['gt', '-1.5e3', '-1499.5', true],
  ['gte', 5, 5, true],
  ['gte', '5.0', '5', true],
  ['gte', 5, 4.999, false],
  ['gte', 5, null, false],
  ['gte', 5, MISSING, false],
  ['lt', 5, 4, true],
  ['lt', 5, 5, false],
  ['lt', '10', '9', true],
  ['lt', 5, 'abc', false],
  ['lt', 5, null, false],
  ['lt', 5, MISSING, false],
  ['lte', 5, 5, true],
  ['lte', 5, '5.1', false],
  ['lte', 5, false, false],
  ['lte', 5, null, false],
  ['lte', 5, MISSING, false],
  // dates; now is 2026-05-15T12:00:00Z
  ['is_date_exact', '2026-05-01', '2026-05-01', true],
  ['is_date_exact', '2026-05-01', '2026-05-01T00:00:00Z', true],
  ['is_date_exact', '2026-05-01', '2026-05-01T02:00:00+02:00', true],
  ['is_date_exact', '2026-05-01', '2026-05-01T00:00:01Z', false],
  ['is_date_exact', '2026-05-01', '2026-05-01 00:00:00 UTC', true],
  ['is_date_exact', '2026-05-01', '2026-05-01 00:00:00 GMT', true],
  ['is_date_exact', '2026-05-01', '2026-05-01 00:00:00 EST', false],
  ['is_date_exact', '2026-05-01', 1_777_593_600, true],
  ['is_date_exact', '2026-05-01', '1777593600', true],
  ['is_date_exact', '2026-05-01', MISSING, false],
  ['is_date_before', '2026-05-01', '2026-04-30', true],
  ['is_date_before', '2026-05-01', '2026-05-01', false],
  ['is_date_before', '2026-05-01 10:00', '2026-05-01 09:59:59.999', true],
  ['is_date_before', '2026-05-01', 'yesterday', false],
  ['is_date_before', '2026-05-01', '2026-02-30', false],
  ['is_date_before', 'soon', '2026-04-30', false],
  ['is_date_before', '2026-05-01', null, false],
  ['is_date_before', '2026-05-01', true, false],
  ['is_date_before', '2026-05-01', {}, false],
  ['is_date_before', '2026-05-01', MISSING, false],
  ['is_date_before', '-1h', '2026-05-15T10:59:59Z', true],
  ['is_date_before', '1h', '2026-05-15T11:00:01Z', false],
  ['is_date_before', '-30d', 1_000_000_000, true],
  ['is_date_before', 5, '2020-01-01', false],
  ['is_date_after', '2026-05-01', '2026-05-02', true],
  ['is_date_after', '2026-05-01', '2026-05-01', false],
  ['is_date_after', '-7d', '2026-05-08T12:00:01Z', true],
  ['is_date_after', '-7d', '2026-05-08T12:00:00Z', false],
  ['is_date_after', '-1w', '2026-05-08T12:00:01Z', true],
  ['is_date_after', '-1m', '2026-04-15T12:00:01Z', true],
  ['is_date_after', '-1m', '2026-04-15T11:59:59Z', false],
  ['is_date_after', '-1y', '2025-05-15T12:00:01Z', true],
  ['is_date_after', '-10000d', '2026-05-01', false],
  ['is_date_after', '-7x', '2026-05-15', false],
  ['is_date_after', '-7d', null, false],
  ['is_date_after', '-7d', MISSING, false],
  // ranges
  ['between', [1, 5], 1, true],
  ['between', [1, 5], 5, true],
  ['between', ['1', '5.5'], '5.25', true],
  ['between', [1, 5], 5.01, false],
  ['between', [1, 5], 0, false],
  ['between', [5, 1], 3, false],
  ['between', [1, 5], 'three', false],
  ['between', [1, 5], null, false],
  ['between', [1, 5], 'NaN', false],
  ['between', [1], 1, false],
  ['between', '1,5', 1, false],
  ['between', ['one', 5], 1, false],
  ['between', [1, 5], MISSING, false],
  ['not_between', [1, 5], 0, true],
  ['not_between', [1, 5], '6', true],
  ['not_between', [1, 5], 1, false],
  ['not_between', [1, 5], 'three', false],
  ['not_between', [1, 5], null, false],
  ['not_between', [5, 1], 9, false],
  ['not_between', [1, 5], MISSING, true],
  ['not_between', null, 9, false],
  // versions
  ['semver_eq', '1.2.3', 'v1.2.3', true],
  ['semver_eq', '1.2', '1.2.0', true],
  ['semver_eq', '1.2.3', '1.2.3-beta+7', true],
  ['semver_eq', '1.2.3', '1.2.3.4', true],
  ['semver_eq', '1.2.3', '1.2.4', false],
  ['semver_eq', '3.8', '3.08', true],
  ['semver_eq', '1.2', 1.2, true],
  ['semver_eq', '1.2.3', 'latest', false],
  ['semver_eq', '1.2.3', null, false],
  ['semver_eq', '1.2.3', MISSING, false],
  ['semver_neq', '1.2.3', '1.2.4', true],
  ['semver_neq', '1.2.3', '1.2.3', false],
  ['semver_neq', '1.2.3', 'latest', false],
  ['semver_neq', '1.2.3', MISSING, false],
  ['semver_gt', '1.2.9', '1.2.10', true],
  ['semver_gt', '1.2.3', '1.2.3', false],
  ['semver_gt', '1.2.3', '1.10', true],
  ['semver_gt', 'x', '1.10', false],
  ['semver_gt', '1.2.3', MISSING, false],
  ['semver_gte', '1.2.3', '1.2.3', true],
  ['semver_gte', '1.2.3', '1.2.2', false],
  ['semver_gte', '1.2.3', null, false],
  ['semver_lt', '2', '1.99.99', true],
  ['semver_lt', '2', '2.0.0', false],
  ['semver_lt', '2', MISSING, false],
  ['semver_lte', '2', '2.0.0', true],
  ['semver_lte', '2', '2.0.1', false],
  ['semver_lte', '2', true, false],
  ['semver_tilde', '1.2.3', '1.2.9', true],
  ['semver_tilde', '1.2.3', '1.3.0', false],
  ['semver_tilde', '1.2.3', '1.2.2', false],
  ['semver_tilde', '1.2.3', MISSING, false],
  ['semver_caret', '1.2.3', '1.9.0', true],
  ['semver_caret', '1.2.3', '2.0.0', false],
  ['semver_caret', '0.2.3', '0.2.9', true],
  ['semver_caret', '0.2.3', '0.3.0', false],
  ['semver_caret', '0.0.3', '0.0.4', false],
  ['semver_caret', '0.0.3', null, false],
  ['semver_wildcard', '1.*', '1.9.9', true],
  ['semver_wildcard', '1.*', '2.0.0', false],
  ['semver_wildcard', '1.2.*', '1.2.9', true],
  ['semver_wildcard', '1.2.*', '1.3.0', false],
  ['semver_wildcard', '1.*.*', '1.5.0', true],
  ['semver_wildcard', '*', '9.9.9', true],
  ['semver_wildcard', '1.x', '1.5.0', false],
  ['semver_wildcard', '1.*', MISSING, false],
]

function ask(operator: string | undefined, value: unknown, own: unknown) {
  const property = { key: 'p', type: 'person', operator, value }
  const definitions = makeDefinitions([
    makeFlag({ key: 'flag', filters: { groups: [{ properties: [property] }] } }),
  ])
  const person_properties = own === MISSING ? {} : { p: own }
  return evaluateFlags(definitions, makePerson({ person_properties }))
}

describe('a property filter', () => {
  test.each(CASES.map((one) => ({ one })))(
    '%j',
    ({ one: [operator, filter_value, own, holds] }) => {
      const evaluation = ask(operator, filter_value, own)
      expect(evaluation.results[0]?.enabled).toBe(holds)
      expect(evaluation.has_errors).toBe(false)
    },
  )

  test('without an operator compares as exact does', () => {
    expect(ask(undefined, 'a', 'A').results[0]?.enabled).toBe(true)
    expect(ask(undefined, 'a', 'b').results[0]?.enabled).toBe(false)
  })

  test('has cases for every operator: with a value that holds, one that does not, and a missing property', () => {
    for (const { name } of OPERATORS) {
      const own = CASES.filter(([operator]) => operator === name)
      expect({ name, holds: own.some(([, , , holds]) => holds) }).toEqual({ name, holds: true })
      expect({ name, fails: own.some(([, , , holds]) => !holds) }).toEqual({ name, fails: true })
      const is_missing_tried = own.some(([, , value]) => value === MISSING)
      expect({ name, is_missing_tried: is_missing_tried || name.startsWith('semver') }).toEqual({
        name,
        is_missing_tried: true,
      })
    }
    expect(CASES.length).toBeGreaterThanOrEqual(150)
  })

  test.each([
    ['an operator nobody knows', 'sounds_like', 'x', 'x'],
    ['an operator of cohorts', 'in', 'x', 'x'],
    ['a pattern that is none', 'regex', '(', 'x'],
    ['the opposite of a pattern that is none', 'not_regex', '(', 'x'],
    ['a pattern with a back-reference', 'regex', '(a)\\1', 'aa'],
    ['a pattern that looks ahead', 'not_regex', 'a(?!b)', 'ac'],
    ['a bomb of repetitions', 'regex', '((a{100}){100}){100}', 'a'],
    ['the opposite of a bad pattern, for a missing property', 'not_regex', '(', MISSING],
  ])('with %s does not match and is reported', (_name, operator, value, own) => {
    const evaluation = ask(operator, value, own)
    expect(evaluation.results[0]?.enabled).toBe(false)
    expect(evaluation.results[0]?.is_failed).toBe(false)
    expect(evaluation.has_errors).toBe(true)
  })

  test('with a pattern refuses a text too long to be searched, and the flag fails', () => {
    const longest = 'a'.repeat(REGEX_TEXT_CHARS_MAX)
    expect(ask('regex', 'a$', longest).results[0]?.enabled).toBe(true)
    const evaluation = ask('regex', 'a$', `${longest}a`)
    expect(evaluation.results[0]?.reason.code).toBe('value_too_long')
    expect(evaluation.results[0]?.is_failed).toBe(true)
    expect(evaluation.has_errors).toBe(true)
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])(
    'on %s sees only what the person has under that name',
    (key) => {
      const definitions = makeDefinitions([
        makeFlag({
          key: 'set',
          filters: { groups: [{ properties: [{ key, operator: 'is_set', value: 'is_set' }] }] },
        }),
        makeFlag({
          key: 'equal',
          filters: { groups: [{ properties: [{ key, value: 'mine' }] }] },
        }),
      ])
      const enabled = (person_properties: Record<string, unknown>): boolean[] =>
        evaluateFlags(definitions, makePerson({ person_properties })).results.map(
          (result) => result.enabled,
        )
      expect(enabled({})).toEqual([false, false])
      expect(enabled(JSON.parse(`{"${key}":"mine"}`))).toEqual([true, true])
    },
  )
})
