/** What a pass is, and how it walks a resolved query: children first, every expression and every select once. */

import type { CompileContext } from '../context.ts'
import type { Expr, Frame, OrderBy, Over } from '../ir.ts'
import type { Cte, Limits, Query, Relation, Select, Statement } from '../ir-queries.ts'

/** One rewrite of the whole statement. */
export type Pass = (statement: Statement, context: CompileContext) => Statement

/** What to do on the way up; absent parts stay as they are. */
export type Rewrite = {
  readonly expr?: (expr: Expr) => Expr
  readonly select?: (select: Select) => Select
}

/** Applies a rewrite to every expression and select of a statement, the innermost first. */
export function mapStatement(statement: Statement, rewrite: Rewrite): Statement {
  return {
    ctes: statement.ctes.map((cte: Cte) => ({ ...cte, query: mapQuery(cte.query, rewrite) })),
    query: mapQuery(statement.query, rewrite),
  }
}

export function mapQuery(query: Query, rewrite: Rewrite): Query {
  if (query.kind === 'select') {
    const select = mapSelect(
      query,
      (expr) => mapExpr(expr, rewrite),
      (relation) => rewriteRelation(relation, rewrite),
    )
    return rewrite.select?.(select) ?? select
  }
  return {
    ...query,
    ...mapLimits(query, (expr) => mapExpr(expr, rewrite)),
    first: mapQuery(query.first, rewrite),
    rest: query.rest.map((leg) => ({ ...leg, query: mapQuery(leg.query, rewrite) })),
  }
}

/** A select with each of its own expressions and its relation rewritten by the given functions. */
export function mapSelect(
  select: Select,
  onExpr: (expr: Expr) => Expr,
  onRelation: (relation: Relation) => Relation,
): Select {
  const optional = (expr: Expr | null): Expr | null => (expr === null ? null : onExpr(expr))
  const { group_by, limit_by } = select
  return {
    ...select,
    ...mapLimits(select, onExpr),
    from: select.from === null ? null : onRelation(select.from),
    columns: select.columns.map((column) => ({ ...column, expr: onExpr(column.expr) })),
    where: optional(select.where),
    group_by:
      group_by === null
        ? null
        : { ...group_by, sets: group_by.sets.map((keys) => keys.map(onExpr)) },
    having: optional(select.having),
    qualify: optional(select.qualify),
    limit_by:
      limit_by === null
        ? null
        : {
            count: onExpr(limit_by.count),
            offset: optional(limit_by.offset),
            keys: limit_by.keys.map(onExpr),
          },
  }
}

export function mapLimits(limits: Limits, onExpr: (expr: Expr) => Expr): Limits {
  return {
    order_by: limits.order_by.map((order) => mapOrder(order, onExpr)),
    limit: limits.limit === null ? null : onExpr(limits.limit),
    offset: limits.offset === null ? null : onExpr(limits.offset),
    limit_percent: limits.limit_percent,
    with_ties: limits.with_ties,
  }
}

function mapOrder(order: OrderBy, onExpr: (expr: Expr) => Expr): OrderBy {
  return { ...order, expr: onExpr(order.expr) }
}

/** A relation with its own expressions and the relations it joins rewritten; a derived one stays as it is. */
export function mapRelation(
  relation: Relation,
  onExpr: (expr: Expr) => Expr,
  onRelation: (relation: Relation) => Relation,
): Relation {
  switch (relation.kind) {
    case 'scan':
      return {
        ...relation,
        clocks: relation.clocks.map((clock) => ({ ...clock, expr: onExpr(clock.expr) })),
      }
    case 'cte_scan':
    case 'derived':
      return relation
    case 'series': {
      const [first, stop, step] = relation.args
      return { ...relation, args: [onExpr(first), onExpr(stop), onExpr(step)] }
    }
    case 'rows':
      return { ...relation, rows: relation.rows.map((row) => row.map(onExpr)) }
    case 'unnest':
      return { ...relation, lists: relation.lists.map(onExpr) }
    case 'join':
      return {
        ...relation,
        left: onRelation(relation.left),
        right: onRelation(relation.right),
        on: relation.on === null ? null : onExpr(relation.on),
      }
  }
}

function rewriteRelation(relation: Relation, rewrite: Rewrite): Relation {
  if (relation.kind === 'derived') return { ...relation, query: mapQuery(relation.query, rewrite) }
  return mapRelation(
    relation,
    (expr) => mapExpr(expr, rewrite),
    (inner) => rewriteRelation(inner, rewrite),
  )
}

export function mapExpr(expr: Expr, rewrite: Rewrite): Expr {
  const mapped = mapChildren(
    expr,
    (child) => mapExpr(child, rewrite),
    (query) => mapQuery(query, rewrite),
  )
  return rewrite.expr?.(mapped) ?? mapped
}

/** An expression with its direct children rewritten by the given functions. */
export function mapChildren(
  expr: Expr,
  onExpr: (expr: Expr) => Expr,
  onQuery: (query: Query) => Query,
): Expr {
  const all = (exprs: readonly Expr[]): readonly Expr[] => exprs.map(onExpr)
  const orders = (list: readonly OrderBy[]): readonly OrderBy[] =>
    list.map((order) => mapOrder(order, onExpr))
  switch (expr.kind) {
    case 'value':
    case 'column':
    case 'local':
      return expr
    case 'apply': {
      const { aggregate } = expr
      return {
        ...expr,
        params: all(expr.params),
        args: all(expr.args),
        aggregate:
          aggregate === null
            ? null
            : {
                distinct: aggregate.distinct,
                filter: aggregate.filter === null ? null : onExpr(aggregate.filter),
                order_by: orders(aggregate.order_by),
              },
      }
    }
    case 'gather':
      return {
        ...expr,
        args: all(expr.args),
        filter: expr.filter === null ? null : onExpr(expr.filter),
        order_by: orders(expr.order_by),
        over: expr.over === null ? null : mapOver(expr.over, onExpr),
      }
    case 'lambda':
      return { ...expr, body: onExpr(expr.body) }
    case 'property':
      return { ...expr, of: onExpr(expr.of) }
    case 'clock':
      return { ...expr, of: onExpr(expr.of) }
    case 'instant':
      return { ...expr, local: onExpr(expr.local) }
    case 'item':
      return { ...expr, of: onExpr(expr.of) }
    case 'tuple':
      return { ...expr, items: all(expr.items) }
    case 'spelled':
      return { ...expr, args: all(expr.args) }
    case 'subquery':
      return { ...expr, query: onQuery(expr.query) }
    case 'window':
      return { ...expr, call: onExpr(expr.call), over: mapOver(expr.over, onExpr) }
  }
}

function mapOver(over: Over, onExpr: (expr: Expr) => Expr): Over {
  const frame: Frame | null = over.frame
  return {
    partition_by: over.partition_by.map(onExpr),
    order_by: over.order_by.map((order) => mapOrder(order, onExpr)),
    frame,
  }
}

/** Whether any expression within (sub-selects left out) satisfies a test. */
export function someExpr(expr: Expr, test: (expr: Expr) => boolean): boolean {
  if (test(expr)) return true
  let found = false
  mapChildren(
    expr,
    (child) => {
      found ||= someExpr(child, test)
      return child
    },
    (query) => query,
  )
  return found
}
