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

/** Items that are sorted between two looks at the clock. */
const RUN_ITEMS = 32

type Compare<Item> = (a: Item, b: Item) => number

/** Sorts in slices, by merging runs. Equal items stay in their order. */
export async function sortInSlices<Item extends object>(
  items: readonly Item[],
  compare: Compare<Item>,
  slices = new Slices(),
): Promise<readonly Item[]> {
  let runs: (readonly Item[])[] = []
  for (let start = 0; start < items.length; start += RUN_ITEMS) {
    runs.push(items.slice(start, start + RUN_ITEMS).toSorted(compare))
    if (slices.isOver()) await slices.end()
  }
  while (runs.length > 1) {
    const merged: (readonly Item[])[] = []
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await merge([runs[at] ?? [], runs[at + 1] ?? []], compare, slices))
    runs = merged
  }
  return runs[0] ?? []
}

async function merge<Item extends object>(
  [left, right]: readonly [readonly Item[], readonly Item[]],
  compare: Compare<Item>,
  slices: Slices,
): Promise<readonly Item[]> {
  const merged: Item[] = []
  let at = 0
  for (const item of left) {
    for (let next = right[at]; next !== undefined && compare(next, item) < 0; next = right[at]) {
      merged.push(next)
      at += 1
    }
    merged.push(item)
    if (slices.isOver()) await slices.end()
  }
  for (const item of right.slice(at)) merged.push(item)
  return merged
}

/** Runs short steps one after the other, in slices. */
export async function runInSlices(steps: Iterator<undefined>): Promise<void> {
  const slices = new Slices()
  while (steps.next().done !== true) if (slices.isOver()) await slices.end()
}
