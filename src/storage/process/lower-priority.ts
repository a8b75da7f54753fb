/** Lowers the priority of a process, so that others get the processors first. */
import { readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** The niceness of work that can wait: of two busy threads on one core, it gets a tenth. */
const NICENESS = 10

/**
 * Gives every thread of a process a lower priority than requests and queries have. On Linux each thread has its own, and the
 * runtime has several when its first line runs: without them, the pool in which DuckDB works and the collector would stay
 * as they are. Threads that start later have that of the one that starts them.
 */
export function lowerPriority(pid = process.pid): void {
  for (const id of listThreads(pid)) lowerPriorityOf(id)
}

/** The ids of threads; that of the process, which stands for all of them, on systems other than Linux. */
function listThreads(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number)
  } catch {
    return [pid]
  }
}

function lowerPriorityOf(id: number): void {
  try {
    // Only a privileged user may raise it again.
    if (getPriority(id) < NICENESS) setPriority(id, NICENESS)
  } catch {
    // It has ended already.
  }
}
