/** The mark of a folder that is being filled by a restore, a backup or an export, until it is whole. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '../files/parquet.ts'

/** Lies in the folder as long as it is not whole. */
export const UNFINISHED_MARK = 'tidemark-unfinished'

/** Whether the folder was left before it was whole. */
export function isIncomplete(folder: string): boolean {
  return existsSync(join(folder, UNFINISHED_MARK))
}

/** Marks the folder as unfinished by this process; a power cut that leaves anything of what comes after leaves the mark. */
export function markIncomplete(folder: string): void {
  const mark = join(folder, UNFINISHED_MARK)
  writeFileSync(mark, describeProcess(process.pid) ?? '')
  syncPath(mark)
  syncPath(folder)
}

/** The process that is at work in an unfinished folder just now; null when it was cut off. */
export function findFiller(folder: string): number | null {
  const said = readFileSync(join(folder, UNFINISHED_MARK), 'utf8')
  const pid = Number(said.split(' ')[0])
  return pid > 0 && describeProcess(pid) === said ? pid : null
}

/** Of all processes of all times this one alone; null when there is none with this id, or the system does not tell. */
function describeProcess(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // A process' name may have any letters; what is behind it has none.
    const started = stat.slice(stat.lastIndexOf(')')).split(' ')[STARTED]
    return started === undefined ? null : `${pid} ${started} ${boot}`
  } catch {
    return null
  }
}

/** When it started, in ticks since the boot, counted from the name. */
const STARTED = 20
