/** An asker who waits for an answer: not for ever, and only as long as they are there. */
import type { Computed } from './cache.ts'
import { busy, timedOut } from './engine-refusals.ts'
import type { Flight } from './flights.ts'

export type Patience = {
  readonly timeout_ms: number
  /** Aborting says that the asker has left. */
  readonly signal: AbortSignal
}

/**
 * The answer. Refuses what the computation refuses, `query_timeout` when it takes too long, `throttled` when it has not
 * begun by then, and `query_cancelled` when the asker leaves or somebody cancels for them.
 */
export async function waitFor(
  { hold, begun_ms }: Flight,
  { timeout_ms, signal }: Patience,
): Promise<Computed> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(begun_ms() === null ? busy() : timedOut(timeout_ms))
    hold.leave()
  }, timeout_ms)
  signal.addEventListener('abort', hold.leave)
  if (signal.aborted) hold.leave()
  try {
    return await Promise.race([late.promise, hold.answer])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', hold.leave)
  }
}

/** Resolves when a signal is aborted, or was before. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
