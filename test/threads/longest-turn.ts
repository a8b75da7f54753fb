/**
 * The longest turn of this thread's event loop while something works: how long one request holds it. Measured in
 * processor time, without what other work on the same cores adds to it. Several requests may share a turn, so it is an
 * upper bound.
 */
import { machineSlowness } from './slowness.ts'

type MeasuredWork<T> = { readonly result: T; readonly longest_ms: number }

const TRIES = 5

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
    setImmediate(look)
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
    return { result, longest_ms: longest_us / 1000 / machineSlowness() }
  } finally {
    is_over = true
  }
}
