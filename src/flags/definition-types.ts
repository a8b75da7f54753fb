/** Flags, cohorts and group types as they are stored: what the definitions are compiled from. */

export type StoredFlag = {
  readonly id: number
  readonly key: string
  /** The free text people describe the flag with. */
  readonly name: string
  /** Parsed JSON in the shape of the interface, possibly of an older version of it, possibly damaged. */
  readonly filters: unknown
  readonly active: boolean
  readonly deleted: boolean
  readonly version: number | null
  readonly ensure_experience_continuity: boolean
  /** 'device_id' buckets by device; anything else by distinct id. */
  readonly bucketing_identifier: string | null
  /** 'client' or 'server' keeps the flag from the other kind of caller; anything else is for all. */
  readonly evaluation_runtime: string | null
  /** When not empty, only callers that name one of these get the flag, unless they name none. */
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

/** Everything about one project that evaluation needs to know. */
export type StoredDefinitions = {
  readonly flags: readonly StoredFlag[]
  readonly cohorts: readonly StoredCohort[]
  readonly group_types: readonly GroupType[]
}
