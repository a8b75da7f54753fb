/** Events: a list page by page, and the values of their properties. */

import {
  EventItem,
  EventPage,
  EventsQuery,
  EventValueList,
  EventValuesQuery,
} from '../../../contract/analytics/events.ts'
import { Refusal } from '../../../errors.ts'
import { readDate } from '../../../insights/dates/dates.ts'
import { readElements } from '../../../insights/elements.ts'
import { isShown, rightsAt } from '../../../projects/rights/rights.ts'
import {
  type EventContext,
  type EventListRequest,
  eventConditions,
  eventsTree,
} from '../../../query/lists/events.ts'
import { valuesTree } from '../../../query/lists/properties.ts'
import { mapInSlices } from '../../../threads/sliced-json.ts'
import { DAY_US, SECOND_US } from '../../../time.ts'
import { isUuid, uuidBytes } from '../../../uuid.ts'
import { queryOf } from '../../addresses.ts'
import { answerJson, answerResults } from '../../answers/answers.ts'
import { pageAddress, queryId, queryValue, readPage } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { answerCsv, listFormat } from '../../persons/lists-as-csv.ts'
import { valueItems } from '../../persons/person-analytics.ts'
import { pathNames, projectRoute } from '../../route.ts'
import { readFilterParameters } from '../queries/filter-parameters.ts'
import type { QueryCall } from '../queries/query-context.ts'
import { runTree } from '../queries/run-tree.ts'

/** The most events of one page. */
const PAGE_MAX = 50_000
/** Lists include events whose clocks are a little ahead of ours. */
const AHEAD_US = 5n * SECOND_US
/** Values come from the last days only: an editor waits for them while its user types. */
const VALUES_US = 7n * DAY_US

/** The key under which old clients ask for the names of events. */
const CUSTOM_EVENT = 'custom_event'

/** The most distinct ids shown for the person of an event: a list repeats the same persons. */
const IDS_MAX = 100

export const EVENT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'events/',
    scope: 'query:read',
    summary: 'Events, the newest first.',
    query: EventsQuery,
    answers: { 200: EventPage },
    answer: (app, call) => listEvents(app, call),
  }),
  projectRoute({
    method: 'GET',
    path: 'events/values/',
    scope: 'query:read',
    summary:
      'The twenty most frequent values of an event property in the last week; event_name may be repeated.',
    query: EventValuesQuery,
    answers: { 200: EventValueList },
    answer: async (app, call) => {
      const { request } = call
      const key = queryValue(request, 'key') ?? ''
      if (key === '') return answerJson([])
      const containing = queryValue(request, 'value') || null
      if (key === CUSTOM_EVENT) return answerJson(customEvents(app, call.project.id, containing))
      const context = contextOf(app, call)
      const now_us = BigInt(app.now().getTime()) * 1000n
      const wanted = {
        ...wantedOf(request, context),
        events: new URLSearchParams(queryOf(request.url)).getAll('event_name').filter(Boolean),
        after_us: now_us - VALUES_US,
        before_us: now_us + AHEAD_US,
      }
      const tree = valuesTree('events', {
        key,
        containing,
        conditions: eventConditions(wanted, context),
      })
      const { rows } = await runTree(app, call, 'events/values', tree)
      return answerJson(valueItems(rows))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'events/:id/',
    scope: 'query:read',
    summary: 'One event, by its id.',
    answers: { 200: EventItem },
    answer: async (app, call) => {
      const uuid = pathNames(call.params, 'id')
      if (!isUuid(uuid)) throw new Refusal('invalid_input', 'Invalid UUID', { attr: 'id' })
      const has_persons = showsPersons(app, call)
      const page = { limit: 1, offset: 0, is_oldest_first: false, has_persons }
      const tree = eventsTree({ ...ANY, uuid: uuid.toLowerCase() }, page, contextOf(app, call))
      const { rows } = await runTree(app, call, 'events', tree)
      const [event] = rows
      if (event === undefined) throw new Refusal('not_found', 'Not found.')
      return answerJson(eventSerializer(app, call)(event))
    },
  }),
] as const

/** The names of the project's own events that contain a text, ignoring case. */
function customEvents(
  app: AppContext,
  project_id: number,
  containing: string | null,
): readonly { readonly name: string }[] {
  const part = (containing ?? '').toLowerCase()
  return app.definitions
    .listEvents(project_id)
    .filter(({ name }) => !name.startsWith('$') && name.toLowerCase().includes(part))
    .map(({ name }) => ({ name }))
}

/** A list without conditions. */
const ANY: EventListRequest = {
  after_us: null,
  before_us: null,
  events: [],
  distinct_id: null,
  person_id: null,
  properties: null,
}

async function listEvents(app: AppContext, call: QueryCall): Promise<Response> {
  const { request } = call
  const format = listFormat(request)
  const context = contextOf(app, call)
  const page = {
    ...readPage(request, { limit_max: PAGE_MAX }),
    is_oldest_first: isOldestFirst(request),
    has_persons: showsPersons(app, call),
  }
  const list_request = wantedOf(request, context)
  const ask = async (narrowed: EventListRequest) =>
    (await runTree(app, call, 'events', eventsTree(narrowed, page, context))).rows
  // Most callers want the newest events, which a query over the last day finds quickly.
  const is_recent = list_request.after_us === null && !page.is_oldest_first
  const before_us = list_request.before_us ?? 0n
  const recent = is_recent ? await ask({ ...list_request, after_us: before_us - DAY_US }) : []
  const rows = recent.length > page.limit ? recent : await ask(list_request)
  const shown = rows.slice(0, page.limit)
  const serializeEvent = eventSerializer(app, call)
  if (format === 'csv') {
    const items = await mapInSlices(shown, serializeEvent)
    return answerCsv(items, ['id', 'event', 'distinct_id', 'timestamp'])
  }
  const next = rows.length > page.limit ? nextAddress(app, request, before_us, page) : null
  return answerResults({ next }, shown, serializeEvent)
}

/** Whether events show their persons: not to members without a right to read persons. */
const showsPersons = (app: AppContext, call: QueryCall): boolean =>
  isShown(rightsAt(app.control, call.caller, call), 'event.person')

/**
 * The address of the next page. It starts where this page ended, so that events that arrive meanwhile shift
 * nothing.
 */
function nextAddress(
  app: AppContext,
  request: Request,
  before_us: bigint,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): string {
  const address = pageAddress(request, '', { at: offset + limit, limit })
  const [path = '', query = ''] = address.split('?', 2)
  const parameters = new URLSearchParams(query)
  const micros = String(before_us % SECOND_US).padStart(6, '0')
  const second = new Date(Number(before_us / 1000n)).toISOString().slice(0, 19)
  parameters.set('before', `${second}.${micros}Z`)
  return `${app.publicUrl()}${path}?${parameters.toString()}`
}

/**
 * Shows the events of one list: their persons repeat. Times end with `+00:00` in every time zone, as in the original:
 * Airbyte keeps the latest as text, and reads one without a fraction by that end alone.
 */
function eventSerializer(
  app: AppContext,
  { project }: QueryCall,
): (row: readonly unknown[]) => object {
  const stored = new Map<string, readonly string[]>()
  const distinctIdsOf = (person_id: string): readonly string[] => {
    const result =
      stored.get(person_id) ??
      app.persons.listDistinctIds(project.id, uuidBytes(person_id), IDS_MAX)
    stored.set(person_id, result)
    return result
  }
  return (row) => {
    const [id, event, distinct_id, timestamp, properties, clicked, person_id, its, identified] = row
    const chain = typeof clicked === 'string' ? clicked : ''
    return {
      id,
      distinct_id,
      properties: JSON.parse(String(properties)),
      event,
      timestamp: String(timestamp).replace('Z', '+00:00'),
      person:
        typeof its === 'string'
          ? {
              is_identified: identified === true || identified === 1,
              distinct_ids: distinctIdsOf(String(person_id)),
              properties: JSON.parse(its),
            }
          : null,
      elements: readElements(chain),
      elements_chain: chain,
    }
  }
}

function wantedOf(request: Request, context: EventContext): EventListRequest {
  const text = (name: string): string | null => queryValue(request, name) || null
  const event = text('event')
  const time = (name: string): bigint | null => {
    const input = text(name)
    return input === null ? null : readDate(input, context, name)
  }
  return {
    after_us: time('after'),
    before_us: time('before') ?? BigInt(context.now.getTime()) * 1000n + AHEAD_US,
    events: event === null ? [] : [event],
    action_id: queryId(request, 'action_id'),
    ...readEventConditions(request),
  }
}

/** Reads who sent the events, and property filters, from the query string. Refuses malformed ones. */
export function readEventConditions(
  request: Request,
): Pick<EventListRequest, 'distinct_id' | 'person_id' | 'properties'> {
  const person_id = queryValue(request, 'person_id') || null
  if (person_id !== null && !isUuid(person_id)) {
    throw new Refusal('invalid_input', 'Must be a valid UUID.', { attr: 'person_id' })
  }
  return {
    distinct_id: queryValue(request, 'distinct_id') || null,
    person_id: person_id?.toLowerCase() ?? null,
    properties: readFilterParameters(request),
  }
}

/** Whether the list starts with the oldest; `orderBy` is a JSON list whose first item may be the time. */
function isOldestFirst(request: Request): boolean {
  const input = queryValue(request, 'orderBy')
  if (input === null || input === '' || input === '["-timestamp"]') return false
  if (input === '["timestamp"]') return true
  const detail = 'Events are ordered by timestamp or -timestamp only.'
  throw new Refusal('invalid_input', detail, { attr: 'orderBy' })
}

/** The context of conditions on a project's events, now. */
export function contextOf(app: AppContext, { project }: QueryCall): EventContext {
  return {
    timezone: project.timezone,
    now: app.now(),
    property_types: app.definitions.propertyTypes(project.id),
    path_cleaning_filters: project.path_cleaning_filters,
  }
}
