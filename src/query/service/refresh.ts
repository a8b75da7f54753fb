/** REFRESH: how fresh an answer has to be and whether its caller waits, by the values of `refresh`. */

/** What the cache has for a query, seen with the patience of one refresh value. */
export type CacheState = 'none' | 'fresh' | 'stale'

/**
 * What is done: compute while the caller waits, start a background computation, answer from the cache (and start one
 * beside it), or say that there is nothing.
 */
export type RefreshMove = 'answer' | 'answer_and_start' | 'compute' | 'miss' | 'start'

/** How old an answer may be: as usual for its interval, older for those who are not in a hurry, or not at all. */
type WaitPolicy = 'lazy' | 'none' | 'usual'

type RefreshRule = { readonly mode: string; readonly patience: WaitPolicy } & Readonly<
  Record<CacheState, RefreshMove>
>

/** One line per value. A query that is being computed is joined by whoever would compute or start it. */
export const REFRESH = [
  { mode: 'blocking', patience: 'usual', none: 'compute', fresh: 'answer', stale: 'compute' },
  { mode: 'async', patience: 'usual', none: 'start', fresh: 'answer', stale: 'answer_and_start' },
  {
    mode: 'lazy_async',
    patience: 'lazy',
    none: 'start',
    fresh: 'answer',
    stale: 'answer_and_start',
  },
  { mode: 'force_blocking', patience: 'none', none: 'compute', fresh: 'compute', stale: 'compute' },
  { mode: 'force_async', patience: 'none', none: 'start', fresh: 'start', stale: 'start' },
  { mode: 'force_cache', patience: 'usual', none: 'miss', fresh: 'answer', stale: 'answer' },
  {
    mode: 'async_except_on_cache_miss',
    patience: 'usual',
    none: 'compute',
    fresh: 'answer',
    stale: 'answer_and_start',
  },
] as const satisfies readonly RefreshRule[]

export type RefreshMode = (typeof REFRESH)[number]['mode']

/** The steps of time a query counts in. */
export type CacheInterval = 'day' | 'hour' | 'minute' | 'month' | 'week'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** How long an answer is fresh, by the query's interval; `default` for queries without one. */
const FRESH_MS = {
  default: { usual: MINUTE_MS, lazy: HOUR_MS },
  minute: { usual: 15 * SECOND_MS, lazy: HOUR_MS },
  hour: { usual: 15 * MINUTE_MS, lazy: HOUR_MS },
  day: { usual: 2 * HOUR_MS, lazy: 6 * HOUR_MS },
  week: { usual: 12 * HOUR_MS, lazy: DAY_MS },
  month: { usual: DAY_MS, lazy: 2 * DAY_MS },
} as const satisfies Record<'default' | CacheInterval, Record<Exclude<WaitPolicy, 'none'>, number>>

/** Events of the last seconds before a query may still be on their way. */
const LATE_MS = 10 * SECOND_MS

/** What decides how long an answer stays fresh. */
export type Freshness = {
  readonly interval: CacheInterval | null
  /** The end of the time a query is about, milliseconds since 1970; null when it has none. */
  readonly ends_at_ms: number | null
}

/** The mode that `refresh` and the old `async` ask for. */
export function refreshMode(
  refresh: RefreshMode | boolean | null | undefined,
  is_async: boolean | null | undefined,
): RefreshMode {
  if (typeof refresh === 'string') return refresh
  if (refresh === true) return is_async === true ? 'force_async' : 'force_blocking'
  return is_async === true ? 'async' : 'blocking'
}

/** What a mode does where the cache has nothing, something fresh, or something stale. */
export function moveOf(mode: RefreshMode, state: CacheState): RefreshMove {
  return refreshOf(mode)[state]
}

/** How old an answer may be for a mode, in milliseconds: infinite when the time asked about is over. */
export function patienceMs(
  mode: RefreshMode,
  freshness: Freshness,
  last_refresh_ms: number,
): number {
  const { patience } = refreshOf(mode)
  if (patience === 'none') return 0
  const { interval, ends_at_ms } = freshness
  if (ends_at_ms !== null && ends_at_ms < last_refresh_ms - LATE_MS) return Number.POSITIVE_INFINITY
  return FRESH_MS[interval ?? 'default'][patience]
}

/** What the cache's answer is for a mode at a time; null stands for no answer. */
export function cacheState(
  mode: RefreshMode,
  freshness: Freshness,
  last_refresh_ms: number | null,
  now_ms: number,
): CacheState {
  if (last_refresh_ms === null) return 'none'
  const age_ms = now_ms - last_refresh_ms
  return age_ms < patienceMs(mode, freshness, last_refresh_ms) ? 'fresh' : 'stale'
}

function refreshOf(mode: RefreshMode): (typeof REFRESH)[number] {
  const found = REFRESH.find((refresh) => refresh.mode === mode)
  if (found === undefined) throw new Error(`no refresh mode ${mode}`)
  return found
}
