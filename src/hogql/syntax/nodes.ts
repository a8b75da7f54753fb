/** Builders for the most used nodes of the syntax tree, for the parser and for code that builds queries. */

import type {
  Alias,
  Call,
  CompareOperation,
  CompareOperator,
  Constant,
  ConstantValue,
  Expr,
  Field,
  JoinExpr,
  OrderExpr,
  SelectQuery,
  SelectSetQuery,
  SourceSpan,
  TableExpr,
  Tuple,
} from './ast.ts'

/** The source span of nodes that come from no text. */
export const NOWHERE: SourceSpan = { start: 0, end: 0 }

/** A literal; integers must come as bigint, floats as number (see Constant). */
export function constant(value: ConstantValue, place: SourceSpan = NOWHERE): Constant {
  return { kind: 'Constant', start: place.start, end: place.end, value }
}

/** A literal integer. */
export function integer(value: number): Constant {
  return constant(BigInt(value))
}

/** A name of one or more parts. */
export function field(chain: readonly string[], place: SourceSpan = NOWHERE): Field {
  return { kind: 'Field', start: place.start, end: place.end, chain }
}

/** A plain call `name(args)`; spread it to add DISTINCT, FILTER and the like. */
export function call(name: string, args: readonly Expr[], place: SourceSpan = NOWHERE): Call {
  return {
    kind: 'Call',
    start: place.start,
    end: place.end,
    name,
    params: null,
    args,
    distinct: false,
    ignore_nulls: false,
    order_by: [],
    within_group: [],
    filter_expr: null,
  }
}

/** `expr AS name`. */
export function alias(expr: Expr, name: string, place: SourceSpan = NOWHERE): Alias {
  return { kind: 'Alias', start: place.start, end: place.end, alias: name, expr }
}

/** `(a, b, …)`. */
export function tuple(exprs: readonly Expr[], place: SourceSpan = NOWHERE): Tuple {
  return { kind: 'Tuple', start: place.start, end: place.end, exprs }
}

/** `left op right`. */
export function compare(left: Expr, op: CompareOperator, right: Expr): CompareOperation {
  return {
    kind: 'CompareOperation',
    start: left.start,
    end: right.end,
    op,
    left,
    right,
    is_null_comparison_style: false,
  }
}

/** All conditions together, nulls left out; null for none, the condition itself for one. */
export function and(conditions: readonly (Expr | null)[]): Expr | null {
  return joined('And', conditions)
}

/** Any of the conditions, nulls left out; null for none, the condition itself for one. */
export function or(conditions: readonly (Expr | null)[]): Expr | null {
  return joined('Or', conditions)
}

function joined(kind: 'And' | 'Or', conditions: readonly (Expr | null)[]): Expr | null {
  const exprs = conditions.filter((condition) => condition !== null)
  const [first] = exprs
  if (first === undefined) return null
  return exprs.length === 1 ? first : { kind, ...NOWHERE, exprs }
}

/** A select or a set without ORDER BY and LIMIT: spread it over one. */
export const NO_LIMITS = {
  order_by: [],
  limit: null,
  limit_percent: false,
  limit_with_ties: false,
  offset: null,
} as const

/** The number of the column that a key names by its position (`#2`, `2`); null for any other expression. */
export function positionOf(key: Expr): number | null {
  if (key.kind === 'PositionalRef') return key.index
  return key.kind === 'Constant' && typeof key.value === 'bigint' ? Number(key.value) : null
}

/** One ORDER BY item, ascending by default. */
export function order(expr: Expr, direction: OrderExpr['order'] = 'ASC'): OrderExpr {
  return {
    kind: 'OrderExpr',
    start: expr.start,
    end: expr.end,
    expr,
    order: direction,
    nulls: null,
    collate: null,
    with_fill: null,
  }
}

/** One table of FROM without alias, constraint or further joins. */
export function joinOf(table: TableExpr, place: SourceSpan = NOWHERE): JoinExpr {
  return {
    kind: 'JoinExpr',
    start: place.start,
    end: place.end,
    table,
    table_args: null,
    alias: null,
    column_aliases: null,
    table_final: false,
    sample: null,
    join_type: null,
    natural: false,
    constraint: null,
    next_join: null,
  }
}

/** `SELECT exprs` with every other clause absent; spread it to add them. */
export function selectOf(select: readonly Expr[], place: SourceSpan = NOWHERE): SelectQuery {
  return {
    kind: 'SelectQuery',
    start: place.start,
    end: place.end,
    ctes: [],
    select,
    distinct: false,
    select_from: null,
    array_join_op: null,
    array_join_list: [],
    prewhere: null,
    where: null,
    group_by: [],
    group_by_mode: null,
    with_totals: false,
    having: null,
    qualify: null,
    window_exprs: [],
    interpolate: null,
    limit_by: null,
    ...NO_LIMITS,
  }
}

/** Selects joined by set operators, without ORDER BY or LIMIT of the whole. */
export function selectSetOf(
  initial: SelectSetQuery['initial_select_query'],
  following: SelectSetQuery['subsequent_select_queries'],
  place: SourceSpan = NOWHERE,
): SelectSetQuery {
  return {
    kind: 'SelectSetQuery',
    start: place.start,
    end: place.end,
    initial_select_query: initial,
    subsequent_select_queries: following,
    ...NO_LIMITS,
  }
}
