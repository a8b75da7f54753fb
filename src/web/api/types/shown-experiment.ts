/** An experiment as the pages read it. */

type AnyMembers = Readonly<Record<string, unknown>>

/** An experiment as stored; metrics and settings come from API clients too, so each member is checked before use. */
export type ShownExperiment = {
  readonly id: number
  readonly name: string
  /** The hypothesis. */
  readonly description: string | null
  readonly status: ShownStatus
  readonly start_date: string | null
  readonly end_date: string | null
  readonly feature_flag_key: string
  /** Null for readers who may not see flags. */
  readonly feature_flag: {
    readonly id: number
    readonly active: boolean
    readonly deleted: boolean
    readonly filters: AnyMembers | null
  } | null
  readonly metrics: readonly unknown[]
  readonly metrics_secondary: readonly unknown[]
  /** The one metric of experiments from before there were metrics. */
  readonly filters: unknown
  readonly saved_metrics: readonly SharedMetric[]
  readonly saved_metrics_ids: readonly unknown[]
  readonly primary_metrics_ordered_uuids: unknown
  readonly secondary_metrics_ordered_uuids: unknown
  readonly stats_config: unknown
  /** The events by which persons take part; null for calls of the flag. */
  readonly exposure_criteria: unknown
  readonly conclusion: string | null
  readonly conclusion_comment: string | null
  readonly archived: boolean
  readonly created_at: string
  readonly updated_at: string
}

export type ShownStatus = 'draft' | 'paused' | 'running' | 'stopped'

/** A metric that several experiments have. */
type SharedMetric = {
  /** Its id. */
  readonly saved_metric: number
  readonly name: string
  readonly query: unknown
  readonly metadata: unknown
}
