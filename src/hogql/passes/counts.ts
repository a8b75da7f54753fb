/** Pass: how many events there are, without any condition, is added up from what each of their files is known to hold. */

import type { Column, Expr, Gather } from '../ir.ts'
import type { Scan, Select } from '../ir-queries.ts'
import { gather, sql } from '../spell.ts'
import { INT64 } from '../types.ts'
import { mapExpr, mapStatement, type Pass, someExpr } from './walk.ts'

/** Reads no events where only their number is asked for. */
export const counts: Pass = (statement) => mapStatement(statement, { select: counted })

function counted(select: Select): Select {
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
function isBareCount(select: Select): boolean {
  const { distinct, group_by, having, limit_by, order_by, qualify, where } = select
  if (distinct || order_by.length > 0) return false
  if ([group_by, having, limit_by, qualify, where].some((part) => part !== null)) return false
  if (!select.columns.some(({ expr }) => someExpr(expr, isCount))) return false
  return !select.columns.some(({ expr }) => someExpr(expr, isMore))
}

function isMore(expr: Expr): boolean {
  return expr.kind === 'column' || expr.kind === 'subquery' || (isGathering(expr) && !isCount(expr))
}

function isGathering(expr: Expr): boolean {
  return expr.kind === 'gather' || expr.kind === 'window' || expr.kind === 'apply'
}

function isCount(expr: Expr): boolean {
  return expr.kind === 'gather' && expr.name === 'count' && isOfAllRows(expr)
}

function isOfAllRows({ args, distinct, filter, order_by, over }: Gather): boolean {
  return args.length === 0 && !distinct && filter === null && order_by.length === 0 && over === null
}

/** One row per file, or none at all. */
function totalOf({ id }: Scan): (count: Expr) => Expr {
  const rows: Column = { kind: 'column', relation: id, name: 'row_count', type: INT64 }
  const sum = gather('sum', [rows], INT64)
  return ({ type }) => sql`coalesce(${sum}, 0)::BIGINT`(type)
}
