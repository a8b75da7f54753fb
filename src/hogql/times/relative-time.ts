/**
 * Relative times, and the interval of `now` for which a compiled statement remains valid.
 *
 * Problem: a text with `now()` compiles to bound constants, so it would have to be compiled again
 * for every request. Idea: a time carries its distance to `now` (RelativeTime); every decision the
 * compiler bases on its current value narrows a ValidityWindow. Within that window the cached SQL
 * is reused and only the relative values are shifted (compile-cache.ts). Gain: see compile-cache.ts;
 * without it no text with `now()` would be found there.
 * test/hogql/times/relative-time.test.ts compares it with compiling afresh at random times.
 */

import type { IntervalUnit } from '../types/types.ts'
import { addUnits, startOfUnit } from './calendar.ts'

/** Larger than the distance of any two times. */
const FAR_US = 1n << 80n

/**
 * The interval of `now` in which a text compiles to the same SQL, except for values that shift with
 * `now`.
 */
export class ValidityWindow {
  readonly now_us: bigint
  #from_us: bigint
  #until_us: bigint

  constructor(now_us: bigint) {
    this.now_us = now_us
    this.#from_us = now_us - FAR_US
    this.#until_us = now_us + FAR_US
  }

  /** Whether every decision would be the same at another `now`. */
  holds(now_us: bigint): boolean {
    return this.#from_us <= now_us && now_us < this.#until_us
  }

  /** Width of the interval, in microseconds. */
  get width_us(): bigint {
    return this.#until_us - this.#from_us
  }

  /** Records a decision that is valid from `from_us` until `until_us` (exclusive) only. */
  narrow(from_us: bigint, until_us: bigint): void {
    if (from_us > this.#from_us) this.#from_us = from_us
    if (until_us < this.#until_us) this.#until_us = until_us
  }
}

/** A time (µs since 1970) at a constant distance from `now`. */
export class RelativeTime {
  readonly us: bigint
  readonly validity: ValidityWindow

  constructor(us: bigint, validity: ValidityWindow) {
    this.us = us
    this.validity = validity
  }
}

/**
 * A constant or relative time. Decisions that depend on its current value must use the functions of
 * this file.
 */
export type TimeValue = bigint | RelativeTime

/** Whether a constant is a time of either kind (dates and numbers are constant too). */
export function isTimeValue(value: unknown): value is TimeValue {
  return typeof value === 'bigint' || value instanceof RelativeTime
}

/** The current value. A caller that decides by it must narrow the window. */
export function microsecondsOf(time: TimeValue): bigint {
  return typeof time === 'bigint' ? time : time.us
}

/** The time plus `by_us`; relative times remain relative. */
export function shiftBy(time: TimeValue, by_us: bigint): TimeValue {
  return typeof time === 'bigint' ? time + by_us : new RelativeTime(time.us + by_us, time.validity)
}

/** Narrows the window to when the time is within these bounds. */
export function narrowTo(time: TimeValue, from_us: bigint | null, until_us: bigint | null): void {
  if (typeof time === 'bigint') return
  const { us, validity } = time
  validity.narrow(
    from_us === null ? validity.now_us - FAR_US : validity.now_us + from_us - us,
    until_us === null ? validity.now_us + FAR_US : validity.now_us + until_us - us,
  )
}

/** Narrows the window to this very `now`. */
export function pin(time: TimeValue): void {
  const us = microsecondsOf(time)
  narrowTo(time, us, us + 1n)
}

/** Whether one time is before another; narrows the window to when that is so. */
export function isBefore(left: TimeValue, right: TimeValue): boolean {
  const is_before = microsecondsOf(left) < microsecondsOf(right)
  if (typeof left === 'bigint') {
    narrowTo(right, is_before ? left + 1n : null, is_before ? null : left + 1n)
  } else if (typeof right === 'bigint') {
    narrowTo(left, is_before ? null : right, is_before ? right : null)
  }
  return is_before
}

/** The start of the unit that a local time lies in: a constant, while the time is within that unit. */
export function startOfTime(local: TimeValue, unit: IntervalUnit): bigint {
  const start = startOfUnit(microsecondsOf(local), unit)
  narrowTo(local, start, addUnits(start, 1n, unit))
  return start
}

/** A local time plus some units. Adding months moves all times of one day equally far. */
export function addToTime(local: TimeValue, count: bigint, unit: IntervalUnit): TimeValue {
  const us = microsecondsOf(local)
  if (unit === 'Month' || unit === 'Quarter' || unit === 'Year') startOfTime(local, 'Day')
  return shiftBy(local, addUnits(us, count, unit) - us)
}
