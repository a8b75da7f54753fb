/** An caller who waits for an answer: not for ever, and only as long as they are there. */

import { busy, timedOut } from '../engine/engine-refusals.ts'
import type { ComputedAnswer } from './cache.ts'
import type { RunningQuery } from './running-queries.ts'

export type WaitLimits = {
  readonly timeout_ms: number
  /** Aborting says that the caller has left. */
  readonly signal: AbortSignal
}

/**
 * The answer. Refuses what the computation refuses, `query_timeout` when it takes too long, `throttled` when it has not
 * begun by then, and `query_cancelled` when the caller leaves or somebody cancels for them.
 */
export async function awaitResult(
  { subscription, begun_ms }: RunningQuery,
  { timeout_ms, signal }: WaitLimits,
): Promise<ComputedAnswer> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(begun_ms() === null ? busy() : timedOut(timeout_ms))
    subscription.leave()
  }, timeout_ms)
  signal.addEventListener('abort', subscription.leave)
  if (signal.aborted) subscription.leave()
  try {
    return await Promise.race([late.promise, subscription.answer])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', subscription.leave)
  }
}
