/** Pass: a condition on the day or month of a column also bounds the column itself, which is what files are chosen by. */

import { addUnits } from '../calendar.ts'
import type { CompileContext } from '../context.ts'
import { readUnit } from '../functions/date-parts.ts'
import type {
  Apply,
  ColumnExpr,
  ResolvedExpr,
  ResolvedSelect,
  TimeBounds,
  ValueExpr,
} from '../ir.ts'
import { DAY_US } from '../local-time.ts'
import { addToTime, isBefore, isTimeValue, type MovableTime, shiftBy } from '../relative-time.ts'
import { bind } from '../sql-fragments.ts'
import { dateTimeType, type IntervalUnit, TRUTH } from '../types.ts'
import { instantOfTime, lookUpZone, offsetAtTime } from '../zones.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Added on both sides, so that no change of clocks around a bound can cut a row off. */
const MARGIN_US = 3n * 3_600_000_000n

/** Adds to WHERE what its conditions on starts of days, weeks, months… imply for the instants. */
export const inferTimeRanges: Pass = (statement, context) =>
  mapStatement(statement, { select: (select) => bounded(select, context) })

function bounded(select: ResolvedSelect, context: CompileContext): ResolvedSelect {
  if (select.where === null) return select
  const parts = conjuncts(select.where)
  const implied = parts.flatMap((part) => (part.kind === 'apply' ? impliedBy(part, context) : []))
  const all = [...parts, ...implied]
  const where = implied.length === 0 ? select.where : call('and', all)
  return { ...select, where, known: all.reduce(learn, select.known) }
}

/** What one condition adds to what is known of the columns it compares with constants. */
function learn(known: readonly TimeBounds[], condition: ResolvedExpr): readonly TimeBounds[] {
  if (condition.kind !== 'apply') return known
  const [first, second] = condition.args
  const [column, value] = first?.kind === 'column' ? [first, second] : [second, first]
  const name = first?.kind === 'column' ? condition.name : OPPOSITE[condition.name]
  if (column?.kind !== 'column' || value?.kind !== 'value' || value.type.kind !== 'datetime')
    return known
  if (!isTimeValue(value.value) || name === undefined || column.type.kind !== 'datetime')
    return known
  const { relation } = column
  const from_us = name.startsWith('greater') || name === 'equals' ? value.value : null
  // One microsecond more, because the bound itself may be meant.
  const until_us = name.startsWith('less') || name === 'equals' ? shiftBy(value.value, 1n) : null
  const before = known.find((range) => range.relation === relation && range.name === column.name)
  const rest = known.filter((range) => range !== before)
  const merged: TimeBounds = {
    relation,
    name: column.name,
    from_us: later(before?.from_us ?? null, from_us),
    until_us: earlier(before?.until_us ?? null, until_us),
  }
  return [...rest, merged]
}

function later(left: MovableTime | null, right: MovableTime | null): MovableTime | null {
  if (left === null || right === null) return left ?? right
  return isBefore(right, left) ? left : right
}

function earlier(left: MovableTime | null, right: MovableTime | null): MovableTime | null {
  if (left === null || right === null) return left ?? right
  return isBefore(left, right) ? left : right
}

function conjuncts(expr: ResolvedExpr): readonly ResolvedExpr[] {
  return expr.kind === 'apply' && expr.name === 'and' ? expr.args.flatMap(conjuncts) : [expr]
}

function call(name: string, args: readonly ResolvedExpr[]): Apply {
  return { kind: 'apply', name, params: [], args, aggregate: null, type: TRUTH }
}

/** A cut of a column: `toDate(timestamp)`, `toStartOfMonth(timestamp)`, `toYYYYMM(timestamp)`. */
type Cut = { readonly column: ColumnExpr; readonly unit: IntervalUnit; readonly timezone: string }

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
  const cut = cutOf(left)
  if (cut === null) {
    const other = swapped === undefined ? null : cutOf(right)
    if (other === null || swapped === undefined) return []
    return bounds(swapped, other, [left], context)
  }
  return bounds(condition.name, cut, others, context)
}

/** The bounds on the column, one for each side the condition has. */
function bounds(
  name: string,
  cut: Cut,
  others: readonly ResolvedExpr[],
  context: CompileContext,
): readonly ResolvedExpr[] {
  const starts = others.map((other) =>
    other.kind === 'value' ? localOf(other, cut, context) : null,
  )
  const known = starts.filter((start) => start !== null)
  const [first] = known
  if (first === undefined || known.length < starts.length) return []
  const low = known.reduce((least, start) => (isBefore(start, least) ? start : least), first)
  const high = known.reduce((most, start) => (isBefore(most, start) ? start : most), first)
  const from = (): ResolvedExpr =>
    call('greaterOrEquals', [cut.column, instant(low, cut, context, -MARGIN_US)])
  const to = (): ResolvedExpr => {
    const end = addToTime(high, 1n, cut.unit)
    return call('less', [cut.column, instant(end, cut, context, MARGIN_US)])
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

/** Functions of one column that cut it down to a unit; those of numbers give the year or the year and month. */
const CUTS: Readonly<Record<string, IntervalUnit>> = {
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

function cutOf(expr: ResolvedExpr): Cut | null {
  if (expr.kind !== 'apply') return null
  const truncates = expr.name === 'dateTrunc' || expr.name === 'date_trunc'
  const [column] = truncates ? expr.args.slice(1) : expr.args
  const named = Object.hasOwn(CUTS, expr.name) ? CUTS[expr.name] : undefined
  const unit = truncates ? readUnit(expr.args[0]) : (named ?? null)
  if (unit === null || column?.kind !== 'column' || column.type.kind !== 'datetime') return null
  return { column, unit, timezone: column.type.timezone }
}

/** A constant side as the local time its unit starts at; null when it is no time. */
function localOf(value: ValueExpr, cut: Cut, context: CompileContext): MovableTime | null {
  if (!isTimeValue(value.value)) return null
  if (value.type.kind === 'datetime') {
    const zone = lookUpZone(cut.timezone, context)
    return shiftBy(value.value, BigInt(offsetAtTime(zone, value.value)) * 1_000_000n)
  }
  if (typeof value.value !== 'bigint') return null
  if (value.type.kind === 'date') return value.value * DAY_US
  return value.type.kind === 'int' ? localOfNumber(value.value, cut.unit) : null
}

/** 2024 and 202406, as toYear and toYYYYMM give them. */
function localOfNumber(value: bigint, unit: IntervalUnit): bigint | null {
  const [year, month] = unit === 'Year' ? [value, 1n] : [value / 100n, value % 100n]
  if (year < 1n || year > 9999n || month < 1n || month > 12n) return null
  const months = (year - 1970n) * 12n + (month - 1n)
  return addUnits(0n, months, 'Month')
}

function instant(
  local: MovableTime,
  cut: Cut,
  context: CompileContext,
  margin_us: bigint,
): ResolvedExpr {
  const at = instantOfTime(lookUpZone(cut.timezone, context), local)
  return bind(shiftBy(at, margin_us), dateTimeType(cut.timezone))
}
