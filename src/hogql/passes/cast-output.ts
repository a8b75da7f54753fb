/** Pass: the columns of the answer take the form it shows, comparison outcomes as 0 and 1. */

import type { Output, ResolvedExpr, ResolvedQuery } from '../ir.ts'
import { joinFragments } from '../sql-fragments.ts'
import { duckdbName, holdsTruth } from '../types.ts'
import type { Pass } from './walk.ts'

/** Casts the outermost columns where their type hides a comparison outcome. */
export const castOutput: Pass = (statement) => ({ ...statement, query: shown(statement.query) })

function shown(query: ResolvedQuery): ResolvedQuery {
  if (query.kind === 'select') return { ...query, columns: query.columns.map(shownColumn) }
  return {
    ...query,
    first: shown(query.first),
    rest: query.rest.map((leg) => ({ ...leg, query: shown(leg.query) })),
  }
}

function shownColumn(column: Output): Output {
  const { expr } = column
  if (!holdsTruth(expr.type)) return column
  return { ...column, expr: castTo(expr) }
}

function castTo(expr: ResolvedExpr): ResolvedExpr {
  return joinFragments(['(', '', `)::${duckdbName(expr.type, true)}`], [expr], expr.type)
}
