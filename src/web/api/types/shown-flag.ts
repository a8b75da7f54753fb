/** A feature flag as the pages read it. */

/** A flag as stored; `filters` comes from API clients too, so each member is checked before use. */
export type ShownFlag = {
  readonly id: number
  readonly key: string
  /** The description. */
  readonly name: string
  readonly filters: Readonly<Record<string, unknown>>
  readonly active: boolean
  readonly archived: boolean
  readonly version: number
  readonly can_edit: boolean
  readonly created_at: string
  readonly updated_at: string
  readonly created_by: FlagUser | null
  readonly last_modified_by: FlagUser | null
}

type FlagUser = { readonly first_name: string; readonly email: string }
