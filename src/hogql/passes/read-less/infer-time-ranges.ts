/**
 * Pass inferTimeRanges (predicate inference): conditions on truncated times imply bounds on the
 * column, by which files are chosen.
 *
 *   WHERE toDate(timestamp) = d
 *   → WHERE toDate(timestamp) = d AND timestamp >= d - 3 h AND timestamp < d + 1 day + 3 h
 */

import { DAY_US } from '../../../time.ts'
import type { CompileContext } from '../../context.ts'
import { readUnit } from '../../functions/dates/date-parts.ts'
import type {
  Apply,
  ColumnExpr,
  ResolvedExpr,
  ResolvedSelect,
  TimeBounds,
  ValueExpr,
} from '../../sql/ir.ts'
import { applyFragment, bind } from '../../sql/sql-fragments.ts'
import { addUnits } from '../../times/calendar.ts'
import {
  addToTime,
  isBefore,
  isTimeValue,
  shiftBy,
  type TimeValue,
} from '../../times/relative-time.ts'
import { instantOfTime, lookUpZone, offsetAtTime } from '../../times/zones.ts'
import { dateTimeType, type IntervalUnit, TRUTH } from '../../types/types.ts'
import { conjuncts, mapStatement, type Pass } from '../walk.ts'

/** Margin on both sides, so that no offset change near a bound can exclude a row. */
const MARGIN_US = 3n * 3_600_000_000n

/**
 * Adds to WHERE the bounds on instants that its conditions on days, weeks, months… imply, and
 * records them as `time_bounds`.
 */
export const inferTimeRanges: Pass = (statement, context) =>
  mapStatement(statement, { select: (select) => addImpliedBounds(select, context) })

function addImpliedBounds(select: ResolvedSelect, context: CompileContext): ResolvedSelect {
  if (select.where === null) return select
  const parts = conjuncts(select.where)
  const implied = parts.flatMap((part) => (part.kind === 'apply' ? impliedBy(part, context) : []))
  const all = [...parts, ...implied]
  const where = implied.length === 0 ? select.where : applyFragment('and', all, TRUTH)
  return { ...select, where, time_bounds: all.reduce(narrowBounds, select.time_bounds) }
}

/** Narrows the known bounds by one comparison of a column with a constant. */
function narrowBounds(
  bounds: readonly TimeBounds[],
  condition: ResolvedExpr,
): readonly TimeBounds[] {
  if (condition.kind !== 'apply') return bounds
  const [first, second] = condition.args
  const [column, value] = first?.kind === 'column' ? [first, second] : [second, first]
  const name = first?.kind === 'column' ? condition.name : OPPOSITE[condition.name]
  if (column?.kind !== 'column' || value?.kind !== 'value' || value.type.kind !== 'datetime')
    return bounds
  if (!isTimeValue(value.value) || name === undefined || column.type.kind !== 'datetime')
    return bounds
  const { relation } = column
  const from_us = name.startsWith('greater') || name === 'equals' ? value.value : null
  // `until_us` is exclusive, the bound itself may be included: one microsecond more.
  const until_us = name.startsWith('less') || name === 'equals' ? shiftBy(value.value, 1n) : null
  const previous = bounds.find((range) => range.relation === relation && range.name === column.name)
  const others = bounds.filter((range) => range !== previous)
  const merged: TimeBounds = {
    relation,
    name: column.name,
    from_us: laterOf(previous?.from_us ?? null, from_us),
    until_us: earlierOf(previous?.until_us ?? null, until_us),
  }
  return [...others, merged]
}

function laterOf(left: TimeValue | null, right: TimeValue | null): TimeValue | null {
  if (left === null || right === null) return left ?? right
  return isBefore(right, left) ? left : right
}

function earlierOf(left: TimeValue | null, right: TimeValue | null): TimeValue | null {
  if (left === null || right === null) return left ?? right
  return isBefore(left, right) ? left : right
}

/** A truncated column: `toDate(timestamp)`, `toStartOfMonth(timestamp)`, `toYYYYMM(timestamp)`. */
type TruncatedColumn = {
  readonly column: ColumnExpr
  readonly unit: IntervalUnit
  readonly timezone: string
}

const OPPOSITE: Readonly<Record<string, string>> = {
  equals: 'equals',
  less: 'greater',
  greater: 'less',
  lessOrEquals: 'greaterOrEquals',
  greaterOrEquals: 'lessOrEquals',
}

function impliedBy(condition: Apply, context: CompileContext): readonly ResolvedExpr[] {
  const [left, ...others] = condition.args
  const [right] = others
  if (left === undefined || right === undefined) return []
  const swapped = OPPOSITE[condition.name]
  const truncated = truncationOf(left)
  if (truncated === null) {
    const other = swapped === undefined ? null : truncationOf(right)
    if (other === null || swapped === undefined) return []
    return impliedBounds(swapped, other, [left], context)
  }
  return impliedBounds(condition.name, truncated, others, context)
}

/** The implied bounds on the column: lower, upper or both, as the condition has them. */
function impliedBounds(
  name: string,
  truncated: TruncatedColumn,
  others: readonly ResolvedExpr[],
  context: CompileContext,
): readonly ResolvedExpr[] {
  const starts = others.map((other) =>
    other.kind === 'value' ? localStartOf(other, truncated, context) : null,
  )
  const local_starts = starts.filter((start) => start !== null)
  const [first] = local_starts
  if (first === undefined || local_starts.length < starts.length) return []
  const low = local_starts.reduce((least, start) => (isBefore(start, least) ? start : least), first)
  const high = local_starts.reduce((most, start) => (isBefore(most, start) ? start : most), first)
  const from = (): ResolvedExpr =>
    applyFragment(
      'greaterOrEquals',
      [truncated.column, boundInstant(low, truncated, context, -MARGIN_US)],
      TRUTH,
    )
  const to = (): ResolvedExpr => {
    const end = addToTime(high, 1n, truncated.unit)
    return applyFragment(
      'less',
      [truncated.column, boundInstant(end, truncated, context, MARGIN_US)],
      TRUTH,
    )
  }
  switch (name) {
    case 'equals':
    case 'in':
      return [from(), to()]
    case 'greater':
    case 'greaterOrEquals':
      return [from()]
    case 'less':
    case 'lessOrEquals':
      return [to()]
    default:
      return []
  }
}

/**
 * Functions that truncate a column to a unit. Those that return numbers give the year or the year
 * and month.
 */
const TRUNCATIONS: Readonly<Record<string, IntervalUnit>> = {
  toDate: 'Day',
  toStartOfDay: 'Day',
  toStartOfHour: 'Hour',
  toStartOfMinute: 'Minute',
  toMonday: 'Week',
  toStartOfWeek: 'Week',
  toStartOfMonth: 'Month',
  toStartOfQuarter: 'Quarter',
  toStartOfYear: 'Year',
  toYYYYMM: 'Month',
  toYear: 'Year',
}

function truncationOf(expr: ResolvedExpr): TruncatedColumn | null {
  if (expr.kind !== 'apply') return null
  const truncates = expr.name === 'dateTrunc' || expr.name === 'date_trunc'
  const [column] = truncates ? expr.args.slice(1) : expr.args
  const function_unit = Object.hasOwn(TRUNCATIONS, expr.name) ? TRUNCATIONS[expr.name] : undefined
  const unit = truncates ? readUnit(expr.args[0]) : (function_unit ?? null)
  if (unit === null || column?.kind !== 'column' || column.type.kind !== 'datetime') return null
  return { column, unit, timezone: column.type.timezone }
}

/** A constant as the local time at which its unit starts; null when it is not a time. */
function localStartOf(
  value: ValueExpr,
  truncated: TruncatedColumn,
  context: CompileContext,
): TimeValue | null {
  if (!isTimeValue(value.value)) return null
  if (value.type.kind === 'datetime') {
    const zone = lookUpZone(truncated.timezone, context)
    return shiftBy(value.value, BigInt(offsetAtTime(zone, value.value)) * 1_000_000n)
  }
  if (typeof value.value !== 'bigint') return null
  if (value.type.kind === 'date') return value.value * DAY_US
  return value.type.kind === 'int' ? localStartOfNumber(value.value, truncated.unit) : null
}

/** 2024 and 202406, the results of toYear and toYYYYMM. */
function localStartOfNumber(value: bigint, unit: IntervalUnit): bigint | null {
  const [year, month] = unit === 'Year' ? [value, 1n] : [value / 100n, value % 100n]
  if (year < 1n || year > 9999n || month < 1n || month > 12n) return null
  const months = (year - 1970n) * 12n + (month - 1n)
  return addUnits(0n, months, 'Month')
}

function boundInstant(
  local: TimeValue,
  truncated: TruncatedColumn,
  context: CompileContext,
  margin_us: bigint,
): ResolvedExpr {
  const at = instantOfTime(lookUpZone(truncated.timezone, context), local)
  return bind(shiftBy(at, margin_us), dateTimeType(truncated.timezone))
}
