/** Lists of events. */
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
} from '@tanstack/preact-query'
import { useEffect, useState } from 'preact/hooks'
import type { PropertyCondition } from '../parts/filters/conditions.ts'
import { useProject } from '../state/project.tsx'
import { type ApiError, call } from './call.ts'

export type ListedEvent = {
  readonly id: string
  readonly distinct_id: string
  readonly event: string
  readonly timestamp: string
  readonly properties: Readonly<Record<string, unknown>>
  readonly person: {
    readonly is_identified: boolean
    readonly properties: Readonly<Record<string, unknown>>
  } | null
}

export type EventList = { readonly next: string | null; readonly results: readonly ListedEvent[] }

export type EventListFilters = {
  readonly event: string | null
  readonly properties: readonly PropertyCondition[]
}

const PAGE_SIZE = 100

function readEvents(
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

const LIVE_MS = 2000

/** Events that came since `after`, asked every two seconds while the tab is in sight. */
export function useLiveEvents(
  filters: EventListFilters,
  after: string | null,
  is_live: boolean,
): readonly ListedEvent[] {
  const { id } = useProject()
  const [events, setEvents] = useState<readonly ListedEvent[]>([])
  const key = JSON.stringify(filters)
  useEffect(() => setEvents([]), [key, after, id])
  useEffect(() => {
    if (!is_live || after === null) return undefined
    const stop = new AbortController()
    const { signal } = stop
    void follow({
      signal,
      after,
      read: (since) => readEvents(id, filters, { signal, after: since }),
      add: setEvents,
    })
    return () => stop.abort()
  }, [key, after, is_live, id])
  return events
}

type Following = {
  readonly signal: AbortSignal
  readonly after: string
  readonly read: (since: string) => Promise<EventList>
  readonly add: (change: (before: readonly ListedEvent[]) => readonly ListedEvent[]) => void
}

/** A list that grows for days would fill the tab. */
const LIVE_EVENTS_MAX = 1000

async function follow({ signal, after, read, add }: Following): Promise<void> {
  let since = after
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, LIVE_MS))
    if (document.hidden || signal.aborted) continue
    // A failed round is left out: the next one asks for the same time again.
    const { results } = await read(since).catch(() => ({ results: [] as const }))
    const [newest] = results
    if (newest === undefined || signal.aborted) continue
    since = newest.timestamp
    add((before) => {
      const known = new Set(before.map((event) => event.id))
      return [...results.filter((event) => !known.has(event.id)), ...before].slice(
        0,
        LIVE_EVENTS_MAX,
      )
    })
  }
}
