/** Calls for feature flags: the list, one flag, the persons that a condition matches, a trial. */
import {
  keepPreviousData,
  queryOptions,
  type UseQueryResult,
  useQuery,
} from '@tanstack/preact-query'
import { useProject } from '../../state/project.tsx'
import { type ApiError, type CallMethod, call } from '../calls/call.ts'
import { queryClient } from '../calls/client.ts'
import { type ItemPages, useItemPages } from '../calls/pages.ts'
import { useSettled } from '../definitions.ts'
import type { ShownFlag } from '../types/shown-flag.ts'

/** The flags that the list shows; archived ones only when they are asked for. */
export type FlagsShown = '' | 'on' | 'off' | 'archived'

const SHOWN_QUERIES: Readonly<Record<FlagsShown, Readonly<Record<string, string>>>> = {
  '': {},
  on: { active: 'true' },
  off: { active: 'false' },
  archived: { archived: 'true' },
}

/** Flags whose key or description contains a text, the newest first, page by page. */
export function useFlags(search: string, shown: FlagsShown): ItemPages<ShownFlag> {
  const query = { ...SHOWN_QUERIES[shown], search: useSettled(search) }
  return useItemPages<ShownFlag>({ family: 'flags', path: 'feature_flags/', query })
}

/** One flag by its id. */
export function useFlag(flag_id: string): UseQueryResult<ShownFlag, ApiError> {
  const { id } = useProject()
  return useQuery<ShownFlag, ApiError>(flagQuery(id, flag_id))
}

/** The flag as it is stored now; its page shows it too. Throws ApiError. */
export const readFlag = (project_id: number, flag_id: number): Promise<ShownFlag> =>
  queryClient.fetchQuery({ ...flagQuery(project_id, String(flag_id)), staleTime: 0 })

function flagQuery(project_id: number, flag_id: string) {
  const path = `/api/projects/${project_id}/feature_flags/${encodeURIComponent(flag_id)}/`
  return queryOptions<ShownFlag, ApiError>({
    queryKey: ['flags', project_id, flag_id],
    queryFn: ({ signal }) => call<ShownFlag>('GET', path, { signal }),
  })
}

/** Creates or changes a flag, and asks again for the flags that are shown. Throws ApiError. */
export async function changeFlag(
  project_id: number,
  flag_id: number | null,
  body: object,
): Promise<ShownFlag> {
  const [method, path]: readonly [CallMethod, string] =
    flag_id === null ? ['POST', ''] : ['PATCH', `${flag_id}/`]
  const at = `/api/projects/${project_id}/feature_flags/${path}`
  const flag = await call<ShownFlag>(method, at, { body }).catch((error: unknown) => {
    // The switch shows what was not stored.
    void queryClient.invalidateQueries({ queryKey: ['flags', project_id] })
    throw error
  })
  queryClient.setQueryData(['flags', project_id, String(flag.id)], flag)
  await queryClient.invalidateQueries({ queryKey: ['flags', project_id, 'list'] })
  return flag
}

/** The persons or groups that match a condition, before its rollout. */
type FlagReach = { readonly affected: number; readonly total: number }

/** Counts the persons, or the groups of a type, that match all properties. */
export function useReach(
  properties: readonly unknown[],
  group_type_index: number | null,
): UseQueryResult<FlagReach, ApiError> {
  const { id } = useProject()
  const body = { condition: { properties }, group_type_index }
  return useQuery<FlagReach, ApiError>({
    queryKey: ['flag-reach', id, JSON.stringify(body)],
    queryFn: ({ signal }) =>
      call('POST', `/api/projects/${id}/feature_flags/user_blast_radius/`, { body, signal }),
    placeholderData: keepPreviousData,
  })
}

/** The value of a flag for one person, and the outcome of each condition. */
export type FlagTrial = {
  readonly result: boolean | string
  readonly reason_description: string | null
  readonly payload: unknown
  readonly conditions: readonly {
    readonly index: number
    readonly matched: boolean
    readonly explanation: string
    readonly properties: readonly {
      readonly key: string
      readonly matched: boolean
      readonly actual_value: unknown
      readonly explanation: string
    }[]
  }[]
}

/** The person, or the member of a group, that a flag is tried for. */
type TrialSubject = {
  readonly distinct_id: string
  readonly groups?: Readonly<Record<string, string>>
}

/** Evaluates the stored flag for a person. Throws ApiError. */
export const tryFlag = (
  project_id: number,
  flag_id: number,
  subject: TrialSubject,
): Promise<FlagTrial> =>
  call('POST', `/api/projects/${project_id}/feature_flags/${flag_id}/test_evaluation/`, {
    body: subject,
  })
