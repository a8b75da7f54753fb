/**
 * Pass castOutput: casts the result's columns to the types ClickHouse would return. Of an interval it shows the count.
 *
 *   SELECT a = 1
 *   → SELECT (a = 1)::UTINYINT
 */

import type { Output, ResolvedExpr, ResolvedQuery } from '../../sql/ir.ts'
import { joinFragments } from '../../sql/sql-fragments.ts'
import { unitsOf } from '../../types/convert.ts'
import { duckdbName, holdsTruth } from '../../types/types.ts'
import type { Pass } from '../walk.ts'

/**
 * Casts the outermost columns whose type contains a comparison outcome (`truth`), so that they are
 * shown as 0 and 1, and intervals.
 */
export const castOutput: Pass = (statement) => ({ ...statement, query: castQuery(statement.query) })

function castQuery(query: ResolvedQuery): ResolvedQuery {
  if (query.kind === 'select') return { ...query, columns: query.columns.map(castColumn) }
  return {
    ...query,
    first: castQuery(query.first),
    rest: query.rest.map((leg) => ({ ...leg, query: castQuery(leg.query) })),
  }
}

function castColumn(column: Output): Output {
  const { expr } = column
  if (expr.type.kind === 'interval')
    return { ...column, expr: { ...unitsOf(expr, expr.type.unit), type: expr.type } }
  if (!holdsTruth(expr.type)) return column
  return { ...column, expr: castForOutput(expr) }
}

function castForOutput(expr: ResolvedExpr): ResolvedExpr {
  return joinFragments(['(', '', `)::${duckdbName(expr.type, true)}`], [expr], expr.type)
}
