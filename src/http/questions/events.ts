/** Events: listed page by page, and the values their properties have (wire §4.9). */
import {
  EventItem,
  EventPage,
  EventsQuery,
  EventValueList,
  EventValuesQuery,
} from '../../contract/events.ts'
import { Refusal } from '../../errors.ts'
import { readDate } from '../../insights/dates.ts'
import { readElements } from '../../insights/elements.ts'
import { isShown, rightsAt } from '../../projects/rights.ts'
import {
  type EventContext,
  eventConditions,
  eventsTree,
  type WantedEvents,
} from '../../query/events.ts'
import { valuesTree } from '../../query/value-lists.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { pageAddress, pageOf, queryValue } from '../pages.ts'
import { answerCsv, listFormat } from '../people/lists-as-csv.ts'
import { valueItems } from '../people/person-analytics.ts'
import { namedIn, projectRoute } from '../route.ts'
import { filtersSent } from './filters-sent.ts'
import { type Asked, askTree } from './trees.ts'

/** The most events of one page. */
const PAGE_MAX = 50_000
const SECOND_US = 1_000_000n
const DAY_US = 86_400n * SECOND_US
/** Events a little ahead of our clock are listed. */
const AHEAD_US = 5n * SECOND_US
/** Values are those of the last days: an editor wants them while somebody types. */
const VALUES_US = 7n * DAY_US

/** Distinct ids told of the person of each event: a list says the same ones over and over. */
const IDS_MAX = 100

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const EVENT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'events/',
    scope: 'query:read',
    says: 'Events, the newest first.',
    query: EventsQuery,
    answers: { 200: EventPage },
    answer: (needs, call) => listEvents(needs, call),
  }),
  projectRoute({
    method: 'GET',
    path: 'events/values/',
    scope: 'query:read',
    says: 'The twenty most frequent values of an event property in the last week.',
    query: EventValuesQuery,
    answers: { 200: EventValueList },
    answer: async (needs, asked) => {
      const { request } = asked
      const key = queryValue(request, 'key') ?? ''
      if (key === '') return answerJson([])
      const context = contextOf(needs, asked)
      const now_us = BigInt(needs.now().getTime()) * 1000n
      const wanted = {
        ...wantedOf(request, context),
        event: queryValue(request, 'event_name') || null,
        after_us: now_us - VALUES_US,
        before_us: now_us + AHEAD_US,
      }
      const tree = valuesTree('events', {
        key,
        containing: queryValue(request, 'value') || null,
        conditions: eventConditions(wanted, context),
      })
      const { rows } = await askTree(needs, asked, 'events/values', tree)
      return answerJson(valueItems(rows))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'events/:id/',
    scope: 'query:read',
    says: 'One event, by its id.',
    answers: { 200: EventItem },
    answer: async (needs, asked) => {
      const uuid = namedIn(asked.params, 'id')
      if (!UUID.test(uuid)) throw new Refusal('not_found', 'Not found.')
      const has_persons = showsPersons(needs, asked)
      const page = { limit: 1, offset: 0, is_oldest_first: false, has_persons }
      const tree = eventsTree({ ...ANY, uuid: uuid.toLowerCase() }, page, contextOf(needs, asked))
      const { rows } = await askTree(needs, asked, 'events', tree)
      const [event] = eventItems(needs, asked, rows)
      if (event === undefined) throw new Refusal('not_found', 'Not found.')
      return answerJson(event)
    },
  }),
] as const

/** Nothing is asked of events. */
const ANY: WantedEvents = {
  after_us: null,
  before_us: null,
  event: null,
  distinct_id: null,
  person_id: null,
  properties: null,
}

async function listEvents(needs: Needs, asked: Asked): Promise<Response> {
  const { request } = asked
  const format = listFormat(request)
  const context = contextOf(needs, asked)
  const sent = pageOf(request)
  const page = {
    offset: sent.offset,
    limit: Math.min(sent.limit, PAGE_MAX),
    is_oldest_first: isOldestFirst(request),
    has_persons: showsPersons(needs, asked),
  }
  const wanted = wantedOf(request, context)
  const ask = async (narrowed: WantedEvents) =>
    (await askTree(needs, asked, 'events', eventsTree(narrowed, page, context))).rows
  // Most readers want what happened just now, which the last day alone answers quickly.
  const is_recent = wanted.after_us === null && !page.is_oldest_first
  const before_us = wanted.before_us ?? 0n
  const recent = is_recent ? await ask({ ...wanted, after_us: before_us - DAY_US }) : []
  const rows = recent.length > page.limit ? recent : await ask(wanted)
  const items = eventItems(needs, asked, rows.slice(0, page.limit))
  if (format === 'csv') return answerCsv(items, ['id', 'event', 'distinct_id', 'timestamp'])
  return answerJson({
    next: rows.length > page.limit ? nextAddress(needs, request, before_us, page) : null,
    results: items,
  })
}

/** Events are listed without their persons to members from whom those are hidden. */
const showsPersons = (needs: Needs, asked: Asked): boolean =>
  isShown(rightsAt(needs.control, asked.asker, asked), 'event.person')

/** The next page ends where this one did, so that events which come meanwhile move nothing. */
function nextAddress(
  needs: Needs,
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
  return `${needs.publicUrl()}${path}?${parameters.toString()}`
}

function eventItems(
  needs: Needs,
  { project }: Asked,
  rows: readonly (readonly unknown[])[],
): readonly object[] {
  const known = new Map<string, readonly string[]>()
  const distinctIdsOf = (person_id: string): readonly string[] => {
    const found =
      known.get(person_id) ??
      needs.people.listDistinctIds(
        project.id,
        Uint8Array.fromHex(person_id.replaceAll('-', '')),
        IDS_MAX,
      )
    known.set(person_id, found)
    return found
  }
  return rows.map((row) => {
    const [id, event, distinct_id, timestamp, properties, clicked, person_id, its, identified] = row
    const chain = typeof clicked === 'string' ? clicked : ''
    return {
      id,
      distinct_id,
      properties: JSON.parse(String(properties)),
      event,
      timestamp,
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
  })
}

function wantedOf(request: Request, context: EventContext): WantedEvents {
  const text = (name: string): string | null => queryValue(request, name) || null
  const time = (name: string): bigint | null => {
    const sent = text(name)
    return sent === null ? null : readDate(sent, context, name)
  }
  const person_id = text('person_id')
  if (person_id !== null && !UUID.test(person_id)) {
    throw new Refusal('invalid_input', 'Must be a valid UUID.', { attr: 'person_id' })
  }
  return {
    after_us: time('after'),
    before_us: time('before') ?? BigInt(context.now.getTime()) * 1000n + AHEAD_US,
    event: text('event'),
    distinct_id: text('distinct_id'),
    person_id: person_id?.toLowerCase() ?? null,
    properties: filtersSent(request),
  }
}

/** `orderBy` is a JSON list whose first item may be the time. */
function isOldestFirst(request: Request): boolean {
  const sent = queryValue(request, 'orderBy')
  if (sent === null || sent === '' || sent === '["-timestamp"]') return false
  if (sent === '["timestamp"]') return true
  const detail = 'Events are ordered by timestamp or -timestamp only.'
  throw new Refusal('invalid_input', detail, { attr: 'orderBy' })
}

function contextOf(needs: Needs, { project }: Asked): EventContext {
  return {
    timezone: project.timezone,
    now: needs.now(),
    property_types: needs.definitions.propertyTypes(project.id),
  }
}
