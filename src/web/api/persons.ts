/** Persons: the list, one person, and what is known of them elsewhere. */
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/preact-query'
import { useProject } from '../state/project.tsx'
import { type ApiError, call } from './call.ts'
import { queryClient } from './client.ts'
import { useSettled } from './definitions.ts'
import type { EventList } from './events.ts'

export type PersonListed = {
  readonly uuid: string
  readonly name: string
  readonly distinct_ids: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
  readonly created_at: string
  readonly is_identified: boolean
}

type PersonListPage = { readonly next: string | null; readonly results: readonly PersonListed[] }

const PAGE_SIZE = 100

/** Persons whose id, e-mail or name contains a text, the newest first, page by page. */
export function usePersons(
  search: string,
): UseInfiniteQueryResult<InfiniteData<PersonListPage>, ApiError> {
  const { id } = useProject()
  const settled = useSettled(search)
  return useInfiniteQuery({
    queryKey: ['persons', id, 'list', settled],
    queryFn: ({ pageParam, signal }) => {
      const query = { search: settled, limit: PAGE_SIZE, offset: pageParam }
      return call<PersonListPage>('GET', `/api/projects/${id}/persons/`, { query, signal })
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }, pages) => (next === null ? null : pages.length * PAGE_SIZE),
  })
}

function usePersonCall<Answer>(path: string): UseQueryResult<Answer, ApiError> {
  const { id } = useProject()
  return useQuery<Answer, ApiError>({
    queryKey: ['persons', id, path],
    queryFn: ({ signal }) => call<Answer>('GET', `/api/projects/${id}/${path}`, { signal }),
  })
}

/** One person by UUID. */
export const usePerson = (uuid: string): UseQueryResult<PersonListed, ApiError> =>
  usePersonCall(`persons/${encodeURIComponent(uuid)}/`)

export type PersonCohort = {
  readonly id: number
  readonly name: string | null
  readonly count: number | null
}

/** The cohorts that the person is in. */
export const usePersonCohorts = (
  uuid: string,
): UseQueryResult<{ readonly results: readonly PersonCohort[] }, ApiError> =>
  usePersonCall(`persons/cohorts/?person_id=${encodeURIComponent(uuid)}`)

export type FlagReason = {
  readonly value: boolean | string
  readonly evaluation: { readonly reason: string; readonly description: string }
}

/** What each flag answers for a distinct id, and why. */
export const useFlagReasons = (
  distinct_id: string,
): UseQueryResult<Readonly<Record<string, FlagReason>>, ApiError> =>
  usePersonCall(`feature_flags/evaluation_reasons/?distinct_id=${encodeURIComponent(distinct_id)}`)

export type PersonMergeListed = {
  readonly id: number
  readonly merged_at: string
  /** The ids that the absorbed person had. */
  readonly distinct_ids: readonly string[]
}

/** The merges that made the person and can be undone, the last one first. */
export const usePersonMerges = (
  uuid: string,
): UseQueryResult<{ readonly results: readonly PersonMergeListed[] }, ApiError> =>
  usePersonCall(`persons/${encodeURIComponent(uuid)}/merges/`)

/** Without it the list has the last day only. */
const LONG_AGO = '2000-01-01T00:00:00Z'

/** The person's events, the newest first, page by page into the past. */
export function usePersonEvents(
  uuid: string,
): UseInfiniteQueryResult<InfiniteData<EventList>, ApiError> {
  const { id } = useProject()
  return useInfiniteQuery({
    queryKey: ['persons', id, 'events', uuid],
    queryFn: ({ pageParam, signal }) => {
      const query = { person_id: uuid, before: pageParam, limit: PAGE_SIZE, after: LONG_AGO }
      return call<EventList>('GET', `/api/projects/${id}/events/`, { query, signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next, results }) =>
      next === null ? null : (results.at(-1)?.timestamp ?? null),
  })
}

/** Calls below the project's persons, and asks for what is shown of persons again. */
export async function changePerson(
  project_id: number,
  method: 'POST' | 'DELETE',
  [path, body]: readonly [path: string, body?: unknown],
): Promise<void> {
  await call(method, `/api/projects/${project_id}/persons/${path}`, {
    ...(body !== undefined && { body }),
  })
  await queryClient.invalidateQueries({ queryKey: ['persons', project_id] })
}
