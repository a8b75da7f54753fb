/** What a compilation needs to know besides the text: whose rows, which zone, what time it is, what properties hold. */
import type { Expr } from './ast.ts'
import type { CompileBudget } from './budget.ts'
import type { RelativeTime } from './relative-time.ts'
import type { ResourceName, ResourceRow } from './tables/resources.ts'

/** The detected type of a property, as the property definitions carry it. */
export type KnownPropertyType = 'Boolean' | 'DateTime' | 'Numeric' | 'String'

/** A value a caller puts in the place of `{name}`. */
export type PlaceholderValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly PlaceholderValue[]

/** A cohort queries may name. */
export type CohortReference = {
  readonly id: number
  readonly name: string
  /** Uploaded, not worked out. */
  readonly is_static: boolean
}

/** An action queries may name. */
export type ActionReference = {
  readonly id: number
  readonly name: string
  /** What holds for events that are one; names of their columns begin with the prefix. */
  readonly condition: (prefix: readonly string[]) => Expr
}

export type CompileLimits = {
  /** Rows answered when the text has no LIMIT. */
  readonly rows_default: number
  /** The most rows any LIMIT may ask for. */
  readonly rows_max: number
}

export const COMPILE_LIMITS: CompileLimits = { rows_default: 100, rows_max: 50_000 }

export type CompileContext = {
  readonly project_id: number
  /** IANA name of the project's zone. */
  readonly timezone: string
  /** 0: weeks start on Sunday, 1: on Monday. */
  readonly week_start_day: 0 | 1
  /** The one "now" of this query, microseconds since 1970 UTC. */
  readonly now_us: bigint
  /** Some instant of the same year, where zones are looked up without the answer depending on the time. */
  readonly zones_us?: bigint
  /** Now as a time that moves, while a meaning is lowered. */
  readonly moving?: RelativeTime
  /** Key `event:price`, `person:age`, `group_0:seats`; absent means text. */
  readonly property_types: ReadonlyMap<string, KnownPropertyType>
  /**
   * Properties with columns of their own: key `text:plan`, `number:price`, `boolean:coupon` for events,
   * `person/text:email`, `group/number:seats` for others. Each column holds exactly what reading the JSON as that
   * would give; `json:items` holds JSON with at least this property.
   */
  readonly property_columns?: { get(key: string): `p_${string}` | undefined }
  /** What stands for `{name}`, dotted names flat: `variables.x`. */
  readonly values?: ReadonlyMap<string, PlaceholderValue>
  /** The project's cohorts; without them `IN COHORT` finds none. */
  readonly cohorts?: readonly CohortReference[]
  /** Tables that this query may not read, by whatever join; a text that does is refused (`permission_denied`). */
  readonly hidden_tables?: readonly string[]
  /** The project's rows of a table that is kept outside of the engine; without it these tables are empty. */
  readonly resources?: (name: ResourceName) => readonly ResourceRow[]
  /** The project's actions; without them `matchesAction` finds none. */
  readonly actions?: readonly ActionReference[]
  readonly limits?: CompileLimits
  /** How much work the compilation may be; the full budget unless it says otherwise. */
  readonly budget?: CompileBudget
}
