/** Milliseconds and microseconds: `dateDiff` and `age` count in them; they are not calendar units. */

import { bindText, constantText, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { asInstant } from '../../types/convert.ts'
import { INT64 } from '../../types/types.ts'
import type { Lowering } from '../definition.ts'
import { nullableLike } from './date-parts.ts'

/** Names in any case. */
const UNITS: ReadonlyMap<string, string> = new Map([
  ['millisecond', 'millisecond'],
  ['milliseconds', 'millisecond'],
  ['ms', 'millisecond'],
  ['microsecond', 'microsecond'],
  ['microseconds', 'microsecond'],
  ['us', 'microsecond'],
  ['u', 'microsecond'],
])

/** The engine's name of such a unit; null for others. */
export function subsecondUnit(name: string): string | null {
  return UNITS.get(name.toLowerCase()) ?? null
}

/** `dateDiff` and `age` in such units, on instants; other units use `lower`. */
export function withSubsecondUnits(engine: 'date_diff' | 'date_sub', lower: Lowering): Lowering {
  return (call, context) => {
    const [name, from = NULL_VALUE, to = NULL_VALUE] = call.args
    const unit = subsecondUnit(constantText(name) ?? '')
    if (unit === null) return lower(call, context)
    const ends = [from, to].map((time) => asInstant(time, context.timezone, context))
    const [a = NULL_VALUE, b = NULL_VALUE] = ends
    const type = nullableLike(INT64, ends)
    return engine === 'date_diff'
      ? sql`date_diff(${bindText(unit)}, ${a}, ${b})`(type)
      : sql`date_sub(${bindText(unit)}, ${a}, ${b})`(type)
  }
}
