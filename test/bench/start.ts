/** How long a server for tests takes to start, from the call until its keys are there: a process each, one after the other. */
import { startTidemark } from '../../src/testing/start.ts'

/** The times of so many starts from the source, ms. */
export async function startTimes(count: number): Promise<number[]> {
  const times_ms: number[] = []
  for (let start = 0; start < count; start += 1) {
    const started_ms = performance.now()
    const server = await startTidemark()
    times_ms.push(performance.now() - started_ms)
    await server.stop()
  }
  return times_ms
}
