/** What names events and properties have had so far, found page by page and told one by one (wire §4.10). */
import { pageOfItems } from '../../contract/common.ts'
import {
  EventByNameQuery,
  EventDefinitionItem,
  EventDefinitionsQuery,
  PropertyDefinitionItem,
  PropertyDefinitionsQuery,
} from '../../contract/definitions.ts'
import { Refusal } from '../../errors.ts'
import { listOf, truthOf } from '../../insights/old-filters.ts'
import type { PropertyOwner } from '../../query/definitions.ts'
import { propertiesOfEventsTree } from '../../query/event-properties.ts'
import { answerJson } from '../answers.ts'
import type { Params } from '../endpoint.ts'
import type { Needs } from '../needs.ts'
import { answerPage, queryValue, queryValues } from '../pages.ts'
import { namedIn, projectRoute } from '../route.ts'
import { authorNamer } from '../targeting/authors.ts'
import { wantedEvents, wantedProperties } from './definition-filters.ts'
import {
  allKnownProperties,
  eventOnWire,
  type KnownName,
  type KnownProperty,
  knownEvents,
  knownProperties,
  propertyOnWire,
} from './definition-names.ts'
import { type Asked, askTree } from './trees.ts'

/** Events whose properties may be asked for at once. */
const EVENTS_MAX = 50

export const DEFINITION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'event_definitions/',
    scope: 'event_definition:read',
    says: 'The names that events have had so far.',
    query: EventDefinitionsQuery,
    answers: { 200: pageOfItems(EventDefinitionItem) },
    answer: (needs, { project, request }) => {
      const nameAuthor = authorNamer(needs)
      const wanted = wantedEvents(request, knownEvents(needs, project))
      return answerPage(request, needs.publicUrl(), wanted, (one) => eventOnWire(one, nameAuthor))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'event_definitions/by_name/',
    scope: 'event_definition:read',
    says: 'One name that events have had, by the name itself.',
    query: EventByNameQuery,
    answers: { 200: EventDefinitionItem },
    answer: (needs, { project, request }) => {
      const wanted = queryValue(request, 'name')
      if (wanted === null || wanted === '') {
        throw new Refusal('required', 'This field is required.', { attr: 'name' })
      }
      const event = knownEvents(needs, project).find(({ name }) => name === wanted)
      if (event === undefined) throw new Refusal('not_found', 'Not found.')
      return answerJson(eventOnWire(event, authorNamer(needs)))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'event_definitions/:id/',
    scope: 'event_definition:read',
    says: 'One name that events have had.',
    answers: { 200: EventDefinitionItem },
    answer: (needs, { project, params }) => {
      const event = nameIn(params, knownEvents(needs, project))
      return answerJson(eventOnWire(event, authorNamer(needs)))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'property_definitions/',
    scope: 'property_definition:read',
    says: 'The properties that events, persons or groups have had so far.',
    query: PropertyDefinitionsQuery,
    answers: { 200: pageOfItems(PropertyDefinitionItem) },
    answer: (needs, asked) => listProperties(needs, asked),
  }),
  projectRoute({
    method: 'GET',
    path: 'property_definitions/:id/',
    scope: 'property_definition:read',
    says: 'One property that events, persons or groups have had.',
    answers: { 200: PropertyDefinitionItem },
    answer: (needs, { project, params }) => {
      const property = nameIn(params, allKnownProperties(needs, project))
      return answerJson(propertyOnWire(property, authorNamer(needs)))
    },
  }),
] as const

/** The name with the id of the path. Refuses ids of which there are none. */
export function nameIn<Name extends KnownName>(params: Params, names: readonly Name[]): Name {
  const wanted = namedIn(params, 'id').toLowerCase()
  const found = names.find(({ id }) => id === wanted)
  if (found === undefined) throw new Refusal('not_found', 'Not found.')
  return found
}

/** Where events are named, their properties come first, or alone. */
async function listProperties(needs: Needs, asked: Asked): Promise<Response> {
  const { project, request } = asked
  const known = knownProperties(needs, project, ownerIn(request))
  const wanted = wantedProperties(request, known)
  const events = eventsIn(request)
  const seen = events.length === 0 ? null : await propertiesOf(needs, asked, events)
  const isSeen = ({ name }: KnownProperty): boolean => seen?.has(name) === true
  const others = truthOf(queryValues(request), 'filter_by_event_names')
    ? []
    : wanted.filter((one) => !isSeen(one))
  const ordered = seen === null ? wanted : [...wanted.filter(isSeen), ...others]
  const nameAuthor = authorNamer(needs)
  return answerPage(request, needs.publicUrl(), ordered, (one) =>
    propertyOnWire(one, nameAuthor, seen === null ? null : isSeen(one)),
  )
}

async function propertiesOf(
  needs: Needs,
  asked: Asked,
  events: readonly string[],
): Promise<ReadonlySet<unknown>> {
  const tree = propertiesOfEventsTree(events)
  const { rows } = await askTree(needs, asked, 'property_definitions', tree)
  return new Set(rows.map(([name]) => name))
}

/** The events whose properties are asked for. Refuses what is no list of texts. */
function eventsIn(request: Request): readonly string[] {
  const named = listOf(queryValues(request), 'event_names')
  const events = named.filter((name) => typeof name === 'string')
  if (events.length === named.length && events.length <= EVENTS_MAX) return events
  const detail = `Must be a JSON list of at most ${EVENTS_MAX} names.`
  throw new Refusal('invalid_input', detail, { attr: 'event_names' })
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
