/** REFRESH: a decision table from the value of `refresh` and the cache's state to the action of the service. */

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../time.ts'

/** The state of a query's cached answer, by the maximum age of one refresh mode. */
type CacheState = 'none' | 'fresh' | 'stale'

/**
 * The next action of the service: compute while the caller waits, start a background query, answer from the cache (and also
 * start a background query), or answer that there is nothing.
 */
type RefreshAction = 'answer' | 'answer_and_start' | 'compute' | 'miss' | 'start'

/** The maximum age that applies: the usual one for the query's interval, a longer one, or zero. */
type MaxAgePolicy = 'lazy' | 'none' | 'usual'

type RefreshRule = { readonly mode: string; readonly max_age: MaxAgePolicy } & Readonly<
  Record<CacheState, RefreshAction>
>

/** One line per value of `refresh`. `compute` and `start` join an equal query that is already running. */
export const REFRESH = [
  { mode: 'blocking', max_age: 'usual', none: 'compute', fresh: 'answer', stale: 'compute' },
  { mode: 'async', max_age: 'usual', none: 'start', fresh: 'answer', stale: 'answer_and_start' },
  {
    mode: 'lazy_async',
    max_age: 'lazy',
    none: 'start',
    fresh: 'answer',
    stale: 'answer_and_start',
  },
  { mode: 'force_blocking', max_age: 'none', none: 'compute', fresh: 'compute', stale: 'compute' },
  { mode: 'force_async', max_age: 'none', none: 'start', fresh: 'start', stale: 'start' },
  { mode: 'force_cache', max_age: 'usual', none: 'miss', fresh: 'answer', stale: 'answer' },
  {
    mode: 'async_except_on_cache_miss',
    max_age: 'usual',
    none: 'compute',
    fresh: 'answer',
    stale: 'answer_and_start',
  },
] as const satisfies readonly RefreshRule[]

export type RefreshMode = (typeof REFRESH)[number]['mode']

/** The interval of a query's time axis. */
export type CacheInterval = 'day' | 'hour' | 'minute' | 'month' | 'week'

/** The time for which an answer is fresh, by the query's interval; `default` for queries without one. */
const FRESH_MS = {
  default: { usual: MINUTE_MS, lazy: HOUR_MS },
  minute: { usual: 15 * SECOND_MS, lazy: HOUR_MS },
  hour: { usual: 15 * MINUTE_MS, lazy: HOUR_MS },
  day: { usual: 2 * HOUR_MS, lazy: 6 * HOUR_MS },
  week: { usual: 12 * HOUR_MS, lazy: DAY_MS },
  month: { usual: DAY_MS, lazy: 2 * DAY_MS },
} as const satisfies Record<
  'default' | CacheInterval,
  Record<Exclude<MaxAgePolicy, 'none'>, number>
>

/** Events of the last seconds before a query may not have arrived yet. */
const LATE_MS = 10 * SECOND_MS

/**
 * An answer about the past changes too: persons, their merges and cohorts do, events arrive late, and a filter may have a
 * date that is relative to now.
 */
const PAST_MS = DAY_MS

/** The facts about a query that decide how long its answer stays fresh. */
export type Freshness = {
  readonly interval: CacheInterval | null
  /** The end of the query's time range, milliseconds since 1970; null when it has none. */
  readonly ends_at_ms: number | null
  /** Whether the range begins at another time later, as `-7d` does. */
  readonly is_start_relative?: boolean
  /** The time that a client should wait before it asks again; missing for the usual one. */
  readonly client_wait_ms?: number
  /** Whether another end is in the same interval of the time axis; for ranges that may move. */
  readonly isSameStep?: (ends_at_ms: number) => boolean
}

/** The times of a computed answer, milliseconds since 1970. */
export type AnswerTimes = {
  /** The answer includes everything that was committed before this time. */
  readonly last_refresh_ms: number
  /** The end of the query's time range at that time; null when it has none. */
  readonly ends_at_ms: number | null
}

/** Intervals in which a moved axis makes an answer stale; an answer by shorter ones is old before that matters. */
const CALENDAR_INTERVALS: ReadonlySet<string | null> = new Set(['day', 'week', 'month'])

/** Derives the mode from `refresh` and the older `async`. */
export function refreshMode(
  refresh: RefreshMode | boolean | null | undefined,
  is_async: boolean | null | undefined,
): RefreshMode {
  if (typeof refresh === 'string') return refresh
  if (refresh === true) return is_async === true ? 'force_async' : 'force_blocking'
  return is_async === true ? 'async' : 'blocking'
}

/** Looks up the action of a mode for a state of the cache. */
export function actionOf(mode: RefreshMode, state: CacheState): RefreshAction {
  return ruleOf(mode)[state]
}

/**
 * Maximum age of an answer in milliseconds, or of one that is being computed (null). A day or more when the query's time
 * range ended before the answer was computed, still ends there and does not begin later; zero when its axis has another
 * last day, week or month now.
 */
export function maxAgeMs(
  mode: RefreshMode,
  { interval, ends_at_ms, is_start_relative = false, isSameStep }: Freshness,
  answer: AnswerTimes | null,
): number {
  const { max_age } = ruleOf(mode)
  if (max_age === 'none') return 0
  const usual_ms = FRESH_MS[interval ?? 'default'][max_age]
  const then_ms = answer?.ends_at_ms ?? null
  if (answer === null || then_ms === null || ends_at_ms === null) return usual_ms
  if (then_ms === ends_at_ms) {
    const is_over = then_ms < answer.last_refresh_ms - LATE_MS
    return is_over && !is_start_relative ? Math.max(usual_ms, PAST_MS) : usual_ms
  }
  const is_same = !CALENDAR_INTERVALS.has(interval) || (isSameStep?.(then_ms) ?? true)
  return is_same ? usual_ms : 0
}

/** Classifies the cached answer for a mode; null when there is none. */
export function cacheState(
  mode: RefreshMode,
  freshness: Freshness,
  answer: AnswerTimes | null,
  now_ms: number,
): CacheState {
  if (answer === null) return 'none'
  const age_ms = now_ms - answer.last_refresh_ms
  // An answer from the future was computed before the clock was set back: its true age is unknown.
  const is_fresh = age_ms >= 0 && age_ms < maxAgeMs(mode, freshness, answer)
  return is_fresh ? 'fresh' : 'stale'
}

function ruleOf(mode: RefreshMode): (typeof REFRESH)[number] {
  const rule = REFRESH.find((refresh) => refresh.mode === mode)
  if (rule === undefined) throw new Error(`no refresh mode ${mode}`)
  return rule
}
