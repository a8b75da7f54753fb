/** Arbitrary syntax trees for laws, and what is left of a tree when spelling and place are taken away. */

import * as fc from 'fast-check'
import type {
  ArithmeticOperator,
  CompareOperator,
  Expr,
  JoinExpr,
  Node,
  OrderExpr,
  SelectQuery,
  SelectSetQuery,
  SetOperator,
  TableExpr,
  WindowExpr,
} from '../../src/hogql/syntax/ast.ts'
import { call, constant, field, joinOf, NOWHERE, selectOf } from '../../src/hogql/syntax/nodes.ts'
import { mapExpr } from '../../src/hogql/syntax/walk.ts'
import { codePoint } from '../code-points.ts'

/** Names, among them words of the language, quotes and letters that need quotes. */
export const names: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'event', 'timestamp', '$x', 'properties') },
  fc.constantFrom('from', 'NULL', 'true', 'array', 'select', 'interval', 'case', 'not', 'values'),
  fc.constantFrom('all', 'order', 'end', 'lambda', 'inf', 'columns', 'with', 'in', 'as', 'left'),
  fc.constantFrom('a b', 'a`b', '\\', '', 'é😀', '1a', "it's", 'a\nb', '*x', '--'),
)

const aliases = names.filter((name) => !/^(?:true|false|null|team_id)$/i.test(name))

const values = fc.oneof(
  fc.constantFrom(null, true, false),
  fc.bigInt(),
  fc.constantFrom(0n, 1n, 2n ** 63n, -(2n ** 255n)),
  fc.double(),
  fc.string({ unit: codePoint }),
  fc.constantFrom("it's", '\\', '\\n', '\n', '%', '{x}', '--', ''),
)

const comparisons: readonly CompareOperator[] = [
  ...(['==', '!=', '<', '<=', '>', '>=', 'like', 'not like', 'ilike', 'not ilike'] as const),
  ...(['=~', '!~', '=~*', '!~*', 'in', 'not in', 'in cohort', 'not in cohort'] as const),
]
const arithmetic: readonly ArithmeticOperator[] = ['+', '-', '*', '/', '%']
const setOperators: readonly SetOperator[] = [
  ...(['UNION ALL', 'UNION DISTINCT', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL'] as const),
  'UNION ALL BY NAME',
]
const joinTypes = ['JOIN', 'INNER JOIN', 'LEFT JOIN', 'LEFT ANY JOIN', 'RIGHT OUTER SEMI JOIN']
const typeNames = ['int', 'array(nullable(string))', "datetime64(3, 'UTC')", 'double precision']

type Tie = {
  readonly expr: Expr
  readonly select: SelectQuery
  readonly set: SelectSetQuery
  readonly order: OrderExpr
  readonly window: WindowExpr
  readonly join: JoinExpr
}

function list<Item>(item: fc.Arbitrary<Item>, min = 0): fc.Arbitrary<Item[]> {
  return fc.array(item, { minLength: min, maxLength: min + 2, size: 'xsmall' })
}

function maybe<Item>(item: fc.Arbitrary<Item>): fc.Arbitrary<Item | null> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: item })
}

/** One kind of node with arbitrary fields. */
function node<Kind extends string, Fields>(
  kind: Kind,
  fields: { [Key in keyof Fields]: fc.Arbitrary<Fields[Key]> },
): fc.Arbitrary<Fields & { readonly kind: Kind; readonly start: number; readonly end: number }> {
  return fc.record(fields).map((made) => ({ ...(made as Fields), kind, ...NOWHERE }))
}

function leaves(): fc.Arbitrary<Expr>[] {
  return [
    values.map((value) => constant(value)),
    list(names, 1).map((chain) => field(chain)),
    fc.constantFrom<Expr>(field(['*']), field(['t', '*'])),
    fc.integer({ min: 1, max: 9 }).map((index) => ({ kind: 'PositionalRef', ...NOWHERE, index })),
  ]
}

function operations(expr: fc.Arbitrary<Expr>): fc.Arbitrary<Expr>[] {
  const negated = fc.boolean()
  const index = fc.integer({ min: 0, max: 99 })
  return [
    node('And', { exprs: list(expr, 2) }),
    node('Or', { exprs: list(expr, 2) }),
    node('Not', { expr }),
    node('ArithmeticOperation', { op: fc.constantFrom(...arithmetic), left: expr, right: expr }),
    node('CompareOperation', {
      op: fc.constantFrom(...comparisons),
      left: expr,
      right: expr,
      is_null_comparison_style: fc.constant(false),
    }),
    node('CompareOperation', {
      op: fc.constantFrom('==' as const, '!=' as const),
      left: expr,
      right: fc.constant(constant(null)),
      is_null_comparison_style: fc.constant(true),
    }),
    node('IsDistinctFrom', { left: expr, right: expr, negated }),
    node('BetweenExpr', { expr, low: expr, high: expr, negated }),
    node('ArrayAccess', { array: expr, property: expr, nullish: negated }),
    node('ArraySlice', { array: expr, start_expr: maybe(expr), end_expr: maybe(expr) }),
    node('TupleAccess', { tuple: expr, index, nullish: negated }),
  ]
}

function collections(expr: fc.Arbitrary<Expr>): fc.Arbitrary<Expr>[] {
  const type_name = fc.constantFrom(...typeNames)
  return [
    node('Array', { exprs: list(expr) }),
    node('Tuple', { exprs: list(expr) }),
    node('Dict', { items: list(fc.tuple(expr, expr)) }),
    node('Alias', { alias: aliases, expr }),
    node('Lambda', { args: list(names), expr }),
    node('NamedArgument', { name: names, value: expr }),
    node('Placeholder', { expr }),
    node('TypeCast', { expr, type_name }),
    node('TryCast', { expr, type_name }),
    node('HogQLXTag', {
      tag: fc.constantFrom('a', 'Tag-2'),
      attributes: list(
        node('HogQLXAttribute', { name: fc.constantFrom('x', 'data-y'), value: expr }),
      ).chain((attributes) =>
        list(expr).map((children) =>
          children.length === 0
            ? attributes
            : [
                ...attributes,
                { kind: 'HogQLXAttribute' as const, ...NOWHERE, name: 'children', value: children },
              ],
        ),
      ),
    }),
    node('ColumnsExpr', {
      regex: fc.constant(null),
      columns: fc.constant(null),
      all_columns: fc.constant(true),
      table: maybe(list(names, 1)),
      exclude: list(fc.constantFrom('a', 'b.c', 'from'), 1),
    }),
    node('ColumnsExpr', {
      regex: fc.string(),
      columns: fc.constant(null),
      all_columns: fc.constant(false),
      table: fc.constant(null),
      exclude: fc.constant([]),
    }),
  ]
}

function calls(tie: { [Key in keyof Tie]: fc.Arbitrary<Tie[Key]> }): fc.Arbitrary<Expr>[] {
  const { expr, order, window } = tie
  const plain = fc.tuple(names, list(expr)).map(([name, args]) => call(name, args))
  const full = fc
    .record({
      params: maybe(list(expr)),
      distinct: fc.boolean(),
      ignore_nulls: fc.boolean(),
      order_by: list(order),
      filter_expr: maybe(expr),
    })
    .chain((rest) => plain.map((bare): Expr => ({ ...bare, ...rest })))
  const grouped = fc
    .record({ params: list(expr), within_group: list(order, 1), name: names })
    .map(({ name, ...rest }): Expr => ({ ...call(name, []), ...rest }))
  const windowed = fc.boolean().chain((inline) =>
    node('WindowFunction', {
      name: names,
      exprs: list(expr),
      args: maybe(list(expr)),
      ignore_nulls: fc.boolean(),
      filter_expr: maybe(expr),
      over_expr: inline ? window : fc.constant(null),
      over_identifier: inline ? fc.constant(null) : names,
    }),
  )
  const called = node('ExprCall', { expr, args: list(expr) })
  return [plain, full, grouped, windowed, called]
}

function orders(expr: fc.Arbitrary<Expr>): fc.Arbitrary<OrderExpr> {
  return node('OrderExpr', {
    expr,
    order: fc.constantFrom('ASC' as const, 'DESC' as const),
    nulls: maybe(fc.constantFrom('FIRST' as const, 'LAST' as const)),
    collate: maybe(fc.constantFrom('en', "o'x")),
    with_fill: maybe(
      node('WithFillExpr', {
        from_value: maybe(expr),
        to_value: maybe(expr),
        step_value: maybe(expr),
      }),
    ),
  })
}

function windows(
  expr: fc.Arbitrary<Expr>,
  order: fc.Arbitrary<OrderExpr>,
): fc.Arbitrary<WindowExpr> {
  const bound = fc.oneof(
    node('WindowFrameExpr', {
      frame_type: fc.constant('CURRENT ROW' as const),
      frame_value: fc.constant(null),
    }),
    node('WindowFrameExpr', {
      frame_type: fc.constantFrom('PRECEDING' as const, 'FOLLOWING' as const),
      frame_value: maybe(expr),
    }),
  )
  return fc.boolean().chain((framed) =>
    node('WindowExpr', {
      partition_by: list(expr),
      order_by: list(order),
      frame_method: framed ? fc.constantFrom('ROWS' as const, 'RANGE' as const) : fc.constant(null),
      frame_start: framed ? bound : fc.constant(null),
      frame_end: framed ? maybe(bound) : fc.constant(null),
    }),
  )
}

function tables(tie: { [Key in keyof Tie]: fc.Arbitrary<Tie[Key]> }): fc.Arbitrary<TableExpr> {
  const { expr, select, set } = tie
  const inner = list(names, 1).map((chain) => joinOf(field(chain)))
  const column = names.map((name) => field([name]))
  return fc.oneof(
    { weight: 5, arbitrary: list(names, 1).map((chain) => field(chain)) },
    select,
    set,
    node('ValuesQuery', { rows: list(list(expr, 1), 1) }),
    node('Placeholder', { expr }),
    node('PivotExpr', {
      table: inner,
      aggregates: list(expr, 1),
      columns: list(node('PivotColumn', { column, values: list(expr, 1) }), 1),
      group_by: list(expr),
    }),
    node('UnpivotExpr', {
      table: inner,
      columns: list(
        node('UnpivotColumn', {
          value_columns: column,
          name_columns: column,
          unpivot_values: list(expr, 1),
        }),
        1,
      ),
      include_nulls: fc.boolean(),
    }),
  )
}

function joins(tie: { [Key in keyof Tie]: fc.Arbitrary<Tie[Key]> }): fc.Arbitrary<JoinExpr> {
  const one = fc.boolean().chain((named) =>
    node('JoinExpr', {
      table: tables(tie),
      table_args: fc.constant(null),
      alias: named ? aliases : fc.constant(null),
      column_aliases: named ? maybe(list(names, 1)) : fc.constant(null),
      table_final: fc.boolean(),
      sample: maybe(
        node('SampleExpr', {
          sample_value: node('RatioExpr', {
            left: fc.constant(constant(1n)),
            right: maybe(fc.constant(constant(10n))),
          }),
          offset_value: maybe(node('Placeholder', { expr: tie.expr })),
        }),
      ),
      join_type: fc.constant<string | null>(null),
      natural: fc.constant(false),
      constraint: fc.constant(null),
      next_join: fc.constant(null),
    }),
  )
  const tied = fc.record({
    join_type: fc.constantFrom(...joinTypes),
    natural: fc.boolean(),
    constraint: maybe(
      fc.oneof(
        node('JoinConstraint', { constraint_type: fc.constant('ON' as const), expr: tie.expr }),
        node('JoinConstraint', {
          constraint_type: fc.constant('USING' as const),
          expr: names.map((name) => field([name])),
        }),
      ),
    ),
  })
  const next = fc.tuple(one, tied).map(([join, how]): JoinExpr => ({ ...join, ...how }))
  return fc
    .tuple(one, maybe(next))
    .map(([first, second]): JoinExpr => ({ ...first, next_join: second }))
}

function selects(tie: { [Key in keyof Tie]: fc.Arbitrary<Tie[Key]> }): fc.Arbitrary<SelectQuery> {
  const { expr, order } = tie
  const cte = fc.record({ name: names, columns: maybe(list(names, 1)), expr: tie.select })
  const clauses = fc.record({
    distinct: fc.boolean(),
    select_from: maybe(tie.join),
    prewhere: maybe(expr),
    where: maybe(expr),
    group_by: list(expr, 1),
    group_by_mode: fc.constantFrom(null, 'rollup' as const, 'cube' as const),
    with_totals: fc.boolean(),
    having: maybe(expr),
    qualify: maybe(expr),
    window_exprs: list(node('NamedWindow', { name: names, expr: tie.window })),
    order_by: list(order),
    limit_by: maybe(
      node('LimitByExpr', { n: expr, offset_value: maybe(expr), exprs: list(expr, 1) }),
    ),
    limit: maybe(expr),
    offset: maybe(expr),
  })
  return fc.tuple(list(expr, 1), clauses, maybe(cte), fc.boolean()).map(
    ([select, rest, named, marks]): SelectQuery => ({
      ...selectOf(select),
      ...rest,
      limit_percent: marks && rest.limit !== null,
      limit_with_ties: marks && rest.limit !== null,
      ctes:
        named === null
          ? []
          : [
              {
                kind: 'CTE',
                ...NOWHERE,
                ...named,
                cte_type: 'subquery',
                using_key: null,
                materialized: marks,
                recursive: marks,
              },
            ],
    }),
  )
}

function sets(tie: { [Key in keyof Tie]: fc.Arbitrary<Tie[Key]> }): fc.Arbitrary<SelectSetQuery> {
  const operand = fc.oneof(tie.select, node('Placeholder', { expr: tie.expr }))
  return node('SelectSetQuery', {
    initial_select_query: operand,
    subsequent_select_queries: list(
      node('SelectSetNode', {
        set_operator: fc.constantFrom(...setOperators),
        select_query: operand,
      }),
      1,
    ),
    order_by: list(tie.order),
    limit: maybe(tie.expr),
    limit_percent: fc.constant(false),
    limit_with_ties: fc.constant(false),
    offset: maybe(tie.expr),
  })
}

const trees = fc.letrec<Tie>((tied) => {
  const tie = {
    expr: tied('expr'),
    select: tied('select'),
    set: tied('set'),
    order: tied('order'),
    window: tied('window'),
    join: tied('join'),
  }
  const { expr } = tie
  return {
    expr: fc.oneof(
      { maxDepth: 3, depthSize: 'xsmall' },
      { weight: 6, arbitrary: fc.oneof(...leaves()) },
      { weight: 2, arbitrary: fc.oneof(...operations(expr)) },
      { weight: 2, arbitrary: fc.oneof(...collections(expr)) },
      { weight: 2, arbitrary: fc.oneof(...calls(tie)) },
      { weight: 1, arbitrary: fc.oneof(tie.select, tie.set) },
    ),
    select: selects(tie),
    set: sets(tie),
    order: orders(expr),
    window: windows(expr, tie.order),
    join: joins(tie),
  }
})

/** Any expression the printer can meet. */
export const anyExpr: fc.Arbitrary<Expr> = trees.expr

/** Any select the printer can meet. */
export const anySelect: fc.Arbitrary<SelectQuery> = trees.select

const FUNCTIONS: Readonly<Partial<Record<CompareOperator, string>>> = {
  '==': 'equals',
  '!=': 'notEquals',
  '<': 'less',
  '<=': 'lessOrEquals',
  '>': 'greater',
  '>=': 'greaterOrEquals',
  like: 'like',
  'not like': 'notLike',
  ilike: 'ilike',
  'not ilike': 'notILike',
  in: 'in',
  'not in': 'notIn',
  '=~': 'match',
}

const ARITHMETIC = {
  '+': 'plus',
  '-': 'minus',
  '*': 'multiply',
  '/': 'divide',
  '%': 'modulo',
} as const

/** The tree with every operator as the function it stands for. */
export function asFunctions<Root extends Node>(root: Root): Root {
  return mapExpr(root, (expr) => {
    if (expr.kind === 'And') return call('and', expr.exprs)
    if (expr.kind === 'Or') return call('or', expr.exprs)
    if (expr.kind === 'Not') return call('not', [expr.expr])
    if (expr.kind === 'Tuple') return call('tuple', expr.exprs)
    if (expr.kind === 'CompareOperation') return compareAsFunction(expr)
    if (expr.kind !== 'ArithmeticOperation') return expr
    return call(ARITHMETIC[expr.op], [expr.left, expr.right])
  })
}

function compareAsFunction(expr: Extract<Expr, { kind: 'CompareOperation' }>): Expr {
  const { op, left, right } = expr
  if (expr.is_null_comparison_style) return call(op === '==' ? 'isNull' : 'isNotNull', [left])
  const name = FUNCTIONS[op]
  if (name !== undefined) return call(name, [left, right])
  if (op === 'in cohort' || op === 'not in cohort') return expr
  const pattern = op.endsWith('*') ? call('concat', [constant('(?i)'), right]) : right
  const match = call('match', [left, pattern])
  return op.startsWith('!') ? call('not', [match]) : match
}

/** The tree without the places of its nodes. */
export function withoutPlaces(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPlaces)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key]) => key !== 'start' && key !== 'end')
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutPlaces(inner)]))
}
