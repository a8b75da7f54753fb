/** What queries cost: the process' own accounts, shared evenly among those that run at the same time. */
import { readFileSync } from 'node:fs'

/** Bytes asked of files, from the page cache or not, and microseconds of processors, of all threads. */
export type UsedResources = { readonly bytes_read: number; readonly cpu_us: number }

const NOTHING: UsedResources = { bytes_read: 0, cpu_us: 0 }

/**
 * The system counts for a process, not for a query. What was spent since the last look is divided by those that ran,
 * so that all queries together cost what the process did; a query that runs alone is told exactly.
 */
export class ResourceUsage {
  readonly #measure: () => UsedResources
  readonly #spent = new Map<number, UsedResources>()
  #last: UsedResources

  constructor(measure: () => UsedResources = measureProcess) {
    this.#measure = measure
    this.#last = measure()
  }

  begin(id: number): void {
    this.#share()
    this.#spent.set(id, NOTHING)
  }

  end(id: number): void {
    this.#share()
    this.#spent.delete(id)
  }

  /** What a query has cost so far; nothing before it began. */
  of(id: number): UsedResources {
    this.#share()
    return this.#spent.get(id) ?? NOTHING
  }

  #share(): void {
    const now = this.#measure()
    const bytes_read = (now.bytes_read - this.#last.bytes_read) / this.#spent.size
    const cpu_us = (now.cpu_us - this.#last.cpu_us) / this.#spent.size
    this.#last = now
    for (const [id, spent] of this.#spent) {
      this.#spent.set(id, {
        bytes_read: spent.bytes_read + bytes_read,
        cpu_us: spent.cpu_us + cpu_us,
      })
    }
  }
}

function measureProcess(): UsedResources {
  const { user, system } = process.cpuUsage()
  return { bytes_read: bytesRead(), cpu_us: user + system }
}

/** Zero where the system keeps no such account. */
function bytesRead(): number {
  try {
    return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
