/** The parts of a HogQL select: tables and joins, turned tables, ordering, grouping and windows. */

import type {
  Constant,
  Expr,
  Field,
  HogQLXTag,
  NodeOf,
  Placeholder,
  SelectQuery,
  SelectSetQuery,
} from './ast.ts'

export type ValuesQuery = NodeOf<'ValuesQuery', { rows: readonly (readonly Expr[])[] }>

/** Where rows come from: a name (with `table_args` in its JoinExpr: a table function), a select, values, or a turned table. */
export type Table =
  | Field
  | HogQLXTag
  | PivotExpr
  | Placeholder
  | SelectQuery
  | SelectSetQuery
  | UnpivotExpr
  | ValuesQuery

/** One table of FROM; the following ones hang on `next_join`, each with the join_type and constraint that tie it to those before. */
export type JoinExpr = NodeOf<
  'JoinExpr',
  {
    table: Table
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

/** `USING` carries one column, or several as a Tuple. */
export type JoinConstraint = NodeOf<
  'JoinConstraint',
  { constraint_type: 'ON' | 'USING'; expr: Expr }
>

export type SampleExpr = NodeOf<
  'SampleExpr',
  { sample_value: RatioExpr | Placeholder; offset_value: RatioExpr | Placeholder | null }
>
export type RatioExpr = NodeOf<'RatioExpr', { left: Constant; right: Constant | null }>

/** `table` is the table that is turned, with its arguments and alias; it has no next_join. */
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

/** `nulls` and `collate` are null where the text does not say. */
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
