/** Calls of the page that lists and edits actions; Explore, which has no room for them, needs only `actions.ts`. */
import {
  keepPreviousData,
  queryOptions,
  type UseQueryResult,
  useQuery,
} from '@tanstack/preact-query'
import { useProject } from '../state/project.tsx'
import { ask } from './calls/ask.ts'
import { type ApiError, type CallMethod, call } from './calls/call.ts'
import { queryClient } from './calls/client.ts'
import { type ItemPages, useItemPages } from './calls/pages.ts'
import { useSettled } from './definitions.ts'
import type { ShownAction } from './types/shown-action.ts'

/** Actions whose name contains a text, the newest first, page by page. */
export const useActionList = (search: string): ItemPages<ShownAction> =>
  useItemPages({ family: 'actions', path: 'actions/', query: { search: useSettled(search) } })

/** One action by its id; a deleted one too. */
export function useAction(action_id: string): UseQueryResult<ShownAction, ApiError> {
  const { id } = useProject()
  return useQuery<ShownAction, ApiError>(actionQuery(id, action_id))
}

/** The action as it is stored now; its page shows it too. Throws ApiError. */
export const readAction = (project_id: number, action_id: number): Promise<ShownAction> =>
  queryClient.fetchQuery({ ...actionQuery(project_id, String(action_id)), staleTime: 0 })

function actionQuery(project_id: number, action_id: string) {
  const path = `/api/projects/${project_id}/actions/${encodeURIComponent(action_id)}/`
  return queryOptions<ShownAction, ApiError>({
    queryKey: ['actions', project_id, action_id],
    queryFn: ({ signal }) => call<ShownAction>('GET', path, { signal }),
  })
}

/** Creates or changes an action, and asks again for all that shows actions. Throws ApiError. */
export async function changeAction(
  project_id: number,
  action_id: number | null,
  body: object,
): Promise<ShownAction> {
  const [method, path]: readonly [CallMethod, string] =
    action_id === null ? ['POST', ''] : ['PATCH', `${action_id}/`]
  const at = `/api/projects/${project_id}/actions/${path}`
  const action = await call<ShownAction>(method, at, { body })
  queryClient.setQueryData(['actions', project_id, String(action.id)], action)
  await queryClient.invalidateQueries({ queryKey: ['actions', project_id] })
  // Charts that were just seen count its events again.
  void queryClient.invalidateQueries({ queryKey: ['query', project_id] })
  return action
}

/** Counts the events of the last 30 days that meet a tree of property filters; null counts nothing. */
export function useEventCount(filters: object | null): UseQueryResult<number, ApiError> {
  const { id } = useProject()
  const settled = useSettled(JSON.stringify(filters))
  return useQuery<number, ApiError>({
    queryKey: ['event-count', id, settled],
    queryFn: async ({ signal }) => {
      const properties: unknown = JSON.parse(settled)
      const query = { kind: 'EventsQuery', select: ['count()'], after: '-30d', properties } as const
      const { results } = await ask(id, query, { signal })
      return Number(results[0]?.[0])
    },
    enabled: settled !== 'null',
    placeholderData: keepPreviousData,
  })
}
