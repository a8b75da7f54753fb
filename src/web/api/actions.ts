/** Saved actions: named conditions on events. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useProject } from '../state/project.tsx'
import { type ApiError, call } from './calls/call.ts'

type ActionName = { readonly id: number; readonly name: string | null }

const ACTIONS_MAX = 500

/** The project's actions. */
export function useActions(): UseQueryResult<readonly ActionName[], ApiError> {
  const { id } = useProject()
  return useQuery<readonly ActionName[], ApiError>({
    queryKey: ['actions', id],
    queryFn: async ({ signal }) => {
      const path = `/api/projects/${id}/actions/`
      const query = { limit: ACTIONS_MAX }
      type Page = { readonly results: readonly ActionName[] }
      return (await call<Page>('GET', path, { query, signal })).results
    },
  })
}
