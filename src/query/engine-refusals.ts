/** What askers are told when the engine cannot answer, and the fault that nobody is told. */
import { ERRORS, type ErrorCode, Refusal } from '../errors.ts'
import type { Death } from './child.ts'

/** The engine broke on a question: our fault or its own, so the asker sees no more than that. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault'
}

/** What the query process calls such a fault. */
export const ENGINE_FAULT = 'engine_fault'

const RETRY_AFTER_S = 1

/** The code of a refusal as the query process named it. */
export function readCode(code: string): ErrorCode {
  return code in ERRORS ? (code as ErrorCode) : 'query_failed'
}

/** For a question under which the process died twice. */
export function diedUnder({ reason, signal }: Death): Refusal {
  // The kernel kills with SIGKILL when the machine has no memory left; we say so when it was us.
  if (reason === 'memory' || signal === 'SIGKILL') {
    return new Refusal('query_memory', 'The query needs more memory than it may use.')
  }
  return new Refusal('query_failed', 'The query stopped the engine. It was tried twice.')
}

/** For a question that took too long. */
export function timedOut(timeout_ms: number): Refusal {
  return new Refusal('query_timeout', `The query took longer than ${timeout_ms / 1000} seconds.`)
}

/** For a question nobody wants any more. */
export function cancelled(): Refusal {
  return new Refusal('query_cancelled', 'The query was cancelled.')
}

/** For a question that found no place. */
export function busy(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_S }
  return new Refusal('throttled', 'Too many queries are waiting. Try again soon.', extras)
}

/** For a question that came, or ran, when the server stops. */
export function stopping(): Refusal {
  const extras = { retry_after_s: RETRY_AFTER_S }
  return new Refusal('storage_unavailable', 'The server is stopping.', extras)
}

/** For questions that wait for a process which does not start. */
export function cannotStart(): Refusal {
  return new Refusal('storage_unavailable', 'The query engine does not start.')
}
