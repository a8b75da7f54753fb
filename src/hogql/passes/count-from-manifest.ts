/** Pass: how many events there are, without any condition, is added up from what each of their files is known to hold. */

import type { Aggregate, ColumnExpr, ResolvedExpr, ResolvedSelect, Scan } from '../ir.ts'
import { aggregateFragment, sql } from '../sql-fragments.ts'
import { INT64 } from '../types.ts'
import { mapExpr, mapStatement, type Pass, someExpr } from './walk.ts'

/** Reads no events where only their number is asked for. */
export const countFromManifest: Pass = (statement) => mapStatement(statement, { select: counted })

function counted(select: ResolvedSelect): ResolvedSelect {
  const { from } = select
  if (from?.kind !== 'scan' || from.table !== 'events_lean') return select
  if (from.clocks.length > 0 || !isBareCount(select)) return select
  const total = totalOf(from)
  const columns = select.columns.map(({ id, expr }) => ({
    id,
    expr: mapExpr(expr, { expr: (part) => (isCount(part) ? total(part) : part) }),
  }))
  return { ...select, columns, from: { ...from, table: 'events_counts' } }
}

/** Counts of all rows and nothing else: no column is read, no row is left out or put with others. */
function isBareCount(select: ResolvedSelect): boolean {
  const { distinct, group_by, having, limit_by, order_by, qualify, where } = select
  if (distinct || order_by.length > 0) return false
  if ([group_by, having, limit_by, qualify, where].some((part) => part !== null)) return false
  if (!select.columns.some(({ expr }) => someExpr(expr, isCount))) return false
  return !select.columns.some(({ expr }) => someExpr(expr, isMore))
}

function isMore(expr: ResolvedExpr): boolean {
  return expr.kind === 'column' || expr.kind === 'subquery' || (isGathering(expr) && !isCount(expr))
}

function isGathering(expr: ResolvedExpr): boolean {
  return expr.kind === 'aggregate' || expr.kind === 'window' || expr.kind === 'apply'
}

function isCount(expr: ResolvedExpr): boolean {
  return expr.kind === 'aggregate' && expr.name === 'count' && isOfAllRows(expr)
}

function isOfAllRows({ args, distinct, filter, order_by, over }: Aggregate): boolean {
  return args.length === 0 && !distinct && filter === null && order_by.length === 0 && over === null
}

/** One row per file, or none at all. */
function totalOf({ id }: Scan): (count: ResolvedExpr) => ResolvedExpr {
  const rows: ColumnExpr = { kind: 'column', relation: id, name: 'row_count', type: INT64 }
  const sum = aggregateFragment('sum', [rows], INT64)
  return ({ type }) => sql`coalesce(${sum}, 0)::BIGINT`(type)
}
