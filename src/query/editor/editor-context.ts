/** The context of editor queries: the project, and the event and property names that occur in its data. */
import type { DetectedOwner, EventDefinition, PropertyDefinition } from '../definitions.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'
import type { EventGroupTypes } from './catalog.ts'

export type EditorContext = QueryContext & {
  readonly now: Date
  readonly listEvents: () => readonly EventDefinition[]
  readonly listProperties: (owner: DetectedOwner) => readonly PropertyDefinition[]
}

/** The owner of a row's properties, by the name of its table or joined row. */
const OWNERS: ReadonlyMap<string, DetectedOwner> = new Map([
  ['events', { kind: 'event', group_type_index: -1 }],
  ['persons', { kind: 'person', group_type_index: -1 }],
  ['raw_persons', { kind: 'person', group_type_index: -1 }],
  ['person', { kind: 'person', group_type_index: -1 }],
  ['poe', { kind: 'person', group_type_index: -1 }],
  ...[0, 1, 2, 3, 4].flatMap((group_type_index): [string, DetectedOwner][] =>
    ['group', 'goe'].map((row) => [
      `${row}_${group_type_index}`,
      { kind: 'group', group_type_index },
    ]),
  ),
])

/** Finds the owner; null where it is ambiguous, as in `groups`, which has rows of several types. */
export function ownerOf(row: string, context: EditorContext): DetectedOwner | null {
  const owner = OWNERS.get(row)
  if (owner !== undefined) return owner
  const group_type_index = groupTypesOf(context).get(row)
  return group_type_index === undefined ? null : { kind: 'group', group_type_index }
}

/** The project's group types by name; a project without any has none. */
export const groupTypesOf = ({ group_types }: EditorContext): EventGroupTypes =>
  group_types ?? NO_TYPES

const NO_TYPES: EventGroupTypes = new Map()

/** The key of an owner's property in `property_types`. */
export function typeKey({ kind, group_type_index }: DetectedOwner, name: string): string {
  return kind === 'group' ? `group_${group_type_index}:${name}` : `${kind}:${name}`
}
