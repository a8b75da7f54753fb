/** The state of a project's tables in ClickHouse, which decides which joins are left out. */

/** Facts about a project's tables at the moment; a statement has no join or condition for a fact that is false. */
export type TableState = {
  /** Ids that were stored without a person have one today. */
  readonly has_id_overrides: boolean
  /** Events of removed persons are not all deleted yet. */
  readonly has_removed_persons: boolean
}

export const PLAIN_STATE: TableState = { has_id_overrides: false, has_removed_persons: false }
