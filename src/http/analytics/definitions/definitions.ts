/** Event and property definitions: lists, and one by id. */

import {
  EventByNameQuery,
  EventDefinitionItem,
  EventDefinitionsQuery,
  PropertyDefinitionItem,
  PropertyDefinitionQuery,
  PropertyDefinitionsQuery,
} from '../../../contract/analytics/definitions.ts'
import { pageOfItems } from '../../../contract/common.ts'
import { Refusal } from '../../../errors.ts'
import { legacyBoolean, listOf } from '../../../insights/legacy/legacy-filters.ts'
import type { DetectedOwner } from '../../../query/definitions.ts'
import { propertiesOfEventsTree } from '../../../query/lists/properties.ts'
import { readTypeChecks, type TypeCheck, typeChecksTree } from '../../../query/lists/type-checks.ts'
import { answerJson } from '../../answers/answers.ts'
import { answerPage, queryValue, queryValues, readPage } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { authorFinder } from '../../callers/authors.ts'
import type { PathParams } from '../../endpoint.ts'
import { pathNames, projectRoute } from '../../route.ts'
import type { QueryCall } from '../queries/query-context.ts'
import { runTree } from '../queries/run-tree.ts'
import { filterEvents, filterProperties } from './definition-filters.ts'
import {
  allDetectedProperties,
  type DetectedName,
  type DetectedProperty,
  detectedEvents,
  detectedProperties,
  serializeEventDefinition,
  serializePropertyDefinition,
} from './definition-names.ts'

/** The most properties whose values are checked at once: a hundred take more memory than a query has. */
const CHECKED_MAX = 20
/** The most events in a filter of properties. */
const EVENTS_MAX = 50

export const DEFINITION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'event_definitions/',
    scope: 'event_definition:read',
    summary: 'List event definitions.',
    query: EventDefinitionsQuery,
    answers: { 200: pageOfItems(EventDefinitionItem) },
    answer: (app, { project, request }) => {
      const nameAuthor = authorFinder(app)
      const wanted = filterEvents(request, detectedEvents(app, project))
      return answerPage(request, app.publicUrl(), wanted, (one) =>
        serializeEventDefinition(one, nameAuthor),
      )
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'event_definitions/by_name/',
    scope: 'event_definition:read',
    summary: 'Read an event definition by its name.',
    query: EventByNameQuery,
    answers: { 200: EventDefinitionItem },
    answer: (app, { project, request }) => {
      const event_name = queryValue(request, 'name')
      if (event_name === null || event_name === '') {
        throw new Refusal('required', 'This field is required.', { attr: 'name' })
      }
      const event = detectedEvents(app, project).find(({ name }) => name === event_name)
      if (event === undefined) throw new Refusal('not_found', 'Not found.')
      return answerJson(serializeEventDefinition(event, authorFinder(app)))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'event_definitions/:id/',
    scope: 'event_definition:read',
    summary: 'Read an event definition.',
    answers: { 200: EventDefinitionItem },
    answer: (app, { project, params }) => {
      const event = getDefinitionInPath(params, detectedEvents(app, project))
      return answerJson(serializeEventDefinition(event, authorFinder(app)))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'property_definitions/',
    scope: 'property_definition:read',
    summary: 'List property definitions of events, persons or groups.',
    query: PropertyDefinitionsQuery,
    answers: { 200: pageOfItems(PropertyDefinitionItem) },
    answer: (app, call) => listProperties(app, call),
  }),
  projectRoute({
    method: 'GET',
    path: 'property_definitions/:id/',
    scope: 'property_definition:read',
    summary: 'Read a property definition.',
    query: PropertyDefinitionQuery,
    answers: { 200: PropertyDefinitionItem },
    answer: async (app, call) => {
      const { project, params } = call
      const property = getDefinitionInPath(params, allDetectedProperties(app, project))
      const checks = await checkTypes(app, call, [property])
      const type_check = checks.get(property.name) ?? null
      return answerJson(serializePropertyDefinition(property, authorFinder(app), { type_check }))
    },
  }),
] as const

/** Returns the name that has the id of the path. Refuses an unknown id. */
export function getDefinitionInPath<Name extends DetectedName>(
  params: PathParams,
  names: readonly Name[],
): Name {
  const path_id = pathNames(params, 'id').toLowerCase()
  const result = names.find(({ id }) => id === path_id)
  if (result === undefined) throw new Refusal('not_found', 'Not found.')
  return result
}

/** Lists properties; with a filter by events, the properties of these come first, or alone. */
async function listProperties(app: AppContext, call: QueryCall): Promise<Response> {
  const { project, request } = call
  const stored = detectedProperties(app, project, readOwner(request))
  const wanted = filterProperties(request, stored)
  const events = readEvents(request)
  const seen = events.length === 0 ? null : await propertiesOf(app, call, events)
  const isSeen = ({ name }: DetectedProperty): boolean => seen?.has(name) === true
  const others = legacyBoolean(queryValues(request), 'filter_by_event_names')
    ? []
    : wanted.filter((one) => !isSeen(one))
  const ordered = seen === null ? wanted : [...wanted.filter(isSeen), ...others]
  const { offset, limit } = readPage(request)
  const checks = await checkTypes(app, call, ordered.slice(offset, offset + limit))
  const nameAuthor = authorFinder(app)
  return answerPage(request, app.publicUrl(), ordered, (one) =>
    serializePropertyDefinition(one, nameAuthor, {
      is_seen_on_filtered_events: seen === null ? null : isSeen(one),
      type_check: checks.get(one.name) ?? null,
    }),
  )
}

/** The checks of properties of one owner by name, where the request wants them. Refuses too many. */
async function checkTypes(
  app: AppContext,
  call: QueryCall,
  properties: readonly DetectedProperty[],
): Promise<ReadonlyMap<string, TypeCheck>> {
  if (!legacyBoolean(queryValues(call.request), 'check_types')) return new Map()
  if (properties.length > CHECKED_MAX) {
    const detail = `At most ${CHECKED_MAX} properties can be checked at once.`
    throw new Refusal('invalid_input', detail, { attr: 'limit' })
  }
  const checked = properties.flatMap(({ name, property_type }) =>
    property_type === null || property_type === 'String' ? [] : [{ name, property_type }],
  )
  const [first] = properties
  if (first === undefined || checked.length === 0) return new Map()
  const tree = typeChecksTree(first.owner, checked)
  const as_texts = { property_types: new Map() }
  const { rows } = await runTree(app, call, 'property_definitions/types', tree, as_texts)
  return readTypeChecks(checked, rows[0] ?? [])
}

async function propertiesOf(
  app: AppContext,
  call: QueryCall,
  events: readonly string[],
): Promise<ReadonlySet<unknown>> {
  const tree = propertiesOfEventsTree(events)
  const { rows } = await runTree(app, call, 'property_definitions', tree)
  return new Set(rows.map(([name]) => name))
}

/** Reads the events in the filter. Refuses anything but a list of texts. */
function readEvents(request: Request): readonly string[] {
  const named = listOf(queryValues(request), 'event_names')
  const events = named.filter((name) => typeof name === 'string')
  if (events.length === named.length && events.length <= EVENTS_MAX) return events
  const detail = `Must be a JSON list of at most ${EVENTS_MAX} names.`
  throw new Refusal('invalid_input', detail, { attr: 'event_names' })
}

/** Reads the owner of the properties; events by default. */
function readOwner(request: Request): DetectedOwner {
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
