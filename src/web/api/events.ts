/** Lists of events. */
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/preact-query'
import type { PropertyCondition } from '../parts/filters/conditions.ts'
import { useProject } from '../state/project.tsx'
import type { AnyQuery } from './calls/ask.ts'
import { type ApiError, call } from './calls/call.ts'

export type ListedEvent = {
  readonly id: string
  readonly distinct_id: string
  readonly event: string
  readonly timestamp: string
  readonly properties: Readonly<Record<string, unknown>>
  /** True for a live event without its properties, which are long; they are fetched when the event is opened. */
  readonly is_cut?: boolean
  readonly person: {
    readonly properties: Readonly<Record<string, unknown>>
  } | null
}

/** The person of an event in words: e-mail, name, or the id that was sent. */
export function senderOf({ person, distinct_id }: ListedEvent): string {
  const { name, email } = person?.properties ?? {}
  return textOf(email) ?? textOf(name) ?? distinct_id
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null

export type EventList = { readonly next: string | null; readonly results: readonly ListedEvent[] }

export type EventListFilters = {
  readonly event: string | null
  /** The UUID of a person. */
  readonly person: string | null
  readonly properties: readonly PropertyCondition[]
}

const PAGE_SIZE = 100

/** The parameters of a list, or of a stream, of events. */
export function queryOfFilters({
  event,
  person,
  properties,
}: EventListFilters): Readonly<Record<string, string | null>> {
  return {
    event,
    person_id: person,
    properties: properties.length === 0 ? null : JSON.stringify(properties),
  }
}

/** Events, the newest first, page by page into the past. */
export function useEventList(
  filters: EventListFilters,
): UseInfiniteQueryResult<InfiniteData<EventList>, ApiError> {
  const { id } = useProject()
  return useInfiniteQuery({
    queryKey: ['events', id, filters],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...queryOfFilters(filters), before: pageParam, limit: PAGE_SIZE }
      return call<EventList>('GET', `/api/projects/${id}/events/`, { query, signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next, results }) =>
      next === null ? null : (results.at(-1)?.timestamp ?? null),
  })
}

/** Without it a list has the last day only. */
const LONG_AGO = '2000-01-01T00:00:00Z'

/** Selects the events of one person, or those with certain properties. */
type EventsOf = Partial<Pick<EventListFilters, 'person' | 'properties'>>

/** Events of a person or a group from the first one on, the newest first, page by page into the past. */
export function useEventsOf({
  person = null,
  properties = [],
}: EventsOf): UseInfiniteQueryResult<InfiniteData<EventList>, ApiError> {
  const { id } = useProject()
  const filters = queryOfFilters({ event: null, person, properties })
  return useInfiniteQuery({
    queryKey: [person === null ? 'groups' : 'persons', id, 'events', filters],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...filters, before: pageParam, limit: PAGE_SIZE, after: LONG_AGO }
      return call<EventList>('GET', `/api/projects/${id}/events/`, { query, signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next, results }) =>
      next === null ? null : (results.at(-1)?.timestamp ?? null),
  })
}

/** Fetches one event with all its properties. */
export function useEvent(id: string | null): UseQueryResult<ListedEvent, ApiError> {
  const { id: project_id } = useProject()
  return useQuery<ListedEvent, ApiError>({
    queryKey: ['event', project_id, id],
    queryFn: ({ signal }) => call('GET', `/api/projects/${project_id}/events/${id}/`, { signal }),
    enabled: id !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** The query for every event of a list, for a file of them. */
export function eventsQuery({ event, person, properties }: EventListFilters): AnyQuery {
  const named = event === null ? '' : ' and event = {event}'
  const sent = person === null ? '' : ' and person_id = toUUID({person})'
  const query = `select uuid, event, distinct_id, person_id, timestamp, properties from events where {filters}${named}${sent} order by timestamp desc`
  return { kind: 'HogQLQuery', query, values: { event, person }, filters: { properties } }
}

export type IngestionWarning = {
  readonly id: number
  readonly type: string
  readonly timestamp: string
  readonly details: Readonly<Record<string, unknown>>
}

const WARNINGS_SHOWN = 50
const WARNINGS_MS = 30_000

/** The newest warnings about events that were changed or dropped, with the number of all. */
export function useWarnings(): UseQueryResult<
  { readonly count: number; readonly results: readonly IngestionWarning[] },
  ApiError
> {
  const { id } = useProject()
  return useQuery({
    queryKey: ['ingestion-warnings', id],
    queryFn: ({ signal }) =>
      call('GET', `/api/projects/${id}/ingestion_warnings/?limit=${WARNINGS_SHOWN}`, { signal }),
    refetchInterval: WARNINGS_MS,
  })
}
