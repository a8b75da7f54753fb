/** The marker file of a folder that a restore, backup or export is filling, until it is complete. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '../files/parquet.ts'

/** The marker's name. */
export const UNFINISHED_MARK = 'tidemark-unfinished'

/** True for a folder that is not complete. */
export function isIncomplete(folder: string): boolean {
  return existsSync(join(folder, UNFINISHED_MARK))
}

/** Throws for a data folder whose restore was cut off: the next restore empties it. */
export function requireComplete(data_dir: string): void {
  if (!isIncomplete(data_dir)) return
  throw new Error(`${data_dir} is not whole: its restore was cut off. Restore it again.`)
}

/** Marks the folder as incomplete by this process; the marker is synced before anything else is written. */
export function markIncomplete(folder: string): void {
  const mark = join(folder, UNFINISHED_MARK)
  writeFileSync(mark, describeProcess(process.pid) ?? '')
  syncPath(mark)
  syncPath(folder)
}

/** Finds the process that is filling the folder; null when it has ended before completing it. */
export function findFiller(folder: string): number | null {
  const identity = readFileSync(join(folder, UNFINISHED_MARK), 'utf8')
  const pid = Number(identity.split(' ')[0])
  return pid > 0 && describeProcess(pid) === identity ? pid : null
}

/** Identifies a process by id, start time and boot; null when there is none with this id, or it cannot be read. */
function describeProcess(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // A process name may contain spaces and brackets; the fields after it do not.
    const started = stat.slice(stat.lastIndexOf(')')).split(' ')[STARTED]
    return started === undefined ? null : `${pid} ${started} ${boot}`
  } catch {
    return null
  }
}

/** The index, counted from the name, of the start time in ticks since boot. */
const STARTED = 20
