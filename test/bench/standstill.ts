/** How long the machine itself stands still while every core is busy: what no server on it can keep out of its slowest answers. */
import { availableParallelism } from 'node:os'

/** Shorter pauses are interrupts and the scheduler's ticks. */
const PAUSE_MS = 1

/** The pauses of one core over a while. */
export type Pauses = {
  readonly watched_ms: number
  readonly lost_ms: number
  readonly longest_ms: number
}

/** Reads the clock on every core at once, one process each, and adds up what the readings miss. */
export async function standstill(seconds: number): Promise<Pauses> {
  const watches = Array.from({ length: availableParallelism() }, () =>
    Bun.spawn([process.execPath, import.meta.path, String(seconds)]),
  )
  const cores = await Promise.all(watches.map((watch) => pausesIn(watch.stdout)))
  return {
    watched_ms: cores.reduce((sum, core) => sum + core.watched_ms, 0),
    lost_ms: cores.reduce((sum, core) => sum + core.lost_ms, 0),
    longest_ms: Math.max(...cores.map((core) => core.longest_ms)),
  }
}

async function pausesIn(stream: ReadableStream): Promise<Pauses> {
  return JSON.parse(await new Response(stream).text())
}

function watchClock(seconds: number): Pauses {
  const started = performance.now()
  let last = started
  let lost_ms = 0
  let longest_ms = 0
  while (last - started < seconds * 1000) {
    const now = performance.now()
    const pause_ms = now - last
    if (pause_ms > PAUSE_MS) lost_ms += pause_ms
    longest_ms = Math.max(longest_ms, pause_ms)
    last = now
  }
  return { watched_ms: last - started, lost_ms, longest_ms }
}

if (import.meta.main) process.stdout.write(JSON.stringify(watchClock(Number(process.argv[2]))))
