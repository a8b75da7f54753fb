/**
 * The type of a pass, and its walk over a resolved query: children first, every expression and
 * every select once.
 */

import type { CompileContext } from '../context.ts'
import type {
  AggregateInput,
  Apply,
  Cte,
  OrderBy,
  Over,
  Relation,
  ResolvedExpr,
  ResolvedQuery,
  ResolvedSelect,
  SelectLimits,
  Statement,
  WindowFrame,
} from '../sql/ir.ts'

/** One rewrite of the whole statement. */
export type Pass = (statement: Statement, context: CompileContext) => Statement

/** The bottom-up callbacks of a walk; absent ones change nothing. */
export type Rewrite = {
  readonly expr?: (expr: ResolvedExpr) => ResolvedExpr
  readonly select?: (select: ResolvedSelect) => ResolvedSelect
}

type OnExpr = (expr: ResolvedExpr) => ResolvedExpr
type OnQuery = (query: ResolvedQuery) => ResolvedQuery
type OnRelation = (relation: Relation) => Relation

/** A rewrite with its recursive functions, created once for all nodes: texts may have thousands. */
type WalkHandlers = {
  readonly rewrite: Rewrite
  readonly onExpr: OnExpr
  readonly onQuery: OnQuery
  readonly onRelation: OnRelation
}

function walkOf(rewrite: Rewrite): WalkHandlers {
  const walk: WalkHandlers = {
    rewrite,
    onExpr: (expr) => {
      const mapped = mapChildren(expr, walk.onExpr, walk.onQuery)
      return rewrite.expr?.(mapped) ?? mapped
    },
    onQuery: (query) => queryWith(query, walk),
    onRelation: (relation) => relationWith(relation, walk),
  }
  return walk
}

/**
 * Applies a rewrite to every expression and select of a statement, the innermost first. Parts in
 * which nothing changed keep their identity.
 */
export function mapStatement(statement: Statement, rewrite: Rewrite): Statement {
  const { onQuery } = walkOf(rewrite)
  return {
    ctes: statement.ctes.map((cte: Cte) => ({ ...cte, query: onQuery(cte.query) })),
    query: onQuery(statement.query),
  }
}

export function mapExpr(expr: ResolvedExpr, rewrite: Rewrite): ResolvedExpr {
  return walkOf(rewrite).onExpr(expr)
}

function queryWith(query: ResolvedQuery, walk: WalkHandlers): ResolvedQuery {
  const { rewrite, onExpr, onQuery, onRelation } = walk
  if (query.kind === 'select') {
    const select = mapSelect(query, onExpr, onRelation)
    return rewrite.select?.(select) ?? select
  }
  return {
    ...query,
    ...mapLimits(query, onExpr),
    first: onQuery(query.first),
    rest: query.rest.map((leg) => ({ ...leg, query: onQuery(leg.query) })),
  }
}

function relationWith(relation: Relation, walk: WalkHandlers): Relation {
  if (relation.kind === 'derived') return { ...relation, query: walk.onQuery(relation.query) }
  return mapRelation(relation, walk.onExpr, walk.onRelation)
}

/** A list with each item rewritten; the same list when no item changed. */
function mapAll<Item>(items: readonly Item[], change: (item: Item) => Item): readonly Item[] {
  let changed: Item[] | null = null
  for (const [index, item] of items.entries()) {
    const after = change(item)
    if (changed === null && after !== item) changed = items.slice(0, index)
    changed?.push(after)
  }
  return changed ?? items
}

/** An optional expression. */
function mapMaybe(expr: ResolvedExpr | null, onExpr: OnExpr): ResolvedExpr | null {
  return expr === null ? null : onExpr(expr)
}

/** A select with its direct expressions and its relation mapped. */
export function mapSelect(
  select: ResolvedSelect,
  onExpr: OnExpr,
  onRelation: OnRelation,
): ResolvedSelect {
  const { group_by, limit_by } = select
  return {
    ...select,
    ...mapLimits(select, onExpr),
    from: select.from === null ? null : onRelation(select.from),
    columns: mapAll(select.columns, (column) => {
      const expr = onExpr(column.expr)
      return expr === column.expr ? column : { ...column, expr }
    }),
    where: mapMaybe(select.where, onExpr),
    group_by:
      group_by === null
        ? null
        : { ...group_by, sets: group_by.sets.map((keys) => mapAll(keys, onExpr)) },
    having: mapMaybe(select.having, onExpr),
    qualify: mapMaybe(select.qualify, onExpr),
    limit_by:
      limit_by === null
        ? null
        : {
            count: onExpr(limit_by.count),
            offset: mapMaybe(limit_by.offset, onExpr),
            keys: mapAll(limit_by.keys, onExpr),
          },
  }
}

function mapLimits(limits: SelectLimits, onExpr: OnExpr): SelectLimits {
  return {
    order_by: mapOrders(limits.order_by, onExpr),
    limit: mapMaybe(limits.limit, onExpr),
    offset: mapMaybe(limits.offset, onExpr),
    limit_percent: limits.limit_percent,
    with_ties: limits.with_ties,
  }
}

function mapOrders(orders: readonly OrderBy[], onExpr: OnExpr): readonly OrderBy[] {
  if (orders.length === 0) return orders
  return mapAll(orders, (order) => {
    const expr = onExpr(order.expr)
    return expr === order.expr ? order : { ...order, expr }
  })
}

/** A relation with its direct expressions and joined relations mapped; a derived one does not change. */
export function mapRelation(relation: Relation, onExpr: OnExpr, onRelation: OnRelation): Relation {
  switch (relation.kind) {
    case 'scan':
      return {
        ...relation,
        local_times: relation.local_times.map((local_time) => ({
          ...local_time,
          expr: onExpr(local_time.expr),
        })),
      }
    case 'cte_scan':
    case 'derived':
    case 'gathered':
      return relation
    case 'series': {
      const [first, stop, step] = relation.args
      return { ...relation, args: [onExpr(first), onExpr(stop), onExpr(step)] }
    }
    case 'rows':
      return { ...relation, rows: mapAll(relation.rows, (row) => mapAll(row, onExpr)) }
    case 'unnest':
      return { ...relation, lists: mapAll(relation.lists, onExpr) }
    case 'join':
      return {
        ...relation,
        left: onRelation(relation.left),
        right: onRelation(relation.right),
        on: mapMaybe(relation.on, onExpr),
      }
  }
}

/** An expression with its direct children mapped; the same object when none changed. */
export function mapChildren(expr: ResolvedExpr, onExpr: OnExpr, onQuery: OnQuery): ResolvedExpr {
  switch (expr.kind) {
    case 'value':
    case 'column':
    case 'local':
      return expr
    case 'apply':
      return mapApply(expr, onExpr)
    case 'aggregate':
      return {
        ...expr,
        args: mapAll(expr.args, onExpr),
        filter: mapMaybe(expr.filter, onExpr),
        order_by: mapOrders(expr.order_by, onExpr),
        over: expr.over === null ? null : mapOver(expr.over, onExpr),
      }
    case 'lambda': {
      const body = onExpr(expr.body)
      return body === expr.body ? expr : { ...expr, body }
    }
    case 'property':
    case 'local_time':
    case 'item': {
      const of = onExpr(expr.of)
      return of === expr.of ? expr : { ...expr, of }
    }
    case 'instant': {
      const local = onExpr(expr.local)
      return local === expr.local ? expr : { ...expr, local }
    }
    case 'tuple': {
      const items = mapAll(expr.items, onExpr)
      return items === expr.items ? expr : { ...expr, items }
    }
    case 'fragment': {
      const args = mapAll(expr.args, onExpr)
      return args === expr.args ? expr : { ...expr, args }
    }
    case 'subquery':
      return { ...expr, query: onQuery(expr.query) }
    case 'window':
      return { ...expr, call: onExpr(expr.call), over: mapOver(expr.over, onExpr) }
  }
}

function mapApply(call: Apply, onExpr: OnExpr): Apply {
  const params = mapAll(call.params, onExpr)
  const args = mapAll(call.args, onExpr)
  const aggregate = call.aggregate === null ? null : mapAggregateInput(call.aggregate, onExpr)
  const same = params === call.params && args === call.args && aggregate === call.aggregate
  return same ? call : { ...call, params, args, aggregate }
}

function mapAggregateInput(input: AggregateInput, onExpr: OnExpr): AggregateInput {
  const filter = mapMaybe(input.filter, onExpr)
  const order_by = mapOrders(input.order_by, onExpr)
  const same = filter === input.filter && order_by === input.order_by
  return same ? input : { distinct: input.distinct, filter, order_by }
}

function mapOver(over: Over, onExpr: OnExpr): Over {
  const frame: WindowFrame | null = over.frame
  return {
    partition_by: mapAll(over.partition_by, onExpr),
    order_by: mapOrders(over.order_by, onExpr),
    frame,
  }
}

/** Whether any expression within (sub-selects excluded) satisfies a test. */
export function someExpr(expr: ResolvedExpr, test: (expr: ResolvedExpr) => boolean): boolean {
  return test(expr) || operandsOf(expr).some((operand) => someExpr(operand, test))
}

/** The direct sub-expressions of an expression; sub-selects are not entered. */
export function operandsOf(expr: ResolvedExpr): readonly ResolvedExpr[] {
  const operands: ResolvedExpr[] = []
  mapChildren(
    expr,
    (operand) => {
      operands.push(operand)
      return operand
    },
    keepQuery,
  )
  return operands
}

/** The conditions that an AND requires, nested ANDs flattened: `a AND (b AND c)` → `[a, b, c]`. */
export function conjuncts(expr: ResolvedExpr): readonly ResolvedExpr[] {
  return expr.kind === 'apply' && expr.name === 'and' ? expr.args.flatMap(conjuncts) : [expr]
}

/** The callbacks of a walk that changes no such part and does not enter it. */
export const keepQuery = (query: ResolvedQuery): ResolvedQuery => query
export const keepExpr = (expr: ResolvedExpr): ResolvedExpr => expr
export const keepRelation = (relation: Relation): Relation => relation
