/** The processor time of this process and of others, between two moments. */
import { readFileSync } from 'node:fs'

/** Kernel ticks are hundredths of a second. */
const TICK_MS = 10

/** Processor time of a process and of its children that have ended, ms; 0 for one that is gone. */
export function processorMs(pid: number | null): number {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid ?? 'none'}/stat`, 'utf8').split(') ')
    const ticks = fields.split(' ').slice(11, 15).map(Number)
    return ticks.reduce((sum, count) => sum + count, 0) * TICK_MS
  } catch {
    return 0
  }
}

export const ownMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Wall time, and the processor time of this process and of the others that take part. */
export type Spent = { readonly wall_ms: number; readonly processor_ms: number }

/** What a piece of work takes; `pids` are the other processes. */
export async function spentBy(
  pids: readonly (number | null)[],
  work: () => Promise<unknown>,
): Promise<Spent> {
  const used = (): number => pids.reduce<number>((sum, pid) => sum + processorMs(pid), ownMs())
  const [before_ms, began_ms] = [used(), performance.now()]
  await work()
  return { wall_ms: performance.now() - began_ms, processor_ms: used() - before_ms }
}

/** The smaller figures of two rounds. */
export const bestOf = (one: Spent, other: Spent): Spent => ({
  wall_ms: Math.min(one.wall_ms, other.wall_ms),
  processor_ms: Math.min(one.processor_ms, other.processor_ms),
})

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
