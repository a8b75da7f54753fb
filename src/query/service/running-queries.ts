/** The registry of queries that can be cancelled, by project and id: blocking and background queries alike. */
import { Refusal } from '../../errors.ts'
import { busy, timedOut } from '../engine/engine-refusals.ts'
import type { ComputedAnswer } from './cache.ts'
import { isOverShare } from './fair-share.ts'
import type { Subscription } from './shared-executions.ts'
import {
  moveStatus,
  type QueryProgress,
  type QueryStatus,
  type StatusEvent,
  type StatusKey,
} from './status.ts'

/** One query of one caller. The status of a blocking query is stored nowhere else. */
export type RunningQuery = {
  readonly status: QueryStatus
  readonly subscription: Subscription
  readonly begun_ms: () => number | null
}

/** Maximum number of queries, including those that only joined a running one: each of them takes memory. */
export const RUNNING_QUERIES_MAX = 10_000
const RETRY_AFTER_S = 5

/** Number of ended blocking queries whose status can still be read. */
export const ENDED_QUERIES_MAX = 1000

export class RunningQueries {
  readonly #by_key = new Map<string, readonly RunningQuery[]>()
  /** The oldest first. */
  readonly #ended = new Map<string, QueryStatus>()
  #count = 0

  get size(): number {
    return this.#count
  }

  /** Refuses with `throttled` when there are too many queries and the project has its fair share of them. */
  requireRoom(project_id: number): void {
    if (this.#count < RUNNING_QUERIES_MAX) return
    const project_ids = [...this.#by_key.values()].flat().map(({ status }) => status.project_id)
    if (!isOverShare(project_ids, project_id, RUNNING_QUERIES_MAX)) return
    const detail = 'Too many queries are being asked. Try again soon.'
    throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
  }

  add(running: RunningQuery): void {
    this.#count += 1
    const key = keyOf(running.status)
    this.#by_key.set(key, [...(this.#by_key.get(key) ?? []), running])
  }

  remove(running: RunningQuery): void {
    const key = keyOf(running.status)
    const before = this.#by_key.get(key) ?? []
    const others = before.filter((other) => other !== running)
    this.#count -= before.length - others.length
    if (others.length === 0) this.#by_key.delete(key)
    else this.#by_key.set(key, others)
  }

  /**
   * Keeps the status of a blocking query after its end: a caller who reads it meanwhile, to show progress, may be
   * overtaken by that end, and would be told that the query is unknown.
   */
  keepEnded(status: QueryStatus, event: StatusEvent, now_ms: number): void {
    const ended = moveStatus(status, event, now_ms)
    if (ended === null) return
    const key = keyOf(status)
    this.#ended.delete(key)
    this.#ended.set(key, ended)
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > ENDED_QUERIES_MAX && oldest !== undefined) this.#ended.delete(oldest)
  }

  /** Finds the status of an ended blocking query; null for an unknown, cancelled or expired id. */
  findEnded(key: StatusKey, now_ms: number): QueryStatus | null {
    const ended = this.#ended.get(keyOf(key))
    return ended === undefined ? null : moveStatus(ended, { kind: 'expire' }, now_ms)
  }

  /** Finds the queries under an id; a caller may have sent several under the same one. */
  find(key: StatusKey): readonly RunningQuery[] {
    return this.#by_key.get(keyOf(key)) ?? []
  }

  /** All queries about a project. */
  ofProject(project_id: number): readonly RunningQuery[] {
    return [...this.#by_key.values()]
      .flat()
      .filter(({ status }) => status.project_id === project_id)
  }
}

/** Derives the status of a blocking query, which is not stored. */
export function statusOf({ status, begun_ms }: RunningQuery): QueryStatus {
  const since_ms = begun_ms()
  return since_ms === null ? status : (moveStatus(status, { kind: 'start' }, since_ms) ?? status)
}

/** Reads the progress of a query; null before it has begun. */
export async function readProgress(
  { subscription, begun_ms }: RunningQuery,
  now_ms: number,
): Promise<QueryProgress | null> {
  const since_ms = begun_ms()
  if (since_ms === null) return null
  const counts = await subscription.probe()
  return {
    bytes_read: counts?.bytes_read ?? 0,
    rows_read: counts?.rows_read ?? 0,
    estimated_rows_total: counts?.rows_total ?? 0,
    time_elapsed: Math.max(0, Math.floor((now_ms - since_ms) / 1000)),
    active_cpu_time: counts?.cpu_us ?? 0,
  }
}

export type WaitLimits = {
  readonly timeout_ms: number
  /** Aborted when the caller has left. */
  readonly signal: AbortSignal
}

/**
 * Awaits the answer of a query for one caller. Refuses what the execution refuses, `query_timeout` after the timeout,
 * `throttled` when the query has not begun by then, and `query_cancelled` when the caller leaves or the query is
 * cancelled.
 */
export async function awaitResult(
  { subscription, begun_ms }: RunningQuery,
  { timeout_ms, signal }: WaitLimits,
): Promise<ComputedAnswer> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    timeout.reject(begun_ms() === null ? busy() : timedOut(timeout_ms))
    subscription.leave()
  }, timeout_ms)
  signal.addEventListener('abort', subscription.leave)
  if (signal.aborted) subscription.leave()
  try {
    return await Promise.race([timeout.promise, subscription.answer])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', subscription.leave)
  }
}

function keyOf({ project_id, caller, id }: StatusKey): string {
  return JSON.stringify([project_id, caller, id])
}
