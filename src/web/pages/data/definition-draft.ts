/** The editable form of an event or a property: read from the stored definition or from an address. */
import type { DefinedEvent, DefinedProperty } from '../../api/types/shown-definition.ts'
import { isEqual } from '../../parts/is-equal.ts'

export type DraftedDefinition = {
  readonly description: string
  readonly tags: readonly string[]
  readonly is_verified: boolean
  readonly is_hidden: boolean
  /** The type of a property; '' while it is not known, and of events. */
  readonly property_type: string
}

/** The draft of a stored definition. */
export function draftOf(stored: DefinedEvent | DefinedProperty): DraftedDefinition {
  const { description, tags, verified, hidden } = stored
  return {
    description: description ?? '',
    tags,
    is_verified: verified,
    is_hidden: hidden,
    property_type: 'property_type' in stored ? (stored.property_type ?? '') : '',
  }
}

/** A draft as an address has it; null for anything else. */
export function readDraft(value: unknown): DraftedDefinition | null {
  const { description, tags, is_verified, is_hidden, property_type } = Object(value) as Readonly<
    Record<string, unknown>
  >
  if (typeof description !== 'string' || !Array.isArray(tags)) return null
  return {
    description,
    tags: tags.filter((tag) => typeof tag === 'string'),
    is_verified: is_verified === true,
    is_hidden: is_hidden === true,
    property_type: typeof property_type === 'string' ? property_type : '',
  }
}

/** The body that stores a draft: what differs from the stored definition. */
export function bodyOf(draft: DraftedDefinition, stored: DraftedDefinition): object {
  const { description, tags, is_verified, is_hidden, property_type } = draft
  return {
    ...(description !== stored.description && { description }),
    ...(!isEqual(tags, stored.tags) && { tags }),
    ...(is_verified !== stored.is_verified && { verified: is_verified }),
    ...(is_hidden !== stored.is_hidden && { hidden: is_hidden }),
    ...(property_type !== stored.property_type && { property_type: property_type || null }),
  }
}
