/** What every kind of query is turned into before anything is computed. */
import type { CohortReference, CompileContext, KnownPropertyType } from '../../hogql/context.ts'
import type { SavedAction } from '../../insights/actions.ts'
import type { ExperimentDefinition } from '../../insights/experiments/known-experiment.ts'
import type { RowForm, WorkerAnswer, WorkerQuery } from '../engine/protocol.ts'
import type { ComputedAnswer } from '../service/cache.ts'
import type { Freshness } from '../service/refresh.ts'

/** The project a query is about. */
export type QueriedProject = {
  readonly id: number
  /** IANA name. */
  readonly timezone: string
  /** 0 Sunday, 1 Monday; null for Sunday. */
  readonly week_start_day: number | null
  /** Property filters that leave the project's own people out. */
  readonly test_account_filters?: unknown
  /** Rules that make paths of the same page the same, as they are saved. */
  readonly path_cleaning_filters?: unknown
  /**
   * Names the caller and what of the project is hidden from them: statuses and results of background queries are told
   * to the same alone.
   */
  readonly caller?: string
  /** The tables that the caller may not read, in order: the answers of other callers may hold them. */
  readonly hidden_tables?: readonly string[]
}

/** A variable that queries name as `{variables.code_name}`. */
export type SavedVariable = {
  readonly id: string
  readonly code_name: string
  /** What stands for it where a query says nothing else. */
  readonly default_value: unknown
}

/** Whose query it is, and what is known about their data. */
export type QueryContext = {
  readonly project: QueriedProject
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  /** As the compiler takes them. */
  readonly property_columns?: { get(key: string): `p_${string}` | undefined }
  /** The project's cohorts. */
  readonly cohorts?: readonly CohortReference[]
  /** The project's actions. */
  readonly actions?: readonly SavedAction[]
  /** The project's saved variables. */
  readonly variables?: readonly SavedVariable[]
  /** The project's experiments. */
  readonly experiments?: readonly ExperimentDefinition[]
  /** The project's rows of tables that are kept outside of the engine. */
  readonly resources?: NonNullable<CompileContext['resources']>
  /** The most rows an answer may have. */
  readonly rows_max: number
  /** What ends of time are read against before anything is computed; by default the system's clock. */
  readonly now?: Date
}

/** What a dashboard puts over its queries; members its queries do not have are theirs to ignore. */
export type Overrides = {
  readonly filters?: Readonly<Record<string, unknown>> | null | undefined
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined
}

/** Asks the engine. */
export type RunQuery = (query: WorkerQuery) => Promise<WorkerAnswer>

/** What is asked in the end, after what has to be asked before. */
export type BuildQuery = (ask: RunQuery) => Promise<WorkerQuery>

/** A query that has been read: it has a key, and it can be computed. */
export type PreparedQuery = {
  readonly project_id: number
  /** Who may read its status; '' for queries that the program asks for itself. */
  readonly caller: string
  readonly cache_key: string
  readonly freshness: Freshness
  /** What a reader of its status is told about it. */
  readonly labels: readonly string[]
  /** Members of the answer that repeat the caller's own words. */
  readonly said: Readonly<Record<string, unknown>>
  /** Compiles and asks. `now` is the time the query is about. Refuses what does not compile. */
  readonly compute: (ask: RunQuery, now: Date) => Promise<ComputedAnswer>
  /**
   * The query for an answer in parts, known once the kind has asked what it needs; null for what is never answered
   * so. Its promise refuses what does not compile.
   */
  readonly sentInParts: ((form: RowForm, rows_max: number, now: Date) => BuildQuery) | null
}
