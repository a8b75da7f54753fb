/** Cache keys: the same for equal queries, and for as long as their answers mean the same. */
import { expect, test } from 'bun:test'
import { cacheKey } from '../../../src/query/service/cache-key.ts'

const PROJECT = { id: 1, timezone: 'Europe/Berlin', week_start_day: 1, hidden_tables: [] }

const keyOf = (part: unknown): string => cacheKey(PROJECT, 'HogQLQuery', ['SELECT 1', part])

test('a key does not depend on the order of members, at any depth', () => {
  const one = { a: [{ x: 1, y: { p: 2n, q: null } }], b: true }
  const other = { b: true, a: [{ y: { q: null, p: 2n }, x: 1 }] }
  expect(keyOf(one)).toBe(keyOf(other))
  expect(keyOf({ ...one, b: false })).not.toBe(keyOf(one))
  expect(keyOf([1, 2])).not.toBe(keyOf([2, 1]))
})

test('a number, a text and a whole number of any size are three values', () => {
  expect(new Set([keyOf(1), keyOf('1'), keyOf(1n)]).size).toBe(3)
})

test('a time is a part of the key: an experiment that starts on another day has other answers', () => {
  const startedOn = (day: string) => keyOf({ id: 1, start_date: new Date(day), end_date: null })
  expect(startedOn('2026-11-01')).not.toBe(startedOn('2026-11-02'))
  expect(startedOn('2026-11-01')).toBe(startedOn('2026-11-01'))
})

test('a key stays the same from one version to the next, so that cached answers are found', () => {
  const parts = [
    'SELECT 1',
    { b: 1n, a: ['x', null, { d: 1.5, c: undefined }] },
    null,
    { '2': 'two', '10': 'ten', é: '\ud800' },
    50_000,
  ]
  expect(cacheKey(PROJECT, 'HogQLQuery', parts)).toBe('cache_33998fa6df66411600a793276f4eaf3f')
})
