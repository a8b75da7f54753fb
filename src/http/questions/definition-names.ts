/** The names that events and properties of a project have had, with what is said of them, as clients read them. */
import { createHash } from 'node:crypto'
import { readSaid, type Said } from '../../boards/definition.ts'
import type { Project } from '../../projects/project.ts'
import type { PropertyOwner } from '../../query/definitions.ts'
import type { Needs } from '../needs.ts'
import type { NameAuthor } from '../targeting/authors.ts'

const MICROSECONDS = 1000

/** One name that is there. */
export type KnownName = {
  readonly id: string
  readonly name: string
  readonly said: Said
  /** Microseconds. */
  readonly last_seen: number
}
export type KnownEvent = KnownName & { readonly first_seen: number }
export type KnownProperty = KnownName & { readonly property_type: string | null }

/** Everybody who has properties. */
const OWNERS: readonly PropertyOwner[] = [
  { kind: 'event', group_type_index: -1 },
  { kind: 'person', group_type_index: -1 },
  ...[0, 1, 2, 3, 4].map((group_type_index) => ({ kind: 'group', group_type_index }) as const),
]

/** The names of a project's events, in order. */
export function knownEvents(needs: Needs, project: Project): readonly KnownEvent[] {
  const saidOf = readSaid(needs.control, project.id)
  return needs.definitions.listEvents(project.id).flatMap((event) => {
    const id = idOf([project.id, 'name', event.name])
    return whereThere({ ...event, id, said: saidOf(id) })
  })
}

/** The names of an owner's properties, in order. */
export function knownProperties(
  needs: Needs,
  project: Project,
  owner: PropertyOwner,
): readonly KnownProperty[] {
  const saidOf = readSaid(needs.control, project.id)
  return needs.definitions.listProperties(project.id, owner).flatMap((property) => {
    const id = idOf([project.id, owner.kind, owner.group_type_index, property.name])
    return whereThere({ ...property, id, said: saidOf(id) })
  })
}

/** The names of the properties of all owners. */
export function allKnownProperties(needs: Needs, project: Project): readonly KnownProperty[] {
  return OWNERS.flatMap((owner) => knownProperties(needs, project, owner))
}

/** What was deleted is there again once it is seen again; when it was last seen is noted about once an hour. */
function whereThere<Name extends KnownName>(one: Name): readonly Name[] {
  const { deleted_at } = one.said
  const is_there = deleted_at === null || one.last_seen > deleted_at.getTime() * MICROSECONDS
  return is_there ? [one] : []
}

/** An event's name on the wire. */
export function eventOnWire(event: KnownEvent, nameAuthor: NameAuthor) {
  const last_seen_at = new Date(event.last_seen / MICROSECONDS)
  const { owner, updated_at } = event.said
  return {
    ...saidOnWire(event, nameAuthor),
    owner: nameAuthor(owner),
    created_at: new Date(event.first_seen / MICROSECONDS),
    updated_at: updated_at ?? last_seen_at,
    last_seen_at,
    last_updated_at: updated_at ?? last_seen_at,
  }
}

/** A property's name on the wire; whether it is on the events asked for is null where none are. */
export function propertyOnWire(
  property: KnownProperty,
  nameAuthor: NameAuthor,
  is_seen_on_filtered_events: boolean | null = null,
) {
  const { property_type } = property
  return {
    ...saidOnWire(property, nameAuthor),
    is_numerical: property_type === 'Numeric',
    property_type,
    updated_at: property.said.updated_at,
    is_seen_on_filtered_events,
  }
}

function saidOnWire({ id, name, said }: KnownName, nameAuthor: NameAuthor) {
  const { description, tags, hidden, verified, verified_at } = said
  return {
    id,
    name,
    description,
    tags,
    hidden,
    verified,
    verified_at,
    verified_by: nameAuthor(said.verified_by),
    updated_by: nameAuthor(said.updated_by),
  }
}

/** Clients tell definitions apart by an id; the name is what they are stored under, so it comes from that. */
function idOf(parts: readonly (number | string)[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-a$4-$5')
}
