/** What callers are told when the engine cannot answer, and the fault that nobody is told. */
import { ERRORS, type ErrorCode, Refusal } from '../../errors.ts'
import type { ChildExit } from './worker-client.ts'

/** The engine broke on a query: our fault or its own, so the caller sees no more than that. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault'
}

/** How the query process calls such a fault. */
export const ENGINE_FAULT = 'engine_fault'

/** How the query process says that its address space is used up, and not by this query. */
export const ENGINE_EXHAUSTED = 'engine_exhausted'

/** How the query process says that a project could not be opened, for no reason that the query gave. */
export const OPENING_FAILED = 'opening_failed'

const RETRY_AFTER_S = 1
/** After a fresh process could not help either. */
const RETRY_AFTER_FAILURE_S = 5

/** The code of a refusal as the query process named it. */
export function readCode(code: string): ErrorCode {
  return code in ERRORS ? (code as ErrorCode) : 'query_failed'
}

/** For a query under which the process died twice. */
export function engineCrashed({ reason, signal }: ChildExit): Refusal {
  // The kernel kills with SIGKILL when the machine has no memory left; we say so when it was us.
  if (reason === 'memory' || signal === 'SIGKILL') {
    return new Refusal('query_memory', 'The query needs more memory than it may use.')
  }
  return new Refusal('query_failed', 'The query stopped the engine. It was tried twice.')
}

/** For a query of a project that waits because its queries ended the query process. */
export function heldBack(wait_ms: number): Refusal {
  const wait_s = Math.ceil(wait_ms / 1000)
  const detail = `A query of this project had to be stopped by force. Try again in ${wait_s} seconds.`
  return new Refusal('throttled', detail, { retry_after_s: wait_s })
}

/** For a query whose process was ended because of others, too often or for too long. */
export function interrupted(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_FAILURE_S }
  return new Refusal(
    'storage_unavailable',
    'The query engine was restarted while the query ran. Try again.',
    extras,
  )
}

/** For a query that a fresh process could not begin either. */
export function exhausted(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_FAILURE_S }
  return new Refusal('storage_unavailable', 'The query engine cannot open the project now.', extras)
}

/** For a query that took too long. */
export function timedOut(timeout_ms: number): Refusal {
  return new Refusal('query_timeout', `The query took longer than ${timeout_ms / 1000} seconds.`)
}

/** For a query nobody wants any more. */
export function cancelled(): Refusal {
  return new Refusal('query_cancelled', 'The query was cancelled.')
}

/** For a query that found no place. */
export function busy(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_S }
  return new Refusal('throttled', 'Too many queries are waiting. Try again soon.', extras)
}

/** For a query that came, or ran, when the server stops. */
export function stopping(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_S }
  return new Refusal('storage_unavailable', 'The server is stopping.', extras)
}

/** For queries that wait for a process which does not start. */
export function cannotStart(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_FAILURE_S }
  return new Refusal('storage_unavailable', 'The query engine does not start.', extras)
}
