/** The processes of a running server, and the memory they take together. */
import { readdirSync, readFileSync } from 'node:fs'

const PAGE_BYTES = 4096

/** The processes that this one started and that still run, whatever they are called. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => textOf(`/proc/${entry}/stat`)?.split(') ')[1]?.split(' ')[1] === String(pid))
    .map(Number)
}

/** Bytes that a server and its children have in memory now; 0 once they are gone. */
export function residentBytes(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, process) => {
    const pages = Number(textOf(`/proc/${process}/statm`)?.split(' ')[1] ?? 0)
    return sum + pages * PAGE_BYTES
  }, 0)
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
