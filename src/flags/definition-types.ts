/** Stored flags, cohorts and group types: the input of the compilation. */

export type StoredFlag = {
  readonly id: number
  readonly key: string
  /** The description of the flag. */
  readonly name: string
  /** Parsed JSON, possibly of an older version of the interface, possibly invalid. */
  readonly filters: unknown
  readonly active: boolean
  readonly deleted: boolean
  readonly version: number | null
  readonly ensure_experience_continuity: boolean
  /** 'device_id' buckets by device; anything else by distinct id. */
  readonly bucketing_identifier: string | null
  /** 'client' or 'server' hides the flag from the other kind of SDK; anything else is for all. */
  readonly evaluation_runtime: string | null
  /** If not empty, callers that name contexts get the flag only if they name one of these. */
  readonly evaluation_contexts: readonly string[]
}

export type StoredCohort = {
  readonly id: number
  readonly is_static: boolean
  readonly deleted: boolean
  /** Parsed JSON: `{properties: {type: 'AND' | 'OR', values: […]}}`. */
  readonly filters: unknown
}

export type GroupType = { readonly group_type: string; readonly group_type_index: number }

/** Everything about one project that evaluation needs. */
export type StoredDefinitions = {
  readonly flags: readonly StoredFlag[]
  readonly cohorts: readonly StoredCohort[]
  readonly group_types: readonly GroupType[]
}
