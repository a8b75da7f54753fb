/** How much one evaluation of flags may do: work is counted before it is done, so that no definitions hold up the others. */
import { FlagFailure } from './failure.ts'
import { asText, isRecord } from './value.ts'

/**
 * A step is about the search of one character for one instruction of a pattern: 70 ns at worst, mostly far less. Any
 * evaluation may take so many, however busy the machine is: 14 ms at worst.
 */
const STEPS_FREE = 200_000
/** Beyond them the clock decides, which is looked at every so many steps. */
const STEPS_BETWEEN = 50_000
const MS_MAX = 20
/** One comparison may take no more: 10 ms. */
const TEST_STEPS_MAX = 150_000
/** Characters that other comparisons read in the time of a step. */
const CHARS_PER_STEP = 16
/** Values in values: lists and objects with more of them are no properties to compare with. */
const VALUES_MAX = 10_000
const STEPS_PER_VALUE = 8

/** The work of one evaluation. */
export class Work {
  readonly #ends_ms = performance.now() + MS_MAX
  #steps = 0
  #looked_at = STEPS_FREE
  /** By value; null for those with too many values in them. */
  #texts: Map<object, string | null> | null = null

  /** Counts steps before they are taken. Throws FlagFailure when the evaluation has done enough. */
  charge(steps: number): void {
    this.#steps += steps
    if (this.#steps < this.#looked_at) return
    if (performance.now() > this.#ends_ms) throw new FlagFailure('too_much_work')
    this.#looked_at = this.#steps + STEPS_BETWEEN
  }

  /** Counts the steps of one comparison. Throws FlagFailure also when they are too many for one. */
  chargeTest(steps: number): void {
    if (steps > TEST_STEPS_MAX) throw new FlagFailure('value_too_long')
    this.charge(steps)
  }

  /** Counts reading a value once. Throws FlagFailure when it has too many values in it. */
  chargeReading(value: unknown): void {
    if (typeof value === 'string') this.charge(1 + value.length / CHARS_PER_STEP)
    else if (typeof value === 'object' && value !== null) this.textOf(value)
    else this.charge(1)
  }

  /** The text that operators compare (`textOf`), serialized once per evaluation. */
  textOf(value: unknown): string {
    if (typeof value !== 'object' || value === null) {
      const text = asText(value)
      this.charge(1 + text.length / CHARS_PER_STEP)
      return text
    }
    const known = this.#texts?.get(value)
    const text = known === undefined ? this.#serialize(value) : known
    if (text === null) throw new FlagFailure('value_too_long')
    this.charge(1 + text.length / CHARS_PER_STEP)
    return text
  }

  #serialize(value: object): string | null {
    const count = countValues(value)
    this.charge(count * STEPS_PER_VALUE)
    const text = count > VALUES_MAX ? null : asText(value)
    this.#texts ??= new Map()
    this.#texts.set(value, text)
    return text
  }
}

/** Ends as soon as there are too many. */
function countValues(value: object): number {
  let count = 0
  const open: unknown[] = [value]
  for (let next = open.pop(); next !== undefined && count <= VALUES_MAX; next = open.pop()) {
    const parts = Array.isArray(next) ? next : isRecord(next) ? Object.values(next) : []
    count += 1 + parts.length
    for (const part of parts) if (typeof part === 'object' && part !== null) open.push(part)
  }
  return count
}
