/** The processor time of other processes, from /proc. */
import { readFileSync } from 'node:fs'

/** Kernel ticks are hundredths of a second. */
const TICK_MS = 10

/** The processor time of a process so far, in milliseconds. */
export function processorTime(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // After the name in brackets, which may contain spaces: the state is the third field, the times are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
