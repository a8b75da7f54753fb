/** The types of an insight: its context, how it runs trees, and its answer. */

import type { CohortReference, KnownPropertyType } from '../hogql/context.ts'
import type { Select, SelectQuery } from '../hogql/syntax/ast.ts'
import type { ExperimentDefinition } from './experiments/experiment-definition.ts'
import type { SavedAction } from './members/actions.ts'

/** The project of a query, and the definitions insights need. */
export type InsightContext = {
  readonly project_id: number
  /** IANA name of the zone of days, weeks and months. */
  readonly timezone: string
  /** 0: weeks start on Sunday, 1: on Monday. */
  readonly week_start_day: 0 | 1
  /** `now` for the whole query. */
  readonly now: Date
  /** Key `event:price`, `person:age`, `group_0:seats`. */
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  /** Property filters that exclude test accounts. */
  readonly test_account_filters: unknown
  /** The project's path cleaning rules. */
  readonly path_cleaning_filters?: unknown
  /** The properties that name a person, by priority; null for the usual ones. */
  readonly person_display_name_properties?: readonly string[] | null
  readonly actions: () => readonly SavedAction[]
  readonly cohorts: () => readonly CohortReference[]
  /** Returns the project's experiment with this id; null when there is none. */
  readonly findExperiment: (id: number) => ExperimentDefinition | null
  /** Maximum rows of one engine query. */
  readonly rows_max: number
}

/** Rows of one tree, as JSON values: times are ISO texts in the project's zone, tuples are arrays. */
export type InsightRows = {
  readonly columns: readonly string[]
  /** ClickHouse type names. */
  readonly types: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  /** There are more rows than the tree's limit, or than `rows_max` without one. */
  readonly has_more: boolean
  /** The tree as canonical text. */
  readonly hogql: string
}

/** Compiles a tree and runs it. Refuses as compiler and engine do. */
export type RunTree = (tree: Select) => Promise<InsightRows>

/** An insight's answer. */
export type InsightAnswer = {
  readonly results: unknown
  /** The query in HogQL, for readers. */
  readonly hogql: string | null
  /** Further members of the envelope: `columns`, `types`, `hasMore`, `limit`, `resolved_date_range`, … */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** The interval and end of a range. An answer is fresh by its interval, and for a day at least once a range that does not move is over. */
export type InsightRange = {
  readonly interval: 'day' | 'hour' | 'minute' | 'month' | 'week' | null
  /** Milliseconds since 1970; null for a range without an end. */
  readonly ends_at_ms: number | null
  /** Whether the range begins at another time later, as `-7d` does. */
  readonly is_start_relative?: boolean
  /** The time that a client should wait before it asks again; missing for the usual one. */
  readonly client_wait_ms?: number
}

/** The clock, zone and first weekday, on which dates depend. */
export type InsightDates = Pick<InsightContext, 'now' | 'timezone' | 'week_start_day'>

/** The calendar of a project; its weeks begin on Sunday unless it says Monday. */
export function projectDates(
  {
    timezone,
    week_start_day,
  }: { readonly timezone: string; readonly week_start_day: number | null },
  now: Date,
): InsightDates {
  return { now, timezone, week_start_day: week_start_day === 1 ? 1 : 0 }
}

/** A list as one engine query, whose rows are returned unchanged. */
export type InsightList = {
  /** With the query's offset and limit. */
  readonly tree: SelectQuery
  /** Column texts of the request. */
  readonly columns: readonly string[]
}

/** One kind of insight query. */
export type InsightKind<Query> = {
  /**
   * The range for caching. Called for every query, also for those answered from the cache. Refuses
   * texts that are not dates.
   */
  readonly rangeOf: (query: Query, dates: InsightDates) => InsightRange
  /** Runs the trees it needs and builds the answer. Refuses (`invalid_input`) invalid queries. */
  readonly answer: (query: Query, context: InsightContext, run: RunTree) => Promise<InsightAnswer>
  /** For lists: the same as one query of any length; null for lists that show whole objects. */
  readonly list?: (
    query: Query,
    context: InsightContext,
    run: RunTree,
  ) => Promise<InsightList | null>
}
