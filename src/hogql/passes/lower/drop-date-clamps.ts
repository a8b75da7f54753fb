/**
 * Pass dropDateClamps: the first day of a week or longer is not kept within ClickHouse's Date where WHERE bounds the time
 * to such days: 5 to 9 ns a row.
 *
 *   SELECT toStartOfMonth(timestamp) FROM events WHERE timestamp >= '2026-01-01' AND timestamp < '2027-01-01'
 *   → timestamp::DATE - (day(timestamp::DATE) - 1), without least(greatest(…))
 */

import type { ResolvedExpr, ResolvedSelect, TimeBounds } from '../../sql/ir.ts'
import { isBefore } from '../../times/relative-time.ts'
import {
  keepQuery,
  keepRelation,
  mapChildren,
  mapSelect,
  mapStatement,
  type Pass,
} from '../walk.ts'

/** Functions whose result is at most a year before their argument. */
const STARTS: ReadonlySet<string> = new Set([
  'toMonday',
  'toStartOfMonth',
  'toStartOfQuarter',
  'toStartOfWeek',
  'toStartOfYear',
])

/** The second week of 1970 and the end of May 2149: in any zone their weeks and years are days of Date. */
const FIRST_US = BigInt(Date.UTC(1970, 0, 8)) * 1000n
const LAST_US = BigInt(Date.UTC(2149, 5, 1)) * 1000n

/** Marks such calls outside of WHERE, in whose rows alone the bounds hold. */
export const dropDateClamps: Pass = (statement) => mapStatement(statement, { select: dropClampsOf })

function dropClampsOf(select: ResolvedSelect): ResolvedSelect {
  const bounded = select.time_bounds.filter(isWithinDate)
  if (bounded.length === 0) return select
  const isBounded = (expr: ResolvedExpr | undefined): boolean =>
    expr?.kind === 'column' &&
    bounded.some(({ relation, name }) => relation === expr.relation && name === expr.name)
  const mark = (expr: ResolvedExpr): ResolvedExpr => {
    if (expr.kind === 'apply' && STARTS.has(expr.name) && isBounded(expr.args[0]))
      return { ...expr, is_within_date: true }
    return mapChildren(expr, mark, keepQuery)
  }
  return { ...mapSelect(select, mark, keepRelation), where: select.where }
}

function isWithinDate({ from_us, until_us }: TimeBounds): boolean {
  if (from_us === null || until_us === null) return false
  return !isBefore(from_us, FIRST_US) && !isBefore(LAST_US, until_us)
}
