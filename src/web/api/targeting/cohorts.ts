/** Calls for cohorts: the list, one cohort, the persons of a fixed list. */
import { queryOptions, type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useProject } from '../../state/project.tsx'
import { type ApiError, type CallMethod, call } from '../calls/call.ts'
import { queryClient } from '../calls/client.ts'
import { type ItemPages, useItemPages } from '../calls/pages.ts'
import { useSettled } from '../definitions.ts'
import type { ShownCohort } from '../types/shown-cohort.ts'

/** A cohort that is being calculated is asked for again after this time. */
const LOOK_MS = 2000

/** Cohorts whose name contains a text, the newest first, page by page. */
export const useCohortList = (search: string): ItemPages<ShownCohort> =>
  useItemPages({ family: 'cohorts', path: 'cohorts/', query: { search: useSettled(search) } })

/** One cohort by its id. */
export function useCohort(cohort_id: string): UseQueryResult<ShownCohort, ApiError> {
  const { id } = useProject()
  return useQuery<ShownCohort, ApiError>({
    ...cohortQuery(id, cohort_id),
    refetchInterval: ({ state: { data } }) => (data?.is_calculating === true ? LOOK_MS : false),
  })
}

/** The cohort as it is stored now; its page shows it too. Throws ApiError. */
export const readCohort = (project_id: number, cohort_id: number): Promise<ShownCohort> =>
  queryClient.fetchQuery({ ...cohortQuery(project_id, String(cohort_id)), staleTime: 0 })

function cohortQuery(project_id: number, cohort_id: string) {
  const path = `/api/projects/${project_id}/cohorts/${encodeURIComponent(cohort_id)}/`
  return queryOptions<ShownCohort, ApiError>({
    queryKey: ['cohorts', project_id, cohort_id],
    queryFn: ({ signal }) => call<ShownCohort>('GET', path, { signal }),
  })
}

/** Creates or changes a cohort, and asks again for the lists of cohorts. Throws ApiError. */
export function changeCohort(
  project_id: number,
  cohort_id: number | null,
  body: object,
): Promise<ShownCohort> {
  return cohort_id === null
    ? send(project_id, ['POST', ''], body)
    : send(project_id, ['PATCH', `${cohort_id}/`], body)
}

/** Adds persons to a fixed list, by their distinct ids; unknown ones are left out. Throws ApiError. */
export const addToCohort = (
  project_id: number,
  cohort_id: number,
  distinct_ids: readonly string[],
): Promise<ShownCohort> =>
  send(project_id, ['PATCH', `${cohort_id}/add_persons_to_static_cohort/`], { distinct_ids })

async function send(
  project_id: number,
  [method, path]: readonly [method: CallMethod, path: string],
  body: object,
): Promise<ShownCohort> {
  const at = `/api/projects/${project_id}/cohorts/${path}`
  const cohort = await call<ShownCohort>(method, at, { body })
  queryClient.setQueryData(['cohorts', project_id, String(cohort.id)], cohort)
  await queryClient.invalidateQueries({ queryKey: ['cohorts', project_id, 'list'] })
  // The names that filters offer.
  await queryClient.invalidateQueries({ queryKey: ['cohorts/', project_id] })
  return cohort
}
