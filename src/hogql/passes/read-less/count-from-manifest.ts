/**
 * Pass countFromManifest: the number of all events is summed over the metadata of their files.
 *
 *   SELECT count() FROM events
 *   → SELECT coalesce(sum(row_count), 0) FROM events_counts
 */

import type { Aggregate, ColumnExpr, ResolvedExpr, ResolvedSelect, Scan } from '../../sql/ir.ts'
import { aggregateFragment, sql } from '../../sql/sql-fragments.ts'
import { INT64 } from '../../types/types.ts'
import { mapExpr, mapStatement, type Pass, someExpr } from '../walk.ts'

/** Replaces the scan where a select reads nothing of events but their number. */
export const countFromManifest: Pass = (statement) =>
  mapStatement(statement, { select: countFromFiles })

function countFromFiles(select: ResolvedSelect): ResolvedSelect {
  const { from } = select
  if (from?.kind !== 'scan' || from.table !== 'events_lean') return select
  if (from.local_times.length > 0 || !isBareCount(select)) return select
  const total = sumOfFiles(from)
  const columns = select.columns.map(({ id, expr }) => ({
    id,
    expr: mapExpr(expr, { expr: (part) => (isRowCount(part) ? total(part) : part) }),
  }))
  return { ...select, columns, from: { ...from, table: 'events_counts' } }
}

/** Whether the select counts all rows and nothing else: no column is read, no row is filtered or grouped. */
function isBareCount(select: ResolvedSelect): boolean {
  const { distinct, group_by, having, limit_by, order_by, qualify, where } = select
  if (distinct || order_by.length > 0) return false
  if ([group_by, having, limit_by, qualify, where].some((part) => part !== null)) return false
  if (!select.columns.some(({ expr }) => someExpr(expr, isRowCount))) return false
  return !select.columns.some(({ expr }) => someExpr(expr, readsRows))
}

function readsRows(expr: ResolvedExpr): boolean {
  return (
    expr.kind === 'column' || expr.kind === 'subquery' || (isAggregation(expr) && !isRowCount(expr))
  )
}

function isAggregation(expr: ResolvedExpr): boolean {
  return expr.kind === 'aggregate' || expr.kind === 'window' || expr.kind === 'apply'
}

function isRowCount(expr: ResolvedExpr): boolean {
  return expr.kind === 'aggregate' && expr.name === 'count' && isOfAllRows(expr)
}

function isOfAllRows({ args, distinct, filter, order_by, over }: Aggregate): boolean {
  return args.length === 0 && !distinct && filter === null && order_by.length === 0 && over === null
}

/** The sum of the files' row counts; there may be no file. */
function sumOfFiles({ id }: Scan): (count: ResolvedExpr) => ResolvedExpr {
  const rows: ColumnExpr = { kind: 'column', relation: id, name: 'row_count', type: INT64 }
  const sum = aggregateFragment('sum', [rows], INT64)
  return ({ type }) => sql`coalesce(${sum}, 0)::BIGINT`(type)
}
