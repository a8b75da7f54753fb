/** Queries somebody asked and may still cancel, by project and id: waiting callers and background queries alike. */
import { Refusal } from '../../errors.ts'
import { isOverShare } from './fair-share.ts'
import type { Subscription } from './shared-executions.ts'
import { moveStatus, type QueryProgress, type QueryStatus, type StatusKey } from './status.ts'

/** One asked query. A caller who waits has a status that is nowhere else. */
export type RunningQuery = {
  readonly status: QueryStatus
  readonly subscription: Subscription
  readonly begun_ms: () => number | null
}

/** Queries that may be asked at a time: those who join one that runs cost nothing to compute, but they are remembered. */
export const FLIGHTS_MAX = 10_000
const RETRY_AFTER_S = 5

export class RunningQueries {
  readonly #flights = new Map<string, readonly RunningQuery[]>()
  #count = 0

  get size(): number {
    return this.#count
  }

  /** Refuses with `throttled` when too many ask already, about this project more than its part. */
  requireRoom(project_id: number): void {
    if (this.#count < FLIGHTS_MAX) return
    const options = [...this.#flights.values()].flat().map(({ status }) => status.project_id)
    if (!isOverShare(options, project_id, FLIGHTS_MAX)) return
    const detail = 'Too many queries are being asked. Try again soon.'
    throw new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
  }

  add(running: RunningQuery): void {
    this.#count += 1
    const key = keyOf(running.status)
    this.#flights.set(key, [...(this.#flights.get(key) ?? []), running])
  }

  remove(running: RunningQuery): void {
    const key = keyOf(running.status)
    const known = this.#flights.get(key) ?? []
    const others = known.filter((other) => other !== running)
    this.#count -= known.length - others.length
    if (others.length === 0) this.#flights.delete(key)
    else this.#flights.set(key, others)
  }

  /** Those asked under an id; several callers may have waited under one. */
  find(key: StatusKey): readonly RunningQuery[] {
    return this.#flights.get(keyOf(key)) ?? []
  }

  /** All about a project. */
  ofProject(project_id: number): readonly RunningQuery[] {
    return [...this.#flights.values()]
      .flat()
      .filter(({ status }) => status.project_id === project_id)
  }
}

/** The status of a query whose caller waits: it is written down nowhere. */
export function statusOf({ status, begun_ms }: RunningQuery): QueryStatus {
  const since_ms = begun_ms()
  return since_ms === null ? status : (moveStatus(status, { kind: 'start' }, since_ms) ?? status)
}

/** How far a query is; null before it has begun. */
export async function readProgress(
  { subscription, begun_ms }: RunningQuery,
  now_ms: number,
): Promise<QueryProgress | null> {
  const since_ms = begun_ms()
  if (since_ms === null) return null
  const told = await subscription.probe()
  return {
    bytes_read: told?.bytes_read ?? 0,
    rows_read: told?.rows_read ?? 0,
    estimated_rows_total: told?.rows_total ?? 0,
    time_elapsed: Math.max(0, Math.floor((now_ms - since_ms) / 1000)),
    active_cpu_time: told?.cpu_us ?? 0,
  }
}

function keyOf({ project_id, caller, id }: StatusKey): string {
  return JSON.stringify([project_id, caller, id])
}
