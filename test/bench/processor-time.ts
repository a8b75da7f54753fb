/** The processor time of other processes, from /proc. */
import { readdirSync, readFileSync } from 'node:fs'

/** Kernel ticks are hundredths of a second. */
const TICK_MS = 10

/** The processor time of a process so far, in milliseconds. */
export function processorTime(pid: number): number {
  // The state is the third field, the times are the 14th and 15th.
  const fields = readFields(pid)
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** The processor time of the browsers that this process has started, with all of their processes, in milliseconds. */
export function browserTime(): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const parents = new Map(pids.map((pid) => [pid, parentOf(pid)]))
  const isMine = (pid: string | undefined): boolean =>
    pid === String(process.pid) || (pid !== undefined && isMine(parents.get(pid)))
  return pids
    .filter((pid) => isMine(pid) && isBrowser(pid))
    .reduce((sum, pid) => sum + processorTime(Number(pid)), 0)
}

/** Undefined for a process that has ended meanwhile. */
function parentOf(pid: string): string | undefined {
  try {
    return readFields(Number(pid))[1]
  } catch {
    return undefined
  }
}

const isBrowser = (pid: string): boolean =>
  readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('chromium')

/** The fields after the name in brackets, which may contain spaces; the first of them is the state. */
function readFields(pid: number): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
