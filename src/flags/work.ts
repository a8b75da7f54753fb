/** The budget of one evaluation: steps are charged before the work, so that no definition blocks the server. */
import { isObject } from '../json.ts'
import { FlagFailure } from './failure.ts'
import { asText } from './operators/value.ts'

/**
 * Steps that every evaluation may take, however busy the machine is. A step is about one character of a search for one
 * instruction of a pattern: at worst 70 ns, so 14 ms for all of them.
 */
const FREE_STEPS = 200_000
/** Beyond them the clock decides: it is read after this many steps. */
const CLOCK_STEPS = 50_000
const MS_MAX = 20
/** Steps of one comparison: at worst 10 ms. */
const TEST_STEPS_MAX = 150_000
/** Characters that a comparison without a pattern reads per step. */
const CHARS_PER_STEP = 16
/** Nested values of a list or object that is compared; larger ones fail the flag. */
const VALUES_MAX = 10_000
const STEPS_PER_VALUE = 8

/** The work of one evaluation. */
export class Work {
  readonly #ends_ms = performance.now() + MS_MAX
  #steps = 0
  #next_clock_step = FREE_STEPS
  /** Serialized values; null for a value that is too large. */
  #texts: Map<object, string | null> | null = null

  /** Charges steps before they are taken. Throws FlagFailure when the budget is spent. */
  charge(steps: number): void {
    this.#steps += steps
    if (this.#steps < this.#next_clock_step) return
    if (performance.now() > this.#ends_ms) throw new FlagFailure('too_much_work')
    this.#next_clock_step = this.#steps + CLOCK_STEPS
  }

  /** Charges the steps of one comparison. Throws FlagFailure also if they exceed the limit of one. */
  chargeTest(steps: number): void {
    if (steps > TEST_STEPS_MAX) throw new FlagFailure('value_too_long')
    this.charge(steps)
  }

  /** Charges the reading of a value. Throws FlagFailure if it is too large. */
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
    const cached = this.#texts?.get(value)
    const text = cached === undefined ? this.#serialize(value) : cached
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

/** Counts nested values; stops beyond the limit. */
function countValues(value: object): number {
  let count = 0
  const open: unknown[] = [value]
  for (let next = open.pop(); next !== undefined && count <= VALUES_MAX; next = open.pop()) {
    const parts = Array.isArray(next) ? next : isObject(next) ? Object.values(next) : []
    count += 1 + parts.length
    for (const part of parts) if (typeof part === 'object' && part !== null) open.push(part)
  }
  return count
}
