/** Calls for persons: the list, one person, its cohorts, flags and merges. */
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/preact-query'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import { useProject } from '../../state/project.tsx'
import { type ApiError, call } from '../calls/call.ts'
import { queryClient } from '../calls/client.ts'
import { useSettled } from '../definitions.ts'

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

/** Persons whose id, e-mail or name contains a text and for whom all filters hold, the newest first, page by page. */
export function usePersons(
  search: string,
  filters: readonly PropertyCondition[],
): UseInfiniteQueryResult<InfiniteData<PersonListPage>, ApiError> {
  const { id } = useProject()
  const settled = useSettled(search)
  const properties = filters.length === 0 ? null : JSON.stringify(filters)
  return useInfiniteQuery({
    queryKey: ['persons', id, 'list', settled, properties],
    queryFn: ({ pageParam, signal }) => {
      const query = { search: settled, properties, limit: PAGE_SIZE, offset: pageParam }
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

type PersonCohort = {
  readonly id: number
  readonly name: string | null
  readonly count: number | null
}

/** The cohorts that the person is in. */
export const usePersonCohorts = (
  uuid: string,
): UseQueryResult<{ readonly results: readonly PersonCohort[] }, ApiError> =>
  usePersonCall(`persons/cohorts/?person_id=${encodeURIComponent(uuid)}`)

/** The value of a flag, and why it is that. */
export type FlagReason = {
  readonly value: boolean | string
  readonly evaluation: { readonly reason: string; readonly description: string }
}

/** Asks for the value of each flag for a distinct id, with the reason. */
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

/** A person as it would be after a merge is undone. */
export type ListedAfterUndo = {
  readonly distinct_ids: readonly string[]
  readonly distinct_id_count: number
  /** Null where the ids are too many to count the events of each. */
  readonly event_count: number | null
  readonly property_count: number
  readonly cohort_count: number
}

export type ListedUndo = {
  readonly survivor: ListedAfterUndo
  readonly restored: ListedAfterUndo
  readonly properties_lost: readonly string[]
  readonly cohorts_lost_count: number
}

/** Asks for the changes that undoing a merge would make. Not asked again when persons change: the merge may be gone. */
export function useUndoPreview(
  uuid: string,
  merge_id: number,
): UseQueryResult<ListedUndo, ApiError> {
  const { id } = useProject()
  const path = `/api/projects/${id}/persons/${encodeURIComponent(uuid)}/merges/${merge_id}/`
  return useQuery<ListedUndo, ApiError>({
    queryKey: ['undo-preview', path],
    queryFn: ({ signal }) => call('GET', path, { signal }),
    gcTime: 0,
  })
}

/**
 * Calls below the project's persons, and asks again for the persons that are shown. After a deletion only when it is shown
 * next: the page of the person, which is about to close, would request the deleted person.
 */
export async function changePerson(
  project_id: number,
  method: 'POST' | 'DELETE',
  [path, body]: readonly [path: string, body?: unknown],
): Promise<void> {
  await call(method, `/api/projects/${project_id}/persons/${path}`, {
    ...(body !== undefined && { body }),
  })
  const refetchType = method === 'DELETE' ? 'none' : 'active'
  await queryClient.invalidateQueries({ queryKey: ['persons', project_id], refetchType })
}
