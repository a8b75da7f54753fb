/** One caller's query in the scheduler: its status, its progress, and waiting for its answer. */
import { refuseFullQueue, refuseTimedOut } from '../engine/engine-refusals.ts'
import type { QueryProgressCounts } from '../engine/protocol.ts'
import type { ComputedAnswer } from '../service/cache.ts'
import { changeStatus, type QueryProgress, type QueryStatus } from '../service/status.ts'

/** Reads the progress of a running query; null when it is not available. */
export type ProgressProbe = () => Promise<QueryProgressCounts | null>

/** One query of one caller. The status of a blocking query is stored nowhere else. */
export type ScheduledQuery = {
  readonly status: QueryStatus
  /** The answer. Refuses what the execution refuses, and with `query_cancelled` after `leave`. */
  readonly answer: Promise<ComputedAnswer>
  /** Resolves when the engine begins the query; pending for ever when it does not. */
  readonly begun: Promise<void>
  /** Time at which the engine began the query, in milliseconds since 1970; null before. */
  readonly begun_ms: () => number | null
  readonly probe: ProgressProbe
  /** True when stored events of the project changed after the execution began: later callers must not get its answer. */
  readonly isOutdated: () => boolean
  /** Cancels the query for this caller; the execution stops with its last caller. Idempotent. */
  readonly leave: () => void
  /** Takes the query out of the scheduler, after its end: its id finds it no more. Idempotent. */
  readonly end: () => void
}

/** Derives the status of a blocking query, which is not stored. */
export function statusOf({ status, begun_ms }: ScheduledQuery): QueryStatus {
  const since_ms = begun_ms()
  return since_ms === null ? status : (changeStatus(status, { kind: 'start' }, since_ms) ?? status)
}

/** Reads the progress of a query; null before it has begun. */
export async function readProgress(
  { probe, begun_ms }: ScheduledQuery,
  now_ms: number,
): Promise<QueryProgress | null> {
  const since_ms = begun_ms()
  if (since_ms === null) return null
  const counts = await probe()
  return {
    bytes_read: counts?.bytes_read ?? 0,
    rows_read: counts?.rows_read ?? 0,
    estimated_rows_total: counts?.rows_total ?? 0,
    time_elapsed: Math.max(0, Math.floor((now_ms - since_ms) / 1000)),
    active_cpu_time: counts?.cpu_us ?? 0,
  }
}

type WaitLimits = {
  readonly timeout_ms: number
  /** Aborted when the caller has left. */
  readonly signal: AbortSignal
}

/**
 * Awaits the answer of a query for one caller. Refuses what the execution refuses, `query_timeout` after the timeout,
 * `throttled` when the query has not begun by then, and `query_cancelled` when the caller leaves or the query is
 * cancelled.
 */
export async function awaitAnswer(
  { answer, begun_ms, leave }: ScheduledQuery,
  { timeout_ms, signal }: WaitLimits,
): Promise<ComputedAnswer> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    timeout.reject(begun_ms() === null ? refuseFullQueue() : refuseTimedOut(timeout_ms))
    leave()
  }, timeout_ms)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  try {
    return await Promise.race([timeout.promise, answer])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}
