/**
 * The longest turn of this thread's event loop while something works: how long one request holds it. Measured in
 * processor time, without what other work on the same cores adds to it. Several requests may share a turn, so it is an
 * upper bound.
 */
import { machineSlowness } from './slowness.ts'

type MeasuredWork<T> = { readonly result: T; readonly longest_ms: number }

const TRIES = 5

/** A shorter turn is no test's concern, so that nobody need know how slow the machine is, which takes 12 ms. */
const SHORT_MS = 20

/**
 * Runs work and reads the processor time at every turn meanwhile. While that is `limit_ms` or more the work runs again,
 * five times at most: a turn may collect the garbage of other test files of this process.
 */
export async function measureTurns<T>(
  work: () => Promise<T>,
  limit_ms = Number.POSITIVE_INFINITY,
): Promise<MeasuredWork<T>> {
  let measured = await measureOnce(work)
  for (let tries = 1; tries < TRIES && measured.longest_ms >= limit_ms; tries += 1) {
    measured = await measureOnce(work)
  }
  return measured
}

async function measureOnce<T>(work: () => Promise<T>): Promise<MeasuredWork<T>> {
  let is_over = false
  let longest_us = 0
  let used = process.threadCpuUsage()
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(used)
    longest_us = Math.max(longest_us, user + system)
    if (is_over) return
    used = process.threadCpuUsage()
    // A timer of 1 ms is due after every turn that may be too long, and lets the thread sleep while others work.
    setTimeout(look, 1)
  }
  // The first turn begins with the work.
  setImmediate(look)
  await new Promise<void>((resolve) => {
    setImmediate(resolve)
  })
  longest_us = 0
  try {
    const result = await work()
    look()
    const longest_ms = longest_us / 1000
    return {
      result,
      longest_ms: longest_ms < SHORT_MS ? longest_ms : longest_ms / machineSlowness(),
    }
  } finally {
    is_over = true
  }
}
