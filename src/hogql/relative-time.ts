/** Times that move along with a query's now, and for which nows everything decided about them stays as it is. */

import { addUnits, startOfUnit } from './calendar.ts'
import type { IntervalUnit } from './types.ts'

/** Further than any time is from another. */
const FAR_US = 1n << 80n

/** The nows for which a text compiles to the same SQL, but for values that move by as much as now does. */
export class ValidityWindow {
  readonly now_us: bigint
  #from_us: bigint
  #until_us: bigint

  constructor(now_us: bigint) {
    this.now_us = now_us
    this.#from_us = now_us - FAR_US
    this.#until_us = now_us + FAR_US
  }

  /** Whether everything would be decided the same at another now. */
  holds(now_us: bigint): boolean {
    return this.#from_us <= now_us && now_us < this.#until_us
  }

  /** For how long it stays so. */
  get width_us(): bigint {
    return this.#until_us - this.#from_us
  }

  /** Something was decided that is only so from one now on, up to and without the other. */
  narrow(from_us: bigint, until_us: bigint): void {
    if (from_us > this.#from_us) this.#from_us = from_us
    if (until_us < this.#until_us) this.#until_us = until_us
  }
}

/** A time (µs since 1970) that is as much later as now is. */
export class RelativeTime {
  readonly us: bigint
  readonly validity: ValidityWindow

  constructor(us: bigint, validity: ValidityWindow) {
    this.us = us
    this.validity = validity
  }
}

/** A time that stands still, or one that moves. Whoever decides by what it is now does so with the functions here. */
export type MovableTime = bigint | RelativeTime

/** Whether a constant is a time of any of both kinds (dates and numbers stand still as well). */
export function isTimeValue(value: unknown): value is MovableTime {
  return typeof value === 'bigint' || value instanceof RelativeTime
}

/** Where it is now; what is decided by that alone must be narrowed to. */
export function microsecondsOf(time: MovableTime): bigint {
  return typeof time === 'bigint' ? time : time.us
}

/** So much later, moving as before. */
export function shiftBy(time: MovableTime, by_us: bigint): MovableTime {
  return typeof time === 'bigint' ? time + by_us : new RelativeTime(time.us + by_us, time.validity)
}

/** What follows is only so as long as the time is within these. */
export function narrowTo(time: MovableTime, from_us: bigint | null, until_us: bigint | null): void {
  if (typeof time === 'bigint') return
  const { us, validity } = time
  validity.narrow(
    from_us === null ? validity.now_us - FAR_US : validity.now_us + from_us - us,
    until_us === null ? validity.now_us + FAR_US : validity.now_us + until_us - us,
  )
}

/** What follows is only so at this very now. */
export function pin(time: MovableTime): void {
  const us = microsecondsOf(time)
  narrowTo(time, us, us + 1n)
}

/** Whether one time is before another, and stays so. */
export function isBefore(left: MovableTime, right: MovableTime): boolean {
  const is_before = microsecondsOf(left) < microsecondsOf(right)
  if (typeof left === 'bigint') {
    narrowTo(right, is_before ? left + 1n : null, is_before ? null : left + 1n)
  } else if (typeof right === 'bigint') {
    narrowTo(left, is_before ? null : right, is_before ? right : null)
  }
  return is_before
}

/** The start of the unit a local time lies in, which stands still while the time is within it. */
export function startOfTime(local: MovableTime, unit: IntervalUnit): bigint {
  const start = startOfUnit(microsecondsOf(local), unit)
  narrowTo(local, start, addUnits(start, 1n, unit))
  return start
}

/** A local time moved by some units; months move every time of a day as far. */
export function addToTime(local: MovableTime, count: bigint, unit: IntervalUnit): MovableTime {
  const us = microsecondsOf(local)
  if (unit === 'Month' || unit === 'Quarter' || unit === 'Year') startOfTime(local, 'Day')
  return shiftBy(local, addUnits(us, count, unit) - us)
}
