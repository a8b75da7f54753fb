/** Resource usage per query: the kernel's counters of the process, divided among the queries that run at the same time. */
import { readFileSync } from 'node:fs'

/** Bytes read from files (page cache included), and processor time of all threads in microseconds. */
export type UsedResources = { readonly bytes_read: number; readonly cpu_us: number }

const NOTHING: UsedResources = { bytes_read: 0, cpu_us: 0 }

/**
 * The kernel counts per process. The usage since the last measurement is divided equally among the running queries, so
 * that their sum is the usage of the process; the usage of a query that runs alone is exact.
 */
export class ResourceUsage {
  readonly #measure: () => UsedResources
  readonly #used = new Map<number, UsedResources>()
  #last: UsedResources

  constructor(measure: () => UsedResources = measureProcess) {
    this.#measure = measure
    this.#last = measure()
  }

  begin(id: number): void {
    this.#share()
    this.#used.set(id, NOTHING)
  }

  end(id: number): void {
    this.#share()
    this.#used.delete(id)
  }

  /** The usage of a query so far. */
  of(id: number): UsedResources {
    this.#share()
    return this.#used.get(id) ?? NOTHING
  }

  #share(): void {
    const now = this.#measure()
    const bytes_read = (now.bytes_read - this.#last.bytes_read) / this.#used.size
    const cpu_us = (now.cpu_us - this.#last.cpu_us) / this.#used.size
    this.#last = now
    for (const [id, used] of this.#used) {
      this.#used.set(id, {
        bytes_read: used.bytes_read + bytes_read,
        cpu_us: used.cpu_us + cpu_us,
      })
    }
  }
}

function measureProcess(): UsedResources {
  const { user, system } = process.cpuUsage()
  return { bytes_read: bytesRead(), cpu_us: user + system }
}

/** Bytes read by the process; 0 where the kernel does not count them. */
function bytesRead(): number {
  try {
    return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
