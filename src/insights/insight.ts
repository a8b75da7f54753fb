/** What a query about behaviour works with: what it is asked about, how it asks for rows, and what it answers. */
import type { Select, SelectQuery } from '../hogql/ast.ts'
import type { CohortReference, KnownPropertyType } from '../hogql/context.ts'
import type { SavedAction } from './actions.ts'
import type { ExperimentDefinition } from './experiments/known-experiment.ts'

/** Whose events a query is about, and what is known about them. */
export type InsightContext = {
  readonly project_id: number
  /** IANA name of the zone that days, weeks and months are counted in. */
  readonly timezone: string
  /** 0: weeks start on Sunday, 1: on Monday. */
  readonly week_start_day: 0 | 1
  /** The one "now" of this query. */
  readonly now: Date
  /** Key `event:price`, `person:age`, `group_0:seats`. */
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  /** Property filters that leave the project's own people out. */
  readonly test_account_filters: unknown
  /** The project's rules that make paths of the same page the same. */
  readonly path_cleaning_filters?: unknown
  readonly actions: readonly SavedAction[]
  readonly cohorts: readonly CohortReference[]
  readonly experiments: readonly ExperimentDefinition[]
  /** The most rows one query to the engine may answer. */
  readonly rows_max: number
}

/** Rows of one tree. Values are as JSON has them: times are ISO texts in the project's zone, tuples are arrays. */
export type InsightRows = {
  readonly columns: readonly string[]
  /** ClickHouse type names. */
  readonly types: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  /** There were more rows than the tree's own limit, or than `rows_max` where it has none. */
  readonly has_more: boolean
  /** The tree as text. */
  readonly hogql: string
}

/** Compiles a tree by the one compiler and asks the engine. Refuses what either refuses. */
export type RunTree = (tree: Select) => Promise<InsightRows>

/** What an insight answers. */
export type InsightAnswer = {
  readonly results: unknown
  /** The query in HogQL, for readers. */
  readonly hogql: string | null
  /** Further members of the envelope: `columns`, `types`, `hasMore`, `limit`, `resolved_date_range`, … */
  readonly said?: Readonly<Record<string, unknown>>
}

/** How long an answer stays fresh: by its steps of time, and for ever once its time is over. */
export type InsightRange = {
  readonly interval: 'day' | 'hour' | 'minute' | 'month' | 'week' | null
  /** Milliseconds since 1970; null when the query has no end. */
  readonly ends_at_ms: number | null
}

/** What dates are read against. */
export type InsightDates = Pick<InsightContext, 'now' | 'timezone' | 'week_start_day'>

/** A list as one query to the engine, whose rows are the answer's as they are. */
export type InsightList = {
  /** With an offset and a limit where they were asked for. */
  readonly tree: SelectQuery
  /** As they were asked for. */
  readonly columns: readonly string[]
}

/** One kind of query. */
export type InsightKind<Question> = {
  /** Refuses dates that are none. Called for every query, also for those that the cache answers. */
  readonly rangeOf: (query: Question, dates: InsightDates) => InsightRange
  /** Asks for the rows it needs, and makes the answer of them. Refuses (`invalid_input`) what makes no sense. */
  readonly answer: (
    query: Question,
    context: InsightContext,
    ask: RunTree,
  ) => Promise<InsightAnswer>
  /** For kinds that are lists: all of it, for answers of any length; null for lists that show whole objects. */
  readonly list?: (
    query: Question,
    context: InsightContext,
    ask: RunTree,
  ) => Promise<InsightList | null>
}
