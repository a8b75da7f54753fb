/**
 * Retries: whether a query runs once more after its worker ended, or could not go on. The functions change the counts of the
 * query, and return why it is refused; null when it waits again.
 */
import type { QueuedQuery } from './queued-query.ts'

/** A query is begun once more when the worker died while it ran. */
const ATTEMPTS_MAX = 2
/** A query is begun again this often after its worker was ended because of others; then it is refused with a 503. */
const INTERRUPTIONS_MAX = 5
/** A query that failed sooner did not itself use up the address space: it is repeated beside others. */
const INNOCENT_MS = 100

type WorkerEnd = {
  /** The engine killed the worker because of another query; otherwise it died by itself or used too much memory. */
  readonly was_killed_for_others: boolean
  /** No other query ran in it. */
  readonly was_alone: boolean
  /** The number of this death. */
  readonly death: number
}

/**
 * After the end of its worker, a query runs again:
 *
 *   killed because of others    → as before
 *   died with several queries   → as a suspect, since each of them may be the cause
 *   died with this query alone  → as a suspect, once; then it is refused as the cause
 *
 * Parts of an answer that were sent cannot be recalled: such a query is refused at once.
 */
export function retryAfterEnd(task: QueuedQuery, end: WorkerEnd): 'crashed' | 'interrupted' | null {
  if (end.was_killed_for_others || !end.was_alone) {
    task.attempts -= 1
    task.interruptions += 1
    if (task.has_parts || task.interruptions > INTERRUPTIONS_MAX) return 'interrupted'
  } else if (task.state === 'suspect' || task.attempts >= ATTEMPTS_MAX || task.has_parts) {
    return 'crashed'
  }
  if (!end.was_killed_for_others) {
    task.state = 'suspect'
    task.suspected_in = end.death
    task.ran_ms = performance.now() - task.begun_ms
  }
  return null
}

type NextWorkerRetry = {
  readonly is_first_of_trial: boolean
  /** False when it only waited for its project to be opened, so that it used no memory. */
  readonly has_begun: boolean
}

/**
 * After its worker had no address space left or could not open the project, a query runs again in the next one: alone, as a
 * suspect, if it may have used the memory or was interrupted before. A worker that could not even begin its first query,
 * tried alone, leaves no hope.
 */
export function retryInNextWorker(
  task: QueuedQuery,
  { is_first_of_trial, has_begun }: NextWorkerRetry,
): 'unopened' | null {
  if (task.has_parts || is_first_of_trial || task.interruptions > INTERRUPTIONS_MAX)
    return 'unopened'
  const ran_ms = performance.now() - task.begun_ms
  if ((has_begun && ran_ms > INNOCENT_MS) || task.interruptions > 0) task.state = 'suspect'
  task.attempts = 0
  task.interruptions += 1
  task.ran_ms = ran_ms
  task.suspected_in = null
  return null
}
