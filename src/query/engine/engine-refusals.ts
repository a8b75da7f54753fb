/** The refusals that callers get when the engine cannot answer, and the fault that is only logged. */
import { ERRORS, type ErrorCode, Refusal } from '../../errors.ts'
import { isProgramReplaced, PROGRAM_REPLACED } from '../../storage/process/spawn-self.ts'
import type { ChildExit } from './worker-client.ts'

/** An internal error of DuckDB: the caller gets a 500 without details. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault'
}

/** The code of an internal error, from the worker. */
export const ENGINE_FAULT = 'engine_fault'

/** The code from the worker when its address space is used up, and not by this query. */
export const ENGINE_EXHAUSTED = 'engine_exhausted'

/** The code from the worker when its address space has no room to open the project: the query has not begun. */
export const NO_ROOM = 'no_room'

/** The code from the worker when a project cannot be opened, for no reason in the query. */
export const OPENING_FAILED = 'opening_failed'

const RETRY_AFTER_S = 1
/** After a new process failed too. */
const RETRY_AFTER_FAILURE_S = 5

/** Reads the error code of a refusal from the worker. */
export function readCode(code: string): ErrorCode {
  return code in ERRORS ? (code as ErrorCode) : 'query_failed'
}

/** For a query during which the worker died twice. */
export function engineCrashed({ reason, signal }: ChildExit): Refusal {
  // The kernel's OOM killer sends SIGKILL; our own kills carry a reason.
  if (reason === 'memory' || signal === 'SIGKILL') {
    return new Refusal('query_memory', 'The query needs more memory than it may use.')
  }
  return new Refusal('query_failed', 'The query stopped the engine. It was tried twice.')
}

/** For a query of a project in back-off, because its queries ended the worker. */
export function refuseInBackOff(wait_ms: number): Refusal {
  const wait_s = Math.ceil(wait_ms / 1000)
  const detail = `A query of this project had to be stopped by force. Try again in ${wait_s} seconds.`
  return new Refusal('throttled', detail, { retry_after_s: wait_s })
}

/** For a query whose worker was ended because of other queries, too often or for too long. */
export function refuseInterrupted(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_FAILURE_S }
  return new Refusal(
    'storage_unavailable',
    'The query engine was restarted while the query ran. Try again.',
    extras,
  )
}

/** For a query that a new worker could not begin either. */
export function refuseUnopened(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_FAILURE_S }
  return new Refusal('storage_unavailable', 'The query engine cannot open the project now.', extras)
}

/** For a query that exceeded its timeout. */
export function refuseTimedOut(timeout_ms: number): Refusal {
  return new Refusal('query_timeout', `The query took longer than ${timeout_ms / 1000} seconds.`)
}

/** For a query whose answer is beyond a limit, as `50000 rows`. */
export function refuseTooLarge(limit: string): Refusal {
  const detail = `The answer has more than ${limit}. Ask for less at a time.`
  return new Refusal('query_too_large', detail)
}

/** For a query that its caller cancelled or left. */
export function refuseCancelled(): Refusal {
  return new Refusal('query_cancelled', 'The query was cancelled.')
}

/** For a query beyond the length of the queue. */
export function refuseFullQueue(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_S }
  return new Refusal('throttled', 'Too many queries are waiting. Try again soon.', extras)
}

/** For a query that arrives or runs while the server stops. */
export function stopping(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_S }
  return new Refusal('storage_unavailable', 'The server is stopping.', extras)
}

/** For queries that wait for a worker which does not start. */
export function cannotStart(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_FAILURE_S }
  return new Refusal('storage_unavailable', describeFailedStart(), extras)
}

/** Tells why no worker starts. */
export function describeFailedStart(): string {
  return isProgramReplaced() ? PROGRAM_REPLACED : 'The query engine does not start.'
}
