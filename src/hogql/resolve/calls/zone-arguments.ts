/**
 * A zone as the last argument of a date function is the zone of its times:
 *
 *   toHour(timestamp, 'Asia/Tokyo')
 *   → toHour(toTimeZone(timestamp, 'Asia/Tokyo'))
 */

import type { ResolvedExpr } from '../../sql/ir.ts'
import { constantText } from '../../sql/sql-fragments.ts'
import type { SourceSpan } from '../../syntax/ast.ts'
import { refuse } from '../refusals.ts'

/** Names in lower case, by the position of the zone. */
const ZONED: Readonly<Record<number, string>> = {
  1: 'toyear year toquarter quarter tomonth month todayofyear dayofyear todayofmonth day dayofmonth tohour hour tominute minute tosecond second toisoyear toisoweek toyyyymm toyyyymmdd toyyyymmddhhmmss tostartofday tolastdayofmonth last_day tostartofisoyear todate to_date _todate todateornull',
  2: 'tostartofinterval todayofweek dayofweek toweek week toyearweek yearweek tostartofweek tolastdayofweek datetrunc date_trunc',
  3: 'datediff date_diff timestampdiff',
}

const POSITIONS: ReadonlyMap<string, number> = new Map(
  Object.entries(ZONED).flatMap(([position, names]) =>
    names.split(' ').map((name) => [name, Number(position)] as const),
  ),
)

const TO_DATE = /^_?to_?date(?:OrNull)?$/i

/** The arguments without the zone; `inZone` moves an instant to it. Refuses a zone that is no constant. */
export function withZone(
  name: string,
  args: readonly ResolvedExpr[],
  node: SourceSpan,
  inZone: (instant: ResolvedExpr, zone: ResolvedExpr) => ResolvedExpr,
): readonly ResolvedExpr[] {
  const position = POSITIONS.get(name.toLowerCase())
  const zone = position === undefined ? undefined : args[position]
  // The third argument of toStartOfInterval may be an origin.
  if (zone === undefined || zone.type.kind === 'datetime' || zone.type.kind === 'date') return args
  // Of a text or a number, which has no zone yet, toDate reads the time in the zone.
  if (TO_DATE.test(name) && args[0]?.type.kind !== 'datetime') return args
  if (constantText(zone) === null)
    throw refuse(`The time zone of '${name}' must be a constant text`, node)
  return args
    .slice(0, position)
    .map((arg) => (arg.type.kind === 'datetime' ? inZone(arg, zone) : arg))
}
