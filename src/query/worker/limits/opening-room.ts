/**
 * Charges the address space of a project before it is opened: a thread that finds none ends the whole process ("cannot allocate
 * memory for thread-local data", or SIGSEGV), where a refused opening is only repeated. The room of a closed project can be used again.
 */
import { MIB } from '../../../bytes.ts'
import type { AddressSpace } from './memory-limit.ts'

/** Measured: an instance takes 12 MB beside the stacks of its threads; it uses the calling thread too. */
const INSTANCE_BYTES = 12 * MIB
const STACK_BYTES = 8 * MIB
/** The stacks of one instance may take this share, so that several projects are open under a small limit on a machine with many cores. */
const STACKS_SHARE = 0.2
/** The first instance loads the library, and starts threads that all of them share. */
const ENGINE_BYTES = 50 * MIB
/** The least that must be left for queries. */
const SPARE_BYTES = 32 * MIB
/** Unused projects are closed for another one where a smaller share would be left; the worker is worn with a quarter. */
const KEPT_SHARE = 0.3
/** Projects in use are waited for until then; a closed one returns its room a moment later. */
const WAIT_MS = 2000
const LOOK_AGAIN_MS = 10
const NO_ROOM = 'No address space is left to open the project.'

/** Thrown when a project has no room; another worker has it. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
}

/** The threads of each instance, at most `threads`. */
export function boundThreads(threads: number, address_bytes: number): number {
  return Math.min(threads, 1 + Math.floor((address_bytes * STACKS_SHARE) / STACK_BYTES))
}

export class OpeningRoom {
  readonly #instance_bytes: number
  #addresses: AddressSpace | null = null
  #opening = 0
  #is_loaded = false

  /** `threads` are those of an instance. */
  constructor(threads: number) {
    this.#instance_bytes = INSTANCE_BYTES + (threads - 1) * STACK_BYTES
  }

  /** Begins to charge. */
  limit(addresses: AddressSpace | null): void {
    this.#addresses = addresses
  }

  /** Opens a project once it has room. `closeUnused` closes one that no query uses; false when there is none. Throws NoRoom. */
  async open<T>(closeUnused: () => Promise<boolean>, open: () => Promise<T>): Promise<T> {
    await this.#takeRoom(closeUnused)
    try {
      const opened = await open()
      this.#is_loaded = true
      return opened
    } finally {
      this.#opening -= 1
    }
  }

  async #takeRoom(closeUnused: () => Promise<boolean>): Promise<void> {
    const until_ms = performance.now() + WAIT_MS
    const kept_bytes = (this.#addresses?.bytes_total ?? 0) * KEPT_SHARE
    for (;;) {
      while (this.#bytesLeft() < kept_bytes && (await closeUnused())) await Bun.sleep(LOOK_AGAIN_MS)
      if (this.#bytesLeft() >= SPARE_BYTES) break
      if (performance.now() > until_ms) throw new NoRoom(NO_ROOM)
      await Bun.sleep(LOOK_AGAIN_MS)
    }
    this.#opening += 1
  }

  /** Bytes that would be left with one more project. */
  #bytesLeft(): number {
    if (this.#addresses === null) return Number.POSITIVE_INFINITY
    const charged = (this.#opening + 1) * this.#instance_bytes
    return this.#addresses.bytesLeft() - charged - (this.#is_loaded ? 0 : ENGINE_BYTES)
  }
}
