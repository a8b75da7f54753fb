/**
 * The HogQL syntax tree: one readonly type per kind of node, discriminated by `kind` (names follow
 * the official parser's).
 */

/** The source span of a node: UTF-16 offsets, `end` exclusive. Nodes built by code have 0 and 0. */
export type SourceSpan = { readonly start: number; readonly end: number }

/** A node: its fields, its source span and its kind. */
type NodeOf<Kind extends string, Fields> = Readonly<Fields> & SourceSpan & { readonly kind: Kind }

// ── expressions ──────────────────────────────────────────────────────────────────────────────

/** A literal. An integer is always a bigint (exact at any width), a number is always a float, so the two never mix. */
export type Constant = NodeOf<'Constant', { value: ConstantValue }>
export type ConstantValue = null | boolean | number | bigint | string

/** A dotted name, `*` as last part for all columns: `person.properties.x`, `e.*`. */
export type Field = NodeOf<'Field', { chain: readonly string[] }>

/** `name(params)(args)`; `params` is null when only one pair of brackets was written. */
export type Call = NodeOf<
  'Call',
  {
    name: string
    params: readonly Expr[] | null
    args: readonly Expr[]
    distinct: boolean
    ignore_nulls: boolean
    order_by: readonly OrderExpr[]
    within_group: readonly OrderExpr[]
    filter_expr: Expr | null
  }
>

/** A call of something that is not a plain name: `a.b(x)`, `x::Nullable(String)`. */
export type ExprCall = NodeOf<'ExprCall', { expr: Expr; args: readonly Expr[] }>

/** `name := value` among the arguments of a call. */
export type NamedArgument = NodeOf<'NamedArgument', { name: string; value: Expr }>

/** `exprs` are the first brackets, `args` the second ones (null unless written), as in `f(exprs)(args) OVER …`. */
export type WindowFunction = NodeOf<
  'WindowFunction',
  {
    name: string
    exprs: readonly Expr[]
    args: readonly Expr[] | null
    ignore_nulls: boolean
    filter_expr: Expr | null
    over_expr: WindowExpr | null
    over_identifier: string | null
  }
>

export type Lambda = NodeOf<'Lambda', { args: readonly string[]; expr: Expr }>
export type Alias = NodeOf<'Alias', { alias: string; expr: Expr }>
export type And = NodeOf<'And', { exprs: readonly Expr[] }>
export type Or = NodeOf<'Or', { exprs: readonly Expr[] }>
export type Not = NodeOf<'Not', { expr: Expr }>

export type CompareOperator =
  | '=='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'like'
  | 'not like'
  | 'ilike'
  | 'not ilike'
  | '=~'
  | '!~'
  | '=~*'
  | '!~*'
  | 'in'
  | 'not in'
  | 'in cohort'
  | 'not in cohort'

/** `is_null_comparison_style` tells `x IS [NOT] NULL` (op `==` / `!=`, right side NULL) from `x = NULL`. */
export type CompareOperation = NodeOf<
  'CompareOperation',
  { op: CompareOperator; left: Expr; right: Expr; is_null_comparison_style: boolean }
>

/** `a IS [NOT] DISTINCT FROM b`; `a <=> b` is the negated one. */
export type IsDistinctFrom = NodeOf<'IsDistinctFrom', { left: Expr; right: Expr; negated: boolean }>

export type BetweenExpr = NodeOf<
  'BetweenExpr',
  { expr: Expr; low: Expr; high: Expr; negated: boolean }
>

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%'
export type ArithmeticOperation = NodeOf<
  'ArithmeticOperation',
  { op: ArithmeticOperator; left: Expr; right: Expr }
>

export type ArrayExpr = NodeOf<'Array', { exprs: readonly Expr[] }>
export type Tuple = NodeOf<'Tuple', { exprs: readonly Expr[] }>
export type Dict = NodeOf<'Dict', { items: readonly (readonly [Expr, Expr])[] }>

/** `nullish` marks the `?.` form of an access. */
export type ArrayAccess = NodeOf<'ArrayAccess', { array: Expr; property: Expr; nullish: boolean }>
export type ArraySlice = NodeOf<
  'ArraySlice',
  { array: Expr; start_expr: Expr | null; end_expr: Expr | null }
>
/** `index` is 1-based. */
export type TupleAccess = NodeOf<'TupleAccess', { tuple: Expr; index: number; nullish: boolean }>

/** `type_name` is lower case without spaces, as the official parser spells it: `array(nullable(int))`. */
export type TypeCast = NodeOf<'TypeCast', { expr: Expr; type_name: string }>
export type TryCast = NodeOf<'TryCast', { expr: Expr; type_name: string }>

/**
 * `COLUMNS('re')`, `COLUMNS(a, b)` or, with `all_columns`, `* EXCLUDE (a)`; perhaps of one `table`:
 * `t.* EXCLUDE (a)`.
 */
export type ColumnsExpr = NodeOf<
  'ColumnsExpr',
  {
    regex: string | null
    columns: readonly Expr[] | null
    all_columns: boolean
    table: readonly string[] | null
    exclude: readonly string[]
  }
>

/** `#1`: the first column of the select, counted from 1. */
export type PositionalRef = NodeOf<'PositionalRef', { index: number }>

export type Placeholder = NodeOf<'Placeholder', { expr: Expr }>

export type HogQLXTag = NodeOf<'HogQLXTag', { tag: string; attributes: readonly HogQLXAttribute[] }>
/** The children of a tag are its attribute `children`, the only one whose value is a list. */
export type HogQLXAttribute = NodeOf<
  'HogQLXAttribute',
  { name: string; value: Expr | readonly Expr[] }
>

/** Any node that can be used as a value. */
export type Expr =
  | Alias
  | And
  | ArithmeticOperation
  | ArrayAccess
  | ArrayExpr
  | ArraySlice
  | BetweenExpr
  | Call
  | ColumnsExpr
  | CompareOperation
  | Constant
  | Dict
  | ExprCall
  | Field
  | HogQLXTag
  | IsDistinctFrom
  | Lambda
  | NamedArgument
  | Not
  | Or
  | Placeholder
  | PositionalRef
  | SelectQuery
  | SelectSetQuery
  | TryCast
  | Tuple
  | TupleAccess
  | TypeCast
  | WindowFunction

// ── selects ──────────────────────────────────────────────────────────────────────────────────

type GroupByMode = 'rollup' | 'cube' | 'grouping_sets' | 'all'
export type ArrayJoinOp = 'ARRAY JOIN' | 'LEFT ARRAY JOIN' | 'INNER ARRAY JOIN'

/**
 * Lists are empty and optional parts null where the text has none; with mode `grouping_sets`,
 * `group_by` contains GroupingSets.
 */
export type SelectQuery = NodeOf<
  'SelectQuery',
  {
    ctes: readonly CTE[]
    select: readonly Expr[]
    distinct: boolean
    select_from: JoinExpr | null
    array_join_op: ArrayJoinOp | null
    array_join_list: readonly Expr[]
    prewhere: Expr | null
    where: Expr | null
    group_by: readonly (Expr | GroupingSet)[]
    group_by_mode: GroupByMode | null
    with_totals: boolean
    having: Expr | null
    qualify: Expr | null
    window_exprs: readonly NamedWindow[]
    order_by: readonly OrderExpr[]
    interpolate: readonly InterpolateExpr[] | null
    limit_by: LimitByExpr | null
    limit: Expr | null
    limit_percent: boolean
    limit_with_ties: boolean
    offset: Expr | null
  }
>

type SetOperatorName = 'UNION' | 'INTERSECT' | 'EXCEPT'
type SetOperatorKind = `${SetOperatorName} ALL` | `${SetOperatorName} DISTINCT`
/** `UNION` alone is spelled `UNION DISTINCT`. */
export type SetOperator =
  | (SetOperatorKind | 'INTERSECT' | 'EXCEPT')
  | `${SetOperatorKind | 'INTERSECT' | 'EXCEPT'} BY NAME`

/** Any node that can be used as a whole query. */
export type Select = SelectQuery | SelectSetQuery | Placeholder | HogQLXTag

/**
 * Selects joined from left to right; ORDER BY, LIMIT and OFFSET are those after a last select in brackets.
 * `subsequent_select_queries` is empty only for `(SELECT … LIMIT 2) LIMIT 3`, where neither limit may be lost.
 */
export type SelectSetQuery = NodeOf<
  'SelectSetQuery',
  {
    initial_select_query: Select | ValuesQuery
    subsequent_select_queries: readonly SelectSetNode[]
    order_by: readonly OrderExpr[]
    limit: Expr | null
    limit_percent: boolean
    limit_with_ties: boolean
    offset: Expr | null
  }
>
export type SelectSetNode = NodeOf<
  'SelectSetNode',
  { set_operator: SetOperator; select_query: Select | ValuesQuery }
>

/** `column` is `WITH expr AS name`: the name is an abbreviation of the expression, not a relation. */
export type CTE = NodeOf<
  'CTE',
  {
    name: string
    cte_type: 'column' | 'subquery'
    expr: Expr | ValuesQuery
    columns: readonly string[] | null
    using_key: readonly string[] | null
    materialized: boolean | null
    recursive: boolean
  }
>

/** Any node of the tree. */
export type Node =
  | Expr
  | CTE
  | GroupingSet
  | HogQLXAttribute
  | InterpolateExpr
  | JoinConstraint
  | JoinExpr
  | LimitByExpr
  | NamedWindow
  | OrderExpr
  | PivotColumn
  | PivotExpr
  | RatioExpr
  | SampleExpr
  | SelectSetNode
  | UnpivotColumn
  | UnpivotExpr
  | ValuesQuery
  | WindowExpr
  | WindowFrameExpr
  | WithFillExpr

export type ValuesQuery = NodeOf<'ValuesQuery', { rows: readonly (readonly Expr[])[] }>

/**
 * A source of rows: a name (with `table_args` in its JoinExpr: a table function), a select, values,
 * or a pivoted table.
 */
export type TableExpr =
  | Field
  | HogQLXTag
  | PivotExpr
  | Placeholder
  | SelectQuery
  | SelectSetQuery
  | UnpivotExpr
  | ValuesQuery

/**
 * One table of FROM. The list is linked: `next_join` is the next table, with the join_type and
 * constraint that join it to those before.
 */
export type JoinExpr = NodeOf<
  'JoinExpr',
  {
    table: TableExpr
    table_args: readonly Expr[] | null
    alias: string | null
    column_aliases: readonly string[] | null
    table_final: boolean
    sample: SampleExpr | null
    /** Upper case, normalised: `JOIN`, `LEFT JOIN`, `LEFT ANY JOIN`, `CROSS JOIN`, …; null for the first table. */
    join_type: string | null
    natural: boolean
    constraint: JoinConstraint | null
    next_join: JoinExpr | null
  }
>

/** `USING` has one column, or several as a Tuple. */
export type JoinConstraint = NodeOf<
  'JoinConstraint',
  { constraint_type: 'ON' | 'USING'; expr: Expr }
>

export type SampleExpr = NodeOf<
  'SampleExpr',
  { sample_value: RatioExpr | Placeholder; offset_value: RatioExpr | Placeholder | null }
>
export type RatioExpr = NodeOf<'RatioExpr', { left: Constant; right: Constant | null }>

/** `table` is the table that is pivoted, with its arguments and alias; it has no next_join. */
export type PivotExpr = NodeOf<
  'PivotExpr',
  {
    table: JoinExpr
    aggregates: readonly Expr[]
    columns: readonly PivotColumn[]
    group_by: readonly Expr[]
  }
>
export type PivotColumn = NodeOf<'PivotColumn', { column: Expr; values: readonly Expr[] }>

export type UnpivotExpr = NodeOf<
  'UnpivotExpr',
  {
    table: JoinExpr
    columns: readonly UnpivotColumn[]
    include_nulls: boolean
  }
>
export type UnpivotColumn = NodeOf<
  'UnpivotColumn',
  { value_columns: Expr; name_columns: Expr; unpivot_values: readonly Expr[] }
>

// ── parts of selects ─────────────────────────────────────────────────────────────────────────

/** `nulls` and `collate` are null where the text does not specify them. */
export type OrderExpr = NodeOf<
  'OrderExpr',
  {
    expr: Expr
    order: 'ASC' | 'DESC'
    nulls: 'FIRST' | 'LAST' | null
    collate: string | null
    with_fill: WithFillExpr | null
  }
>
export type WithFillExpr = NodeOf<
  'WithFillExpr',
  { from_value: Expr | null; to_value: Expr | null; step_value: Expr | null }
>
/** `INTERPOLATE (expr AS value)`; value is null for a bare column. */
export type InterpolateExpr = NodeOf<'InterpolateExpr', { expr: Expr; value: Expr | null }>

export type LimitByExpr = NodeOf<
  'LimitByExpr',
  { n: Expr; offset_value: Expr | null; exprs: readonly Expr[] }
>
export type GroupingSet = NodeOf<'GroupingSet', { exprs: readonly Expr[] }>

export type NamedWindow = NodeOf<'NamedWindow', { name: string; expr: WindowExpr }>
export type WindowExpr = NodeOf<
  'WindowExpr',
  {
    partition_by: readonly Expr[]
    order_by: readonly OrderExpr[]
    frame_method: 'ROWS' | 'RANGE' | null
    frame_start: WindowFrameExpr | null
    frame_end: WindowFrameExpr | null
  }
>
/** `frame_value` is null for UNBOUNDED and for CURRENT ROW. */
export type WindowFrameExpr = NodeOf<
  'WindowFrameExpr',
  { frame_type: 'CURRENT ROW' | 'PRECEDING' | 'FOLLOWING'; frame_value: Expr | null }
>
