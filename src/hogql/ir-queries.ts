/** Resolved selects: whose rows, from which relations, which clauses; the expressions in them are in `ir.ts`. */

import type { Column, Expr, OrderBy } from './ir.ts'
import type { Time } from './moving.ts'
import type { Type } from './types.ts'

// ── whose rows ───────────────────────────────────────────────────────────────────────────────

declare const guarded: unique symbol

/** Proof that a project was named. A scan cannot be built without one, and only `guardProject` makes one. */
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

/** Forms of the relation of events: with all of `properties`, without them, and how many rows there are alone. */
export type EventForm = 'events' | 'events_counts' | 'events_lean'

// ── names ────────────────────────────────────────────────────────────────────────────────────

/** Columns the engine's relations have. User text cannot become one: the type is this list. */
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

/** A column of a relation: the engine's own, the generated one of a sub-select, a scan's clock in some zone, or a property's. */
export type ColumnName = PhysicalColumn | `c${number}` | `l${number}` | `p_${string}`

// ── relations ────────────────────────────────────────────────────────────────────────────────

export type Scan = {
  readonly kind: 'scan'
  readonly id: number
  readonly table: EventForm | RelationName
  readonly project: ProjectGuard
  /** Computed beside the relation's columns, once per row, as `l<id>`. */
  readonly clocks: readonly { readonly id: number; readonly expr: Expr }[]
}
export type Derived = {
  readonly kind: 'derived'
  readonly id: number
  readonly query: Query
  readonly span?: Span
}
/** Groups of rows that lie within a few days: a known range of any of `by` bounds the rows' `time`. */
export type Span = { readonly time: Column; readonly by: readonly SpanEnd[] }
export type SpanEnd = { readonly relation: number; readonly name: ColumnName }
export type CteScan = { readonly kind: 'cte_scan'; readonly id: number; readonly cte: number }
/** `first` counted up by `step`, up to and without `stop`, as column c1. */
export type Series = {
  readonly kind: 'series'
  readonly id: number
  readonly args: readonly [Expr, Expr, Expr]
}
export type Rows = {
  readonly kind: 'rows'
  readonly id: number
  readonly rows: readonly (readonly Expr[])[]
}
/** Each array of `lists` opened into rows side by side: column c1 of the first, c2 of the second. */
export type Unnest = {
  readonly kind: 'unnest'
  readonly id: number
  readonly lists: readonly Expr[]
}
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
  readonly on: Expr | null
}
export type Relation = CteScan | Derived | Join | Rows | Scan | Series | Unnest

// ── queries ──────────────────────────────────────────────────────────────────────────────────

/** A column of a result: printed as `c<id>`; the name users gave it stays outside the SQL. */
export type Output = { readonly id: number; readonly expr: Expr }

export type Limits = {
  readonly order_by: readonly OrderBy[]
  readonly limit: Expr | null
  readonly offset: Expr | null
  readonly limit_percent: boolean
  readonly with_ties: boolean
}
export type LimitBy = {
  readonly count: Expr
  readonly offset: Expr | null
  readonly keys: readonly Expr[]
}
export type GroupBy = {
  readonly mode: 'all' | 'cube' | 'grouping_sets' | 'plain' | 'rollup'
  /** One set of keys, or several with `grouping_sets`. */
  readonly sets: readonly (readonly Expr[])[]
}
/** What WHERE says of an instant column: no row from before `from_us` or at and after `until_us` comes through. */
export type KnownRange = {
  readonly relation: number
  readonly name: ColumnName
  readonly from_us: Time | null
  readonly until_us: Time | null
}
export type Select = Limits & {
  readonly kind: 'select'
  readonly columns: readonly Output[]
  readonly distinct: boolean
  readonly from: Relation | null
  readonly where: Expr | null
  readonly known: readonly KnownRange[]
  readonly group_by: GroupBy | null
  readonly having: Expr | null
  readonly qualify: Expr | null
  readonly limit_by: LimitBy | null
}
export type SetOperator =
  | 'EXCEPT'
  | 'EXCEPT ALL'
  | 'INTERSECT'
  | 'INTERSECT ALL'
  | 'UNION'
  | 'UNION ALL'
/** `columns` name and type the outcome; every leg has as many, with the same ids. */
export type SetQuery = Limits & {
  readonly kind: 'set'
  readonly columns: readonly { readonly id: number; readonly type: Type }[]
  readonly first: Query
  readonly rest: readonly { readonly operator: SetOperator; readonly query: Query }[]
}
export type Query = Select | SetQuery

export type Cte = {
  readonly id: number
  readonly query: Query
  readonly materialized: boolean | null
  /** For one that reads itself: the numbers its columns have wherever it is read. */
  readonly recursive: readonly number[] | null
}
/** What is printed: one SELECT. The CTEs of all levels stand in front, each after those it uses. */
export type Statement = { readonly ctes: readonly Cte[]; readonly query: Query }

export const NO_LIMITS: Limits = {
  order_by: [],
  limit: null,
  offset: null,
  limit_percent: false,
  with_ties: false,
}

/** The columns of a query with their types. */
export function queryColumns(
  query: Query,
): readonly { readonly id: number; readonly type: Type }[] {
  if (query.kind === 'set') return query.columns
  return query.columns.map((column) => ({ id: column.id, type: column.expr.type }))
}

/** A select of some columns with nothing else to it. */
export function selectFrom(columns: readonly Output[], from: Select['from']): Select {
  return {
    kind: 'select',
    columns,
    distinct: false,
    from,
    where: null,
    known: [],
    group_by: null,
    having: null,
    qualify: null,
    limit_by: null,
    ...NO_LIMITS,
  }
}
