/** The context of a compilation: project, time zone, now, property types, limits and definitions. */

import type { CompileBudget } from './budget.ts'
import type { TableState } from './clickhouse/table-state.ts'
import type { Expr } from './syntax/ast.ts'
import type { ResourceLists, ResourceName } from './tables/resources.ts'
import type { RelativeTime } from './times/relative-time.ts'

/** The detected type of a property, from its property definition. */
export type KnownPropertyType = 'Boolean' | 'DateTime' | 'Numeric' | 'String'

/** A value for a placeholder `{name}`. */
export type PlaceholderValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly PlaceholderValue[]

/** A cohort that queries can reference. */
export type CohortReference = {
  readonly id: number
  readonly name: string
  /** Uploaded as a list, not computed from conditions. */
  readonly is_static: boolean
}

/** An action that queries can reference. */
export type ActionReference = {
  readonly id: number
  readonly name: string
  /** The condition on an event that the action is; field names begin with the prefix. */
  readonly condition: (prefix: readonly string[]) => Expr
}

export type CompileLimits = {
  /** Page size when the text has no LIMIT. */
  readonly rows_default: number
  /** Maximum of any LIMIT. */
  readonly rows_max: number
}

export const COMPILE_LIMITS: CompileLimits = { rows_default: 100, rows_max: 50_000 }

export type CompileContext = {
  readonly project_id: number
  /** IANA name of the project's zone. */
  readonly timezone: string
  /** 0: weeks start on Sunday, 1: on Monday. */
  readonly week_start_day: 0 | 1
  /** `now()` for the whole query, microseconds since 1970 UTC. */
  readonly now_us: bigint
  /**
   * Some instant of the same year. Zones are looked up with it, so that the result does not depend
   * on `now_us`.
   */
  readonly zones_us?: bigint
  /** `now` as a relative time, set while an analyzed query is lowered. */
  readonly relative_now?: RelativeTime
  /** Key `event:price`, `person:age`, `group_0:seats`; a missing key means text. */
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  /**
   * True where the engine offers property columns (`column-names.ts`), which contain exactly what reading the JSON as their
   * type would give; without it, properties are read from JSON.
   */
  readonly has_property_columns?: boolean
  /** The state of the project's tables in ClickHouse, for which the statement is then printed; null or missing for DuckDB. */
  readonly clickhouse?: TableState | null
  /** Index by name of the project's group types: each is a row of events, if no field has that name. */
  readonly group_types?: ReadonlyMap<string, number>
  /** Values of placeholders `{name}`; dotted names are flat: `variables.x`. */
  readonly values?: ReadonlyMap<string, PlaceholderValue>
  /** Lists the project's cohorts, which may be thousands; without them `IN COHORT` refuses every name. */
  readonly cohorts?: () => readonly CohortReference[]
  /** Tables this query may not read, by any join; a text that does is refused (`permission_denied`). */
  readonly hidden_tables: readonly string[]
  /** The project's rows of a table that is kept outside of the engine, by column; without it these tables are empty. */
  readonly resources?: (name: ResourceName) => ResourceLists
  /** Lists the project's actions, which may be thousands; without them `matchesAction` refuses every name. */
  readonly actions?: () => readonly ActionReference[]
  readonly limits?: CompileLimits
  /** Work budget of the compilation; the full budget when absent. */
  readonly budget?: CompileBudget
}
