/** What names events and properties have had so far (wire §4.10). Nobody can describe them yet. */
import { createHash } from 'node:crypto'
import { pageOfItems } from '../../contract/common.ts'
import {
  EventDefinitionItem,
  EventDefinitionsQuery,
  PropertyDefinitionItem,
  PropertyDefinitionsQuery,
} from '../../contract/definitions.ts'
import { Refusal } from '../../errors.ts'
import type { EventDefinition, PropertyDefinition, PropertyOwner } from '../../query/definitions.ts'
import { answerJson } from '../answers.ts'
import type { Params } from '../endpoint.ts'
import { answerPage, queryValue } from '../pages.ts'
import { namedIn, projectRoute } from '../route.ts'

const MICROSECONDS = 1000

export const DEFINITION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'event_definitions/',
    scope: 'event_definition:read',
    says: 'The names that events have had so far.',
    query: EventDefinitionsQuery,
    answers: { 200: pageOfItems(EventDefinitionItem) },
    answer: (needs, { project, request }) => {
      const named = needs.definitions.listEvents(project.id).filter(isSearched(request))
      return answerPage(request, needs.publicUrl(), named, (one) => eventOnWire(project.id, one))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'event_definitions/:id/',
    scope: 'event_definition:read',
    says: 'One name that events have had.',
    answers: { 200: EventDefinitionItem },
    answer: (needs, { project, params }) => {
      const all = needs.definitions.listEvents(project.id)
      return answerJson(itemOf(all, params, (one) => eventOnWire(project.id, one)))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'property_definitions/',
    scope: 'property_definition:read',
    says: 'The properties that events, persons or groups have had so far.',
    query: PropertyDefinitionsQuery,
    answers: { 200: pageOfItems(PropertyDefinitionItem) },
    answer: (needs, { project, request }) => {
      const owner = ownerIn(request)
      const wanted = queryValue(request, 'properties')
      const names = wanted === null || wanted === '' ? null : new Set(wanted.split(','))
      const named = needs.definitions
        .listProperties(project.id, owner)
        .filter(isSearched(request))
        .filter(({ name }) => names?.has(name) ?? true)
      return answerPage(request, needs.publicUrl(), named, (one) =>
        propertyOnWire([project.id, owner.kind, owner.group_type_index], one),
      )
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'property_definitions/:id/',
    scope: 'property_definition:read',
    says: 'One property that events, persons or groups have had.',
    answers: { 200: PropertyDefinitionItem },
    answer: (needs, { project, params }) => {
      const all = OWNERS.flatMap((owner) =>
        needs.definitions
          .listProperties(project.id, owner)
          .map((one) => ({ ...one, of: [project.id, owner.kind, owner.group_type_index] })),
      )
      return answerJson(itemOf(all, params, (one) => propertyOnWire(one.of, one)))
    },
  }),
] as const

/** Everybody who has properties. */
const OWNERS: readonly PropertyOwner[] = [
  { kind: 'event', group_type_index: -1 },
  { kind: 'person', group_type_index: -1 },
  ...[0, 1, 2, 3, 4].map((group_type_index) => ({ kind: 'group', group_type_index }) as const),
]

/** The one that is shown with the id of the path. Refuses ids of which there are none. */
function itemOf<Item>(
  items: readonly Item[],
  params: Params,
  show: (item: Item) => { readonly id: string },
): object {
  const id = namedIn(params, 'id').toLowerCase()
  for (const item of items) {
    const shown = show(item)
    if (shown.id === id) return shown
  }
  throw new Refusal('not_found', 'Not found.')
}

function isSearched(request: Request): (named: { readonly name: string }) => boolean {
  const wanted = queryValue(request, 'search')?.trim().toLowerCase() ?? ''
  return ({ name }) => name.toLowerCase().includes(wanted)
}

/** Whose properties are asked for: those of events unless told. */
function ownerIn(request: Request): PropertyOwner {
  const kind = queryValue(request, 'type') ?? 'event'
  if (kind === 'event' || kind === 'person') return { kind, group_type_index: -1 }
  if (kind !== 'group') {
    const detail = `${JSON.stringify(kind.slice(0, 100))} is not a valid choice.`
    throw new Refusal('invalid_input', detail, { attr: 'type' })
  }
  const index = queryValue(request, 'group_type_index') ?? ''
  if (/^[0-4]$/.test(index)) return { kind, group_type_index: Number(index) }
  const detail = 'Must be a whole number from 0 to 4.'
  throw new Refusal('invalid_input', detail, { attr: 'group_type_index' })
}

function eventOnWire(project_id: number, { name, first_seen, last_seen }: EventDefinition) {
  const last_seen_at = new Date(last_seen / MICROSECONDS)
  return {
    id: idOf([project_id, 'name', name]),
    name,
    owner: null,
    description: null,
    created_at: new Date(first_seen / MICROSECONDS),
    updated_at: last_seen_at,
    last_seen_at,
    tags: [],
    verified: false,
  }
}

function propertyOnWire(
  of: readonly (number | string)[],
  { name, property_type }: PropertyDefinition,
) {
  return {
    id: idOf([...of, name]),
    name,
    is_numerical: property_type === 'Numeric',
    property_type,
    tags: [],
    is_seen_on_filtered_events: null,
  }
}

/** Clients tell definitions apart by an id; the name is what they are stored under, so it comes from that. */
function idOf(parts: readonly (number | string)[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-a$4-$5')
}
