/** Freshness and the values of refresh, cell by cell. */
import { describe, expect, test } from 'bun:test'
import {
  actionOf,
  type CacheInterval,
  cacheState,
  REFRESH,
  type RefreshMode,
  refreshMode,
} from '../../../src/query/service/refresh.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('a refresh value', () => {
  test.each([
    ['blocking', 'compute', 'answer', 'compute'],
    ['async', 'start', 'answer', 'answer_and_start'],
    ['lazy_async', 'start', 'answer', 'answer_and_start'],
    ['force_blocking', 'compute', 'compute', 'compute'],
    ['force_async', 'start', 'start', 'start'],
    ['force_cache', 'miss', 'answer', 'answer'],
    ['async_except_on_cache_miss', 'compute', 'answer', 'answer_and_start'],
  ] as const)(
    '%s does %s with nothing, %s with something fresh, %s with something stale',
    (mode, none, fresh, stale) => {
      expect([actionOf(mode, 'none'), actionOf(mode, 'fresh'), actionOf(mode, 'stale')]).toEqual([
        none,
        fresh,
        stale,
      ])
    },
  )

  test('is one of seven', () => {
    expect(REFRESH.map(({ mode }) => mode)).toEqual([
      'blocking',
      'async',
      'lazy_async',
      'force_blocking',
      'force_async',
      'force_cache',
      'async_except_on_cache_miss',
    ])
  })

  test.each([
    [undefined, undefined, 'blocking'],
    [null, null, 'blocking'],
    [false, undefined, 'blocking'],
    [true, undefined, 'force_blocking'],
    [undefined, true, 'async'],
    [false, true, 'async'],
    [true, true, 'force_async'],
    ['lazy_async', true, 'lazy_async'],
    ['force_cache', undefined, 'force_cache'],
  ] as const)('%p with async %p means %s', (refresh, is_async, mode) => {
    expect(refreshMode(refresh, is_async)).toBe(mode)
  })
})

describe('an answer is fresh', () => {
  const computed = (last_refresh_ms: number, ends_at_ms: number | null = null) => ({
    last_refresh_ms,
    ends_at_ms,
  })
  const rows: readonly (readonly [CacheInterval | null, number, number])[] = [
    [null, MINUTE, HOUR],
    ['minute', 15 * SECOND, HOUR],
    ['hour', 15 * MINUTE, HOUR],
    ['day', 2 * HOUR, 6 * HOUR],
    ['week', 12 * HOUR, DAY],
    ['month', DAY, 2 * DAY],
  ]
  const cells = rows.flatMap(([interval, usual, lazy]) => [
    [interval, 'blocking', usual] as const,
    [interval, 'async', usual] as const,
    [interval, 'lazy_async', lazy] as const,
  ])

  test.each(cells)('by interval %p for %s, less than %d ms long', (interval, mode, fresh_ms) => {
    const at = 1_700_000_000_000
    const state = (age_ms: number) =>
      cacheState(mode, { interval, ends_at_ms: null }, computed(at), at + age_ms)
    expect([state(0), state(fresh_ms - 1), state(fresh_ms)]).toEqual(['fresh', 'fresh', 'stale'])
    // The clock was set back.
    expect(state(-1)).toBe('stale')
  })

  test('for a day, or longer as usual, when the time it is about was over', () => {
    const at = 1_700_000_000_000
    const state = (mode: RefreshMode, ends_at_ms: number, age_ms: number) =>
      cacheState(mode, { interval: 'day', ends_at_ms }, computed(at, ends_at_ms), at + age_ms)
    expect(state('blocking', at - 10 * SECOND - 1, DAY - 1)).toBe('fresh')
    expect(state('blocking', at - 10 * SECOND - 1, DAY)).toBe('stale')
    expect(state('blocking', at - 10 * SECOND, 2 * HOUR)).toBe('stale')
    expect(state('force_blocking', at - DAY, 0)).toBe('stale')
    const month = { interval: 'month', ends_at_ms: at - DAY } as const
    expect(cacheState('lazy_async', month, computed(at, at - DAY), at + 2 * DAY - 1)).toBe('fresh')
  })

  test('as usual, or no longer by days, where its time ends elsewhere now', () => {
    const at = 1_700_000_000_000
    const state = (interval: CacheInterval, is_same: boolean, age_ms: number) =>
      cacheState(
        'blocking',
        { interval, ends_at_ms: at - DAY, isSameStep: () => is_same },
        computed(at, at - 2 * DAY),
        at + age_ms,
      )
    expect([state('day', true, HOUR), state('day', true, 2 * HOUR)]).toEqual(['fresh', 'stale'])
    expect([state('day', false, 0), state('hour', false, MINUTE)]).toEqual(['stale', 'fresh'])
  })

  test('never for those who force, and nothing is none', () => {
    const freshness = { interval: null, ends_at_ms: null }
    expect(cacheState('force_blocking', freshness, computed(5), 5)).toBe('stale')
    expect(cacheState('blocking', freshness, null, 5)).toBe('none')
  })
})
