/** The resolved query: every name found, every type known, no user text left but in values. Passes rewrite it, the printer spells it. */

import type { Place } from './ast.ts'
import type { ColumnName, Query } from './ir-queries.ts'
import type { Moving } from './moving.ts'
import type { Pieces } from './spell.ts'
import type { Type } from './types.ts'

// ── expressions ──────────────────────────────────────────────────────────────────────────────

/** Instants are bigint microseconds and dates bigint days since 1970 UTC, told apart by the type beside them. */
export type Scalar = null | boolean | bigint | number | string | Moving

export type Value = { readonly kind: 'value'; readonly value: Scalar; readonly type: Type }
export type Column = {
  readonly kind: 'column'
  readonly relation: number
  readonly name: ColumnName
  readonly type: Type
}
/** A lambda's parameter. */
export type Local = { readonly kind: 'local'; readonly id: number; readonly type: Type }

/** A HogQL function or operator; `aggregate` is there when it gathers rows. */
export type Apply = {
  readonly kind: 'apply'
  readonly name: string
  readonly params: readonly Expr[]
  readonly args: readonly Expr[]
  readonly aggregate: Gathering | null
  readonly type: Type
  /** Where the call is written; two calls may be the same one written twice. */
  readonly at?: Place
}
export type Gathering = {
  readonly distinct: boolean
  readonly filter: Expr | null
  readonly order_by: readonly OrderBy[]
}

export type Lambda = {
  readonly kind: 'lambda'
  readonly locals: readonly Local[]
  readonly body: Expr
  readonly type: Type
}
/** A member of a JSON text: keys, or 1-based positions (negative ones from the end). */
export type Property = {
  readonly kind: 'property'
  readonly of: Expr
  readonly path: readonly (string | number)[]
  readonly type: Type
}
/** The instant at which the clock of the type's zone shows `local`; what grouping cuts by is `local` itself. */
export type Instant = { readonly kind: 'instant'; readonly local: Expr; readonly type: Type }
/** What the clock of the zone shows at an instant: a naive time that only lives inside other expressions. */
export type ClockOf = { readonly kind: 'clock'; readonly of: Expr; readonly type: Type }
export type Subquery = {
  readonly kind: 'subquery'
  readonly form: 'exists' | 'rows' | 'scalar'
  readonly query: Query
  readonly type: Type
}
export type Window = {
  readonly kind: 'window'
  readonly call: Expr
  readonly over: Over
  readonly type: Type
}
export type Over = {
  readonly partition_by: readonly Expr[]
  readonly order_by: readonly OrderBy[]
  readonly frame: Frame | null
}
export type Frame = {
  readonly method: 'RANGE' | 'ROWS'
  readonly start: FrameBound
  readonly end: FrameBound | null
}
/** `offset` null: unbounded, or the current row itself. */
export type FrameBound = {
  readonly direction: 'CURRENT ROW' | 'FOLLOWING' | 'PRECEDING'
  readonly offset: Value | null
}

/** Lowered: a tuple, kept as a struct whose fields are numbered (unnamed ones lose values in the client). */
export type TupleOf = {
  readonly kind: 'tuple'
  readonly items: readonly Expr[]
  readonly type: Type
}
/** Lowered: the item of a tuple, or of a row that zipped lists make, at a 1-based position. */
export type ItemOf = {
  readonly kind: 'item'
  readonly of: Expr
  readonly position: number
  readonly type: Type
}
/** Lowered: the engine's own spelling of something: static pieces with an argument between each two. */
export type Spelled = {
  readonly kind: 'spelled'
  readonly pieces: Pieces
  readonly args: readonly Expr[]
  readonly type: Type
}
/** Lowered: one aggregate or window call of the engine; no arguments print as `count(*)` does. */
export type Gather = {
  readonly kind: 'gather'
  readonly name: EngineAggregate
  readonly args: readonly Expr[]
  readonly distinct: boolean
  readonly filter: Expr | null
  readonly order_by: readonly OrderBy[]
  readonly over: Over | null
  readonly type: Type
}
/** The aggregates and window functions of the engine that are ever printed. */
export type EngineAggregate =
  | 'any_value'
  | 'approx_count_distinct'
  | 'approx_quantile'
  | 'approx_top_k'
  | 'arg_max'
  | 'arg_min'
  | 'avg'
  | 'bit_and'
  | 'bit_or'
  | 'bit_xor'
  | 'bool_and'
  | 'bool_or'
  | 'corr'
  | 'count'
  | 'covar_pop'
  | 'covar_samp'
  | 'cume_dist'
  | 'dense_rank'
  | 'entropy'
  | 'first_value'
  | 'kurtosis_pop'
  | 'lag'
  | 'last'
  | 'last_value'
  | 'lead'
  | 'list'
  | 'max'
  | 'min'
  | 'mode'
  | 'nth_value'
  | 'ntile'
  | 'percent_rank'
  | 'quantile_cont'
  | 'quantile_disc'
  | 'rank'
  | 'regr_intercept'
  | 'regr_slope'
  | 'row_number'
  | 'skewness'
  | 'stddev_pop'
  | 'stddev_samp'
  | 'string_agg'
  | 'sum'
  | 'var_pop'
  | 'var_samp'

export type Expr =
  | Apply
  | ClockOf
  | Column
  | Gather
  | Instant
  | ItemOf
  | Lambda
  | Local
  | Property
  | Spelled
  | Subquery
  | TupleOf
  | Value
  | Window

export type OrderBy = {
  readonly expr: Expr
  readonly descending: boolean
  /** Null: last, as ClickHouse has it in both directions. */
  readonly nulls: 'FIRST' | 'LAST' | null
}
