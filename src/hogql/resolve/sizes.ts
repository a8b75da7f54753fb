/** How large a question grows when its aliases and WITH expressions are put in: doubling names must not double for ever. */

import type { Place } from '../ast.ts'
import type { Expr } from '../ir.ts'
import type { Query, Relation } from '../ir-queries.ts'
import { mapChildren, mapRelation, mapSelect } from '../passes/walk.ts'
import { refuse } from './refuse.ts'

/** Nodes one alias may stand for, and those of a whole statement. */
const ALIAS_NODES_MAX = 10_000
const STATEMENT_NODES_MAX = 50_000
/** Columns of one select, stars expanded. */
export const COLUMNS_MAX = 5_000
/** Times WITH expressions may be put in. */
export const EXPANSIONS_MAX = 2_000

/** Sizes known so far: shared parts are counted wherever they stand, but looked at once. */
export type Sizes = WeakMap<object, number>

/** Refuses an alias that stands for too much. */
export function requireSmallAlias(expr: Expr, sizes: Sizes, at: Place): void {
  if (sizeOfExpr(expr, sizes) > ALIAS_NODES_MAX) {
    throw refuse('The expression grows too large when its aliases are put in', at)
  }
}

/** Refuses a statement that is too large once everything is put in. */
export function requireSmallQuery(query: Query, sizes: Sizes, at: Place): void {
  if (sizeOfQuery(query, sizes) > STATEMENT_NODES_MAX) {
    throw refuse('The question is too large', at)
  }
}

function sizeOfExpr(expr: Expr, sizes: Sizes): number {
  return sizes.get(expr) ?? measured(expr, sizes)
}

function measured(expr: Expr, sizes: Sizes): number {
  let size = 1
  mapChildren(
    expr,
    (child) => {
      size += sizeOfExpr(child, sizes)
      return child
    },
    (query) => {
      size += sizeOfQuery(query, sizes)
      return query
    },
  )
  sizes.set(expr, size)
  return size
}

function sizeOfQuery(query: Query, sizes: Sizes): number {
  const known = sizes.get(query)
  if (known !== undefined) return known
  let size = 1
  const count = (expr: Expr): Expr => {
    size += sizeOfExpr(expr, sizes)
    return expr
  }
  if (query.kind === 'select') {
    const inRelation = (relation: Relation): Relation => {
      if (relation.kind === 'derived') size += sizeOfQuery(relation.query, sizes)
      return mapRelation(relation, count, inRelation)
    }
    mapSelect(query, count, inRelation)
  } else {
    for (const leg of [query.first, ...query.rest.map((rest) => rest.query)]) {
      size += sizeOfQuery(leg, sizes)
    }
  }
  sizes.set(query, size)
  return size
}
