/** Whose editor asks, and the names that the project's data has shown. */
import type { DetectedOwner, EventDefinition, PropertyDefinition } from '../definitions.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'

export type EditorContext = QueryContext & {
  readonly now: Date
  readonly listEvents: () => readonly EventDefinition[]
  readonly listProperties: (owner: DetectedOwner) => readonly PropertyDefinition[]
}

/** Whose the properties of a row are: by the name of its table, or of the row that is joined to it. */
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

/** Null where nobody can tell, as in `groups`, whose rows are of several types. */
export function ownerOf(row: string): DetectedOwner | null {
  return OWNERS.get(row) ?? null
}

/** The key under which the types of an owner's properties are known. */
export function typeKey({ kind, group_type_index }: DetectedOwner, name: string): string {
  return kind === 'group' ? `group_${group_type_index}:${name}` : `${kind}:${name}`
}
