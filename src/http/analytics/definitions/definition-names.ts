/** Detected events and properties of a project joined with their definitions, as the API serializes them. */
import { createHash } from 'node:crypto'
import { type DefinitionNotes, readDefinitions } from '../../../dashboards/definition.ts'
import type { KnownPropertyType } from '../../../hogql/context.ts'
import type { Project } from '../../../projects/settings/project.ts'
import type { DetectedOwner } from '../../../query/definitions.ts'
import type { TypeCheck } from '../../../query/lists/type-checks.ts'
import type { AppContext } from '../../app-context.ts'
import type { FindAuthor } from '../../callers/authors.ts'

const MICROSECONDS = 1000

/** A name that events have used. */
export type DetectedName = {
  readonly id: string
  readonly name: string
  readonly definition: DefinitionNotes
  /** Microseconds. */
  readonly first_seen: number
  readonly last_seen: number
}
export type DetectedProperty = DetectedName & {
  readonly property_type: KnownPropertyType | null
  readonly owner: DetectedOwner
}

/** The owners of properties. */
const OWNERS: readonly DetectedOwner[] = [
  { kind: 'event', group_type_index: -1 },
  { kind: 'person', group_type_index: -1 },
  ...[0, 1, 2, 3, 4].map((group_type_index) => ({ kind: 'group', group_type_index }) as const),
]

/** Lists a project's events, by name. */
export function detectedEvents(app: AppContext, project: Project): readonly DetectedName[] {
  const definitionOf = readDefinitions(app.control, project.id)
  return app.definitions.listEvents(project.id).flatMap((event) => {
    const id = idOf([project.id, 'name', event.name])
    return ifPresent({ ...event, id, definition: definitionOf(id) })
  })
}

/** Lists an owner's properties, by name. */
export function detectedProperties(
  app: AppContext,
  project: Project,
  owner: DetectedOwner,
): readonly DetectedProperty[] {
  const definitionOf = readDefinitions(app.control, project.id)
  return app.definitions.listProperties(project.id, owner).flatMap((property) => {
    const id = idOf([project.id, owner.kind, owner.group_type_index, property.name])
    return ifPresent({ ...property, owner, id, definition: definitionOf(id) })
  })
}

/** Lists the properties of all owners. */
export function allDetectedProperties(
  app: AppContext,
  project: Project,
): readonly DetectedProperty[] {
  return OWNERS.flatMap((owner) => detectedProperties(app, project, owner))
}

/** Drops a name that was deleted and not seen since. `last_seen` is written about once an hour. */
function ifPresent<Name extends DetectedName>(one: Name): readonly Name[] {
  const { deleted_at } = one.definition
  const is_there = deleted_at === null || one.last_seen > deleted_at.getTime() * MICROSECONDS
  return is_there ? [one] : []
}

/** Serializes an event definition. */
export function serializeEventDefinition(event: DetectedName, nameAuthor: FindAuthor) {
  const last_seen_at = new Date(event.last_seen / MICROSECONDS)
  const { owner, updated_at } = event.definition
  return {
    ...definitionMembers(event, nameAuthor),
    owner: nameAuthor(owner),
    created_at: new Date(event.first_seen / MICROSECONDS),
    updated_at: updated_at ?? last_seen_at,
    last_seen_at,
    last_updated_at: updated_at ?? last_seen_at,
  }
}

/** Serializes a property definition; members that the caller did not ask for are null. */
export function serializePropertyDefinition(
  property: DetectedProperty,
  nameAuthor: FindAuthor,
  {
    is_seen_on_filtered_events = null,
    type_check = null,
  }: {
    readonly is_seen_on_filtered_events?: boolean | null
    readonly type_check?: TypeCheck | null
  } = {},
) {
  const { property_type } = property
  return {
    ...definitionMembers(property, nameAuthor),
    type: property.owner.kind,
    is_numerical: property_type === 'Numeric',
    property_type,
    created_at: new Date(property.first_seen / MICROSECONDS),
    updated_at: property.definition.updated_at,
    is_seen_on_filtered_events,
    type_check,
  }
}

function definitionMembers({ id, name, definition }: DetectedName, nameAuthor: FindAuthor) {
  const { description, tags, hidden, verified, verified_at } = definition
  return {
    id,
    name,
    description,
    tags,
    hidden,
    verified,
    verified_at,
    verified_by: nameAuthor(definition.verified_by),
    updated_by: nameAuthor(definition.updated_by),
  }
}

/** A stable id from the name: definitions are stored by name, clients identify them by id. */
function idOf(parts: readonly (number | string)[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-a$4-$5')
}
