/** A cohort as the pages read it. */

export type ShownCohort = {
  readonly id: number
  readonly name: string | null
  readonly description: string
  /** From API clients too, so each member is checked before use; null of a fixed list. */
  readonly filters: Readonly<Record<string, unknown>> | null
  readonly is_static: boolean
  readonly is_calculating: boolean
  /** Persons in it; null until the first calculation. */
  readonly count: number | null
  readonly errors_calculating: number
  readonly last_calculation: string | null
  readonly created_at: string
}
