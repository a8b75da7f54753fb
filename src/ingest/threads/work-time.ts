/** The limit of elapsed time, as a multiple of the processor time: others wait by the clock. */
const CLOCK_FACTOR = 3

/**
 * Starts a time limit for this thread's work. The returned function says whether the work has used `cpu_ms` of processor time,
 * or has lasted three times as long by the clock. By the clock alone, slices shrink when the machine is busy with other
 * work, and small transactions write more pages for the same rows: the busier the machine, the more it would have to do.
 */
export function limitWork(cpu_ms: number): () => boolean {
  const started_ms = performance.now()
  const used = process.threadCpuUsage()
  return () => {
    const elapsed_ms = performance.now() - started_ms
    // A thread uses no more than the elapsed time: the system is asked only when that is long enough.
    if (elapsed_ms < cpu_ms) return false
    if (elapsed_ms >= cpu_ms * CLOCK_FACTOR) return true
    const { user, system } = process.threadCpuUsage(used)
    return (user + system) / 1000 >= cpu_ms
  }
}
