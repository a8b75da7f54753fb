/** Calls of the Start page: waiting for the first event, demo data, further projects. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useEffect } from 'preact/hooks'
import { useProject } from '../state/project.tsx'
import { refreshSession } from '../state/session.ts'
import { type ApiError, call } from './calls/call.ts'
import type { EventList, ListedEvent } from './events.ts'

/** A run of the demo data generator. */
export type DemoProgress = {
  readonly state: 'done' | 'failed' | 'running'
  /** From 0 to 1. */
  readonly progress: number
  readonly done_events: number
  readonly total_events: number
  readonly error: string | null
}

type DemoAnswer = { readonly demo_data: DemoProgress | null }

const EVENT_LOOK_MS = 2000
const DEMO_LOOK_MS = 700

/** The latest event of the project, looked for every two seconds while the page is visible; null before the first. */
export function useLatestEvent(): UseQueryResult<ListedEvent | null, ApiError> {
  const { id } = useProject()
  return useQuery<ListedEvent | null, ApiError>({
    queryKey: ['latest event', id],
    queryFn: async ({ signal }) => {
      const path = `/api/projects/${id}/events/`
      const { results } = await call<EventList>('GET', path, { query: { limit: 1 }, signal })
      return results[0] ?? null
    },
    refetchInterval: EVENT_LOOK_MS,
  })
}

/** Whether the project has events. The first one that is seen makes the session ask again, for pages that read it there. */
export function useHasEvents({ data }: UseQueryResult<ListedEvent | null, ApiError>): boolean {
  const { ingested_event } = useProject()
  const has_events = ingested_event || (data ?? null) !== null
  useEffect(() => {
    if (has_events && !ingested_event) void refreshSession()
  }, [has_events, ingested_event])
  return has_events
}

/** The project's demo data: null if none was generated. Looked at often while it is. */
export function useDemoRun(): UseQueryResult<DemoProgress | null, ApiError> {
  const { id } = useProject()
  return useQuery<DemoProgress | null, ApiError>({
    queryKey: demoKey(id),
    queryFn: async ({ signal }) => {
      const path = `/api/projects/${id}/is_generating_demo_data/`
      return (await call<DemoAnswer>('GET', path, { signal })).demo_data
    },
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? DEMO_LOOK_MS : false),
  })
}

/** The key of a project's demo run in the cache. */
export const demoKey = (id: number): readonly unknown[] => ['demo run', id]

/** Starts to fill a project with demo data; returns the run. Throws ApiError. */
export async function startDemo(project_id: number): Promise<DemoProgress | null> {
  const path = `/api/projects/${project_id}/generate_demo_data/`
  return (await call<DemoAnswer>('POST', path, { body: {} })).demo_data
}

/** Makes a project in an organization; returns its id. Throws ApiError. */
export async function createProject(organization_id: string, name: string): Promise<number> {
  const path = `/api/organizations/${organization_id}/projects/`
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const body = { name, ...(timezone && { timezone }) }
  return (await call<{ id: number }>('POST', path, { body })).id
}
