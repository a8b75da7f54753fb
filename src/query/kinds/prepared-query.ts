/** The common form of every kind of query before it is computed, and the context it is prepared in. */
import type { TableState } from '../../hogql/clickhouse/table-state.ts'
import type { CohortReference, KnownPropertyType } from '../../hogql/context.ts'
import type { ResourceLists, ResourceName } from '../../hogql/tables/resources.ts'
import type { ExperimentDefinition } from '../../insights/experiments/experiment-definition.ts'
import type { SavedAction } from '../../insights/members/actions.ts'
import type { RowForm, WorkerAnswer, WorkerQuery } from '../engine/protocol.ts'
import type { ComputedAnswer } from '../service/cache.ts'
import type { Freshness } from '../service/refresh.ts'

/** The project that a query reads. */
export type QueriedProject = {
  readonly id: number
  /** IANA name. */
  readonly timezone: string
  /** 0 Sunday, 1 Monday; null for Sunday. */
  readonly week_start_day: number | null
  /** Property filters that exclude the project's internal users. */
  readonly test_account_filters?: unknown
  /** Rules that unify the paths of one page, as stored. */
  readonly path_cleaning_filters?: unknown
  /** The properties that name a person, by priority; null for the usual ones. */
  readonly person_display_name_properties?: readonly string[] | null
  /**
   * Identifies the caller and the parts of the project hidden from them: only the same caller may read the status and
   * results of a background query.
   */
  readonly caller?: string
  /** The tables that the caller may not read, sorted; part of the cache key. */
  readonly hidden_tables: readonly string[]
}

/** A saved variable, used in queries as `{variables.code_name}`. */
export type SavedVariable = {
  readonly id: string
  readonly code_name: string
  /** The value in queries that give none. */
  readonly default_value: unknown
}

/** The project of a query, and the definitions that its query may use. */
export type QueryContext = {
  readonly project: QueriedProject
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  /** Facts about the project's tables in ClickHouse, where that answers; null where this machine does. */
  readonly clickhouse?: TableState | null
  /** Index by name of the project's group types. */
  readonly group_types?: ReadonlyMap<string, number>
  /** Lists the project's cohorts, for queries that name one: there may be thousands. */
  readonly cohorts?: () => readonly CohortReference[]
  /** Lists the project's actions. */
  readonly actions?: () => readonly SavedAction[]
  /** Returns the project's saved variable with this id; null when there is none. */
  readonly findVariable?: (id: string) => SavedVariable | null
  /** Returns the project's experiment with this id; null when there is none. */
  readonly findExperiment?: (id: number) => ExperimentDefinition | null
  /** Reads the rows of a table that is kept outside of the engine, such as `system.insights`. */
  readonly resources?: (name: ResourceName) => Promise<ResourceLists>
  /** Maximum number of rows in an answer. */
  readonly rows_max: number
  /** The time that relative dates refer to during preparation; by default the system clock. */
  readonly now?: Date
}

/** A dashboard's overrides of its queries; a query ignores members it does not have. */
export type Overrides = {
  readonly filters?: Readonly<Record<string, unknown>> | null | undefined
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined
}

/** Runs a query in the engine. */
export type RunQuery = (query: WorkerQuery) => Promise<WorkerAnswer>

/** Builds the final query of an export, after running the queries that it depends on. */
export type BuildQuery = (run: RunQuery) => Promise<WorkerQuery>

/** A query that can be cached and computed. */
export type PreparedQuery = {
  readonly project_id: number
  /** The caller that may read its status; '' for queries of the server itself. */
  readonly caller: string
  readonly cache_key: string
  readonly freshness: Freshness
  /** Labels in its status. */
  readonly labels: readonly string[]
  /** Members of the answer that repeat the request. */
  readonly echo: Readonly<Record<string, unknown>>
  /** Compiles and runs the query; `now` is the value of now() in it. Refuses what does not compile. */
  readonly compute: (run: RunQuery, now: Date) => Promise<ComputedAnswer>
  /**
   * Prepares a streamed answer of at most `rows_max` rows; null for queries whose answers are not rows. The promise of
   * the result refuses what does not compile.
   */
  readonly buildExport: ((form: RowForm, rows_max: number, now: Date) => BuildQuery) | null
}
