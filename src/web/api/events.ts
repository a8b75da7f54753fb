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
import { type ApiError, call, download } from './call.ts'

export type ListedEvent = {
  readonly id: string
  readonly distinct_id: string
  readonly event: string
  readonly timestamp: string
  readonly properties: Readonly<Record<string, unknown>>
  /** Of a live event: its properties are long, and asked for when it is opened. */
  readonly is_cut?: boolean
  readonly person: {
    readonly properties: Readonly<Record<string, unknown>>
  } | null
}

export type EventList = { readonly next: string | null; readonly results: readonly ListedEvent[] }

export type EventListFilters = {
  readonly event: string | null
  readonly properties: readonly PropertyCondition[]
}

const PAGE_SIZE = 100

/** Asks for one page of events, the newest first. */
export function readEvents(
  project_id: number,
  filters: EventListFilters,
  more: { readonly before?: string; readonly after?: string; readonly signal: AbortSignal },
): Promise<EventList> {
  const { before, after, signal } = more
  const { event, properties } = filters
  const query = {
    event,
    before,
    after,
    limit: PAGE_SIZE,
    properties: properties.length === 0 ? null : JSON.stringify(properties),
  }
  return call('GET', `/api/projects/${project_id}/events/`, { query, signal })
}

/** Events, the newest first, page by page into the past. */
export function useEventList(
  filters: EventListFilters,
): UseInfiniteQueryResult<InfiniteData<EventList>, ApiError> {
  const { id } = useProject()
  return useInfiniteQuery({
    queryKey: ['events', id, filters],
    queryFn: ({ pageParam, signal }) =>
      readEvents(id, filters, { signal, ...(pageParam !== null && { before: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next, results }) =>
      next === null ? null : (results.at(-1)?.timestamp ?? null),
  })
}

/** One event with everything that it says. */
export function useEvent(id: string | null): UseQueryResult<ListedEvent, ApiError> {
  const { id: project_id } = useProject()
  return useQuery<ListedEvent, ApiError>({
    queryKey: ['event', project_id, id],
    queryFn: ({ signal }) => call('GET', `/api/projects/${project_id}/events/${id}/`, { signal }),
    enabled: id !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** Saves every event of a list as a file, without a limit of rows. Throws ApiError. */
export async function saveEvents(
  project_id: number,
  { event, properties }: EventListFilters,
  { format, ending }: { readonly format: string; readonly ending: string },
): Promise<void> {
  const named = event === null ? '' : ' and event = {event}'
  const query = `select uuid, event, distinct_id, person_id, timestamp, properties from events where {filters}${named} order by timestamp desc`
  const answer = await download('POST', `/api/projects/${project_id}/query/`, {
    query: { format },
    body: {
      query: { kind: 'HogQLQuery', query, values: { event }, filters: { properties } },
    },
  })
  const address = URL.createObjectURL(await answer.blob())
  const link = document.createElement('a')
  link.href = address
  link.download = `events.${ending}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), REVOKE_AFTER_MS)
}

const REVOKE_AFTER_MS = 60_000

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
