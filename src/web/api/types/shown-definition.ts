/** Events and properties that were seen, as the pages read them. */

export type ShownDefinition = {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly tags: readonly string[]
  readonly hidden: boolean
  readonly verified: boolean
  readonly verified_at: string | null
  readonly verified_by: DefinitionUser | null
  readonly created_at: string
}

export type DefinedEvent = ShownDefinition & {
  readonly last_seen_at: string
  /** Set by the API. */
  readonly owner: DefinitionUser | null
}

export type DefinedProperty = ShownDefinition & {
  /** The kind of its owner. */
  readonly type: 'event' | 'group' | 'person'
  /** `String`, `Numeric`, `Boolean`, `DateTime`; null while no value was seen. */
  readonly property_type: string | null
  /** Values that the type cannot hold; only of a single property, and not of texts. */
  readonly type_check: {
    readonly value_count: number
    readonly unreadable_count: number
    readonly examples: readonly string[]
    /** A type that holds every value. */
    readonly suggested_type: string
  } | null
}

export type DefinitionUser = { readonly first_name: string; readonly email: string }
