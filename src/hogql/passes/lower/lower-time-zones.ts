/**
 * Pass lowerTimeZones: conversions between instants and local times are printed; a scan computes
 * each local time once per row, a group its instant once per group.
 *
 *   toHour(timestamp), in Berlin
 *   → hour(t1.l1), where the scan adds timestamp + CASE … END AS l1
 */

import type { CompileContext } from '../../context.ts'
import { refuseArguments } from '../../functions/argument-errors.ts'
import type {
  ColumnExpr,
  LocalTimeExpr,
  Relation,
  ResolvedExpr,
  ResolvedSelect,
  TimeBounds,
} from '../../sql/ir.ts'
import { printInstant, printLocalTime } from '../../times/local-time.ts'
import { keepExpr, mapExpr, mapRelation, mapSelect, mapStatement, type Pass } from '../walk.ts'

/** Each is about forty parts of SQL in a zone with daylight saving. */
const CONVERSIONS_MAX = 1_000

/** Prints every conversion between instants and local times. */
export const lowerTimeZones: Pass = (statement, context) => {
  let conversions = 0
  const chargeOne = (): void => {
    conversions += 1
    if (conversions > CONVERSIONS_MAX)
      refuseArguments(`A query looks at the clocks of zones at most ${CONVERSIONS_MAX} times`)
  }
  const grouped = mapStatement(statement, { select: groupByLocal })
  const scanned = mapStatement(grouped, {
    select: (select) => moveLocalTimesIntoScans(select, context),
  })
  return mapStatement(scanned, {
    expr: (expr) => {
      if (expr.kind !== 'local_time' && expr.kind !== 'instant') return expr
      chargeOne()
      return expr.kind === 'local_time'
        ? printLocalTime(expr, context)
        : printInstant(expr, context)
    },
  })
}

/** Groups by the local time; the instant is computed from the key afterwards. */
function groupByLocal(select: ResolvedSelect): ResolvedSelect {
  const { group_by } = select
  if (group_by === null) return select
  const sets = group_by.sets.map((keys) =>
    keys.map((key): ResolvedExpr => (key.kind === 'instant' ? key.local : key)),
  )
  return { ...select, group_by: { ...group_by, sets } }
}

/** Local times of scanned columns, by column and zone. */
type LocalTimes = Map<string, LocalTimeUse>
type LocalTimeUse = {
  readonly id: number
  readonly local_time: LocalTimeExpr
  readonly column: ColumnExpr
}

/** Moves local times of a scan's columns into the scan, each once however often it is used. */
function moveLocalTimesIntoScans(select: ResolvedSelect, context: CompileContext): ResolvedSelect {
  const scans = new Set<number>()
  if (select.from !== null) collectScans(select.from, scans)
  if (scans.size === 0) return select
  const local_times: LocalTimes = new Map()
  const replaceLocalTimes = (expr: ResolvedExpr): ResolvedExpr =>
    mapExpr(expr, { expr: (part) => columnOfLocalTime(part, scans, local_times) })
  const replaceInJoins = (relation: Relation): Relation =>
    mapRelation(relation, replaceLocalTimes, replaceInJoins)
  const rewritten = mapSelect(select, replaceLocalTimes, replaceInJoins)
  if (local_times.size === 0 || rewritten.from === null) return rewritten
  const conversions = [...local_times.values()].map(({ id, local_time, column }) => ({
    id,
    relation: column.relation,
    expr: printLocalTime(local_time, context, rangeOf(column, select.time_bounds)),
  }))
  return { ...rewritten, from: withLocalTimes(rewritten.from, conversions) }
}

function collectScans(relation: Relation, scans: Set<number>): void {
  if (relation.kind === 'scan') scans.add(relation.id)
  if (relation.kind !== 'join') return
  collectScans(relation.left, scans)
  collectScans(relation.right, scans)
}

function columnOfLocalTime(
  expr: ResolvedExpr,
  scans: ReadonlySet<number>,
  local_times: LocalTimes,
): ResolvedExpr {
  if (expr.kind !== 'local_time' || expr.of.kind !== 'column' || expr.type.kind !== 'datetime')
    return expr
  const { of } = expr
  if (!scans.has(of.relation)) return expr
  const key = `${of.relation} ${of.name} ${expr.type.timezone}`
  const use = local_times.get(key) ?? { id: local_times.size + 1, local_time: expr, column: of }
  local_times.set(key, use)
  const column: ColumnExpr = {
    kind: 'column',
    relation: of.relation,
    name: `l${use.id}`,
    type: expr.type,
  }
  return column
}

function rangeOf(column: ColumnExpr, bounds: readonly TimeBounds[]): TimeBounds | null {
  return (
    bounds.find((range) => range.relation === column.relation && range.name === column.name) ?? null
  )
}

type LocalizedColumn = {
  readonly id: number
  readonly relation: number
  readonly expr: ResolvedExpr
}

function withLocalTimes(relation: Relation, conversions: readonly LocalizedColumn[]): Relation {
  if (relation.kind === 'scan') {
    const scan_columns = conversions.filter((local_time) => local_time.relation === relation.id)
    return { ...relation, local_times: [...relation.local_times, ...scan_columns] }
  }
  return mapRelation(relation, keepExpr, (inner) => withLocalTimes(inner, conversions))
}
