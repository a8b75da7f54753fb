/**
 * The resolved query: every name bound, every type known, user text only in values. Passes rewrite
 * it, the printer prints it.
 */
import type { NeededColumn } from '../../column-names.ts'
import type { SourceSpan } from '../syntax/ast.ts'
import type { RelativeTime, TimeValue } from '../times/relative-time.ts'
import type { Type } from '../types/types.ts'

// ── expressions ──────────────────────────────────────────────────────────────────────────────

/**
 * Instants are bigint microseconds and dates bigint days since 1970 UTC; the type beside the value
 * tells which.
 */
export type Scalar = null | boolean | bigint | number | string | RelativeTime

export type ValueExpr = { readonly kind: 'value'; readonly value: Scalar; readonly type: Type }
export type ColumnExpr = {
  readonly kind: 'column'
  readonly relation: number
  readonly name: ColumnName
  readonly type: Type
  /** The property, where the column is a property column. */
  readonly property?: NeededColumn
}
/** A lambda's parameter. */
export type LocalExpr = { readonly kind: 'local'; readonly id: number; readonly type: Type }

/** A call of a HogQL function or operator; `aggregate` is set when it aggregates rows. */
export type Apply = {
  readonly kind: 'apply'
  readonly name: string
  readonly params: readonly ResolvedExpr[]
  readonly args: readonly ResolvedExpr[]
  readonly aggregate: AggregateInput | null
  readonly type: Type
  /** Source span of the call. Two calls with one span are the same call, expanded twice. */
  readonly at?: SourceSpan
  /** The result is a day that ClickHouse's Date holds, as WHERE bounds the time. */
  readonly is_within_date?: true
}
export type AggregateInput = {
  readonly distinct: boolean
  readonly filter: ResolvedExpr | null
  readonly order_by: readonly OrderBy[]
}

export type ResolvedLambda = {
  readonly kind: 'lambda'
  readonly locals: readonly LocalExpr[]
  readonly body: ResolvedExpr
  readonly type: Type
}
/** A member of a JSON text: keys, or 1-based positions (negative ones from the end). */
export type Property = {
  readonly kind: 'property'
  readonly of: ResolvedExpr
  readonly path: readonly (string | number)[]
  readonly type: Type
  /** A number that may be read as BIGINT: what reads it answers the same for both types. */
  readonly may_be_whole?: true
  /** NaN, which JSON has only as a text, is read as NULL. */
  readonly is_real?: true
}
/** The instant whose local time in the type's zone is `local`. GROUP BY uses `local` itself. */
export type InstantExpr = {
  readonly kind: 'instant'
  readonly local: ResolvedExpr
  readonly type: Type
}
/** The local time of an instant in a zone: a naive timestamp that only occurs inside other expressions. */
export type LocalTimeExpr = {
  readonly kind: 'local_time'
  readonly of: ResolvedExpr
  readonly type: Type
}
export type Subquery = {
  readonly kind: 'subquery'
  readonly form: 'exists' | 'rows' | 'scalar'
  readonly query: ResolvedQuery
  readonly type: Type
}
export type Window = {
  readonly kind: 'window'
  readonly call: ResolvedExpr
  readonly over: Over
  readonly type: Type
}
export type Over = {
  readonly partition_by: readonly ResolvedExpr[]
  readonly order_by: readonly OrderBy[]
  readonly frame: WindowFrame | null
}
export type WindowFrame = {
  readonly method: 'RANGE' | 'ROWS'
  readonly start: FrameBound
  readonly end: FrameBound | null
}
/** `offset` null: unbounded, or the current row. */
export type FrameBound = {
  readonly direction: 'CURRENT ROW' | 'FOLLOWING' | 'PRECEDING'
  readonly offset: ValueExpr | null
}

/**
 * Lowered: a tuple, represented as a struct with numbered fields (unnamed ones lose values in the
 * client).
 */
type TupleOf = {
  readonly kind: 'tuple'
  readonly items: readonly ResolvedExpr[]
  readonly type: Type
}
/** Lowered: one item of a tuple, or of a row of zipped lists, at a 1-based position. */
export type ItemOf = {
  readonly kind: 'item'
  readonly of: ResolvedExpr
  readonly position: number
  readonly type: Type
}

declare const made: unique symbol

/** Static SQL text: one piece more than there are arguments. Only sql-fragments.ts makes it. */
export type Pieces = readonly string[] & { readonly [made]: true }

/** Lowered: SQL of the engine: static pieces with one argument between each two. */
export type Fragment = {
  readonly kind: 'fragment'
  readonly pieces: Pieces
  readonly args: readonly ResolvedExpr[]
  readonly type: Type
  /** A new value at each evaluation: a pass must not evaluate it elsewhere, or twice. */
  readonly is_random?: true
}
/** Lowered: one aggregate or window call of the engine; no arguments print as `count(*)` does. */
export type Aggregate = {
  readonly kind: 'aggregate'
  readonly name: EngineAggregate
  readonly args: readonly ResolvedExpr[]
  readonly distinct: boolean
  readonly filter: ResolvedExpr | null
  readonly order_by: readonly OrderBy[]
  readonly over: Over | null
  /** Rows in which the argument is NULL do not count. */
  readonly ignores_nulls?: boolean
  /** `lag` and `lead` only: rows outside of the frame do not exist. */
  readonly is_in_frame?: true
  readonly type: Type
}
/** The aggregates and window functions of the engine that this compiler prints. */
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
  | 'first'
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

export type ResolvedExpr =
  | Apply
  | LocalTimeExpr
  | ColumnExpr
  | Aggregate
  | InstantExpr
  | ItemOf
  | ResolvedLambda
  | LocalExpr
  | Property
  | Fragment
  | Subquery
  | TupleOf
  | ValueExpr
  | Window

export type OrderBy = {
  readonly expr: ResolvedExpr
  readonly descending: boolean
  /** Null means last, as in ClickHouse in both directions. */
  readonly nulls: 'FIRST' | 'LAST' | null
}

// ── projects ─────────────────────────────────────────────────────────────────────────────────

declare const guarded: unique symbol

/** Proof that a project was named. Every scan needs this proof, and only `guardProject` makes it. */
export type ProjectGuard = { readonly [guarded]: true; readonly project_id: number }

/** Throws (a bug, not a refusal) unless the id is a positive safe integer. */
export function guardProject(project_id: number): ProjectGuard {
  if (!Number.isSafeInteger(project_id) || project_id <= 0) {
    throw new Error(`a query needs a project id, got ${String(project_id)}`)
  }
  return { project_id } as ProjectGuard
}

/** The relations of the engine, each printed as the table macro `<name>_of(project)`. */
export type RelationName =
  | 'cohort_people'
  | 'events'
  | 'groups'
  | 'ingestion_warnings'
  | 'person_distinct_ids'
  | 'person_overrides'
  | 'persons'

/** The forms of the events relation: with all of `properties`, without them, and row counts only. */
export type EventForm = 'events' | 'events_counts' | 'events_lean'

// ── names ────────────────────────────────────────────────────────────────────────────────────

/** Columns of the engine's relations. User text cannot become one: the type is this list. */
export type PhysicalColumn =
  | 'cohort_id'
  | 'created_at'
  | 'details'
  | 'distinct_id'
  | 'elements_chain'
  | 'event'
  | `group_${0 | 1 | 2 | 3 | 4}`
  | 'index'
  | 'is_identified'
  | 'key'
  | 'old_person_id'
  | 'person_id'
  | 'person_mode'
  | 'id'
  | 'properties'
  | 'row_count'
  | 'seq'
  | 'timestamp'
  | 'type'
  | 'updated_at'
  | 'uuid'
  | 'version'

/**
 * A column of a relation: physical, generated by a sub-select (`c`), a scan's local time (`l`), or
 * a property column (`p_`).
 */
export type ColumnName = PhysicalColumn | `c${number}` | `l${number}` | `p_${string}`

// ── relations ────────────────────────────────────────────────────────────────────────────────

export type Scan = {
  readonly kind: 'scan'
  readonly id: number
  readonly table: EventForm | RelationName
  readonly project: ProjectGuard
  /** Local times computed beside the relation's columns, once per row, as `l<id>`. */
  readonly local_times: readonly { readonly id: number; readonly expr: ResolvedExpr }[]
}
export type DerivedTable = {
  readonly kind: 'derived'
  readonly id: number
  readonly query: ResolvedQuery
  readonly span?: TimeSpan
}
/** Groups whose rows lie within a few days: a known range of any of `by` bounds the rows' `time`. */
type TimeSpan = { readonly time: ColumnExpr; readonly by: readonly SpanEnd[] }
export type SpanEnd = { readonly relation: number; readonly name: ColumnName }
type CteScan = { readonly kind: 'cte_scan'; readonly id: number; readonly cte: number }
/** `first`, increased by `step` until `stop` (exclusive), as column c1. */
type SeriesRelation = {
  readonly kind: 'series'
  readonly id: number
  readonly args: readonly [ResolvedExpr, ResolvedExpr, ResolvedExpr]
}
type RowsRelation = {
  readonly kind: 'rows'
  readonly id: number
  readonly rows: readonly (readonly ResolvedExpr[])[]
}
/** The arrays of `lists` unnested side by side: column c1 of the first, c2 of the second. */
export type Unnest = {
  readonly kind: 'unnest'
  readonly id: number
  readonly lists: readonly ResolvedExpr[]
}
/** Rows that another engine gave, in the file of this number (from 0): columns `c<id>`, as its query named them. */
type GatheredRows = { readonly kind: 'gathered'; readonly id: number; readonly file: number }
export type JoinKind =
  | 'ANTI'
  | 'ASOF'
  | 'ASOF LEFT'
  | 'CROSS'
  | 'FULL'
  | 'INNER'
  | 'LEFT'
  | 'POSITIONAL'
  | 'RIGHT'
  | 'SEMI'
export type Join = {
  readonly kind: 'join'
  readonly join: JoinKind
  readonly left: Relation
  readonly right: Relation
  readonly on: ResolvedExpr | null
}
export type Relation =
  | CteScan
  | DerivedTable
  | GatheredRows
  | Join
  | RowsRelation
  | Scan
  | SeriesRelation
  | Unnest

// ── queries ──────────────────────────────────────────────────────────────────────────────────

/** A column of a result, printed as `c<id>`; the user's name for it stays outside the SQL. */
export type Output = { readonly id: number; readonly expr: ResolvedExpr }

export type SelectLimits = {
  readonly order_by: readonly OrderBy[]
  readonly limit: ResolvedExpr | null
  readonly offset: ResolvedExpr | null
  readonly limit_percent: boolean
  readonly with_ties: boolean
}
export type LimitBy = {
  readonly count: ResolvedExpr
  readonly offset: ResolvedExpr | null
  readonly keys: readonly ResolvedExpr[]
}
export type GroupBy = {
  readonly mode: 'all' | 'cube' | 'grouping_sets' | 'plain' | 'rollup'
  /** One set of keys, or several with `grouping_sets`. */
  readonly sets: readonly (readonly ResolvedExpr[])[]
}
/** Bounds that WHERE implies for an instant column: `from_us` inclusive, `until_us` exclusive. */
export type TimeBounds = {
  readonly relation: number
  readonly name: ColumnName
  readonly from_us: TimeValue | null
  readonly until_us: TimeValue | null
}
export type ResolvedSelect = SelectLimits & {
  readonly kind: 'select'
  readonly columns: readonly Output[]
  readonly distinct: boolean
  readonly from: Relation | null
  readonly where: ResolvedExpr | null
  readonly time_bounds: readonly TimeBounds[]
  readonly group_by: GroupBy | null
  readonly having: ResolvedExpr | null
  readonly qualify: ResolvedExpr | null
  readonly limit_by: LimitBy | null
}
export type SetOperation =
  | 'EXCEPT'
  | 'EXCEPT ALL'
  | 'INTERSECT'
  | 'INTERSECT ALL'
  | 'UNION'
  | 'UNION ALL'
/** `columns` are the names and types of the result; every leg has as many, with the same ids. */
export type SetQuery = SelectLimits & {
  readonly kind: 'set'
  readonly columns: readonly { readonly id: number; readonly type: Type }[]
  readonly first: ResolvedQuery
  readonly rest: readonly { readonly operator: SetOperation; readonly query: ResolvedQuery }[]
}
export type ResolvedQuery = ResolvedSelect | SetQuery

export type Cte = {
  readonly id: number
  readonly query: ResolvedQuery
  readonly materialized: boolean | null
  /** The column ids of a recursive CTE at each of its reads; null for any other. */
  readonly recursive: readonly number[] | null
}
/** The printed statement: one SELECT. The CTEs of all levels come first, each after those it uses. */
export type Statement = { readonly ctes: readonly Cte[]; readonly query: ResolvedQuery }

export const NO_LIMITS: SelectLimits = {
  order_by: [],
  limit: null,
  offset: null,
  limit_percent: false,
  with_ties: false,
}

/** The columns of a query with their types. */
export function queryColumns(
  query: ResolvedQuery,
): readonly { readonly id: number; readonly type: Type }[] {
  if (query.kind === 'set') return query.columns
  return query.columns.map((column) => ({ id: column.id, type: column.expr.type }))
}

/** A select of some columns without any other clause. */
export function selectFrom(
  columns: readonly Output[],
  from: ResolvedSelect['from'],
): ResolvedSelect {
  return {
    kind: 'select',
    columns,
    distinct: false,
    from,
    where: null,
    time_bounds: [],
    group_by: null,
    having: null,
    qualify: null,
    limit_by: null,
    ...NO_LIMITS,
  }
}

/** The ids of a relation and of those that it joins; sub-selects are not entered. */
export function relationIds(relation: Relation): readonly number[] {
  return relation.kind === 'join'
    ? [...relationIds(relation.left), ...relationIds(relation.right)]
    : [relation.id]
}
