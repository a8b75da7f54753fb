/** Long work cut into turns of the event loop, by the clock: the time of a step depends on the stored data. */
import { resumeWork } from './this-thread.ts'

const SLICE_MS = 8

/** The slices of one piece of work. Between its steps: `if (slices.isOver()) await slices.end()`. */
export class Slices {
  #ends_ms = performance.now() + SLICE_MS

  /** Whether the others should have their turn. */
  isOver(): boolean {
    return performance.now() >= this.#ends_ms
  }

  /** Lets the others have their turn. */
  async end(): Promise<void> {
    await Bun.sleep(0)
    resumeWork()
    this.#ends_ms = performance.now() + SLICE_MS
  }
}

/** Runs short steps one after the other, in slices. */
export async function runInSlices(steps: Iterator<undefined>): Promise<void> {
  const slices = new Slices()
  while (steps.next().done !== true) if (slices.isOver()) await slices.end()
}
