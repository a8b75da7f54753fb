/** Groups: companies, teams and whatever else persons belong to. */
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
import type { FlagReason } from './persons.ts'

export type GroupListed = {
  readonly group_type_index: number
  readonly group_key: string
  readonly group_properties: Readonly<Record<string, unknown>>
  readonly created_at: string
}

type GroupListPage = { readonly next: string | null; readonly results: readonly GroupListed[] }

const PAGE_SIZE = 100

/** The groups of a type with a text in their key or properties, for which all filters hold, page by page. */
export function useGroups(
  group_type_index: number,
  search: string,
  filters: readonly PropertyCondition[],
): UseInfiniteQueryResult<InfiniteData<GroupListPage>, ApiError> {
  const { id } = useProject()
  const settled = useSettled(search)
  const properties = filters.length === 0 ? null : JSON.stringify(filters)
  return useInfiniteQuery({
    queryKey: ['groups', id, group_type_index, settled, properties],
    queryFn: ({ pageParam, signal }) => {
      const page = { limit: PAGE_SIZE, offset: pageParam }
      const query = { group_type_index, search: settled, properties, ...page }
      return call<GroupListPage>('GET', `/api/projects/${id}/groups/`, { query, signal })
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }, pages) => (next === null ? null : pages.length * PAGE_SIZE),
  })
}

/** One group. */
export function useGroup(
  group_type_index: number,
  group_key: string,
): UseQueryResult<GroupListed, ApiError> {
  const { id } = useProject()
  return useQuery<GroupListed, ApiError>({
    queryKey: ['groups', id, 'one', group_type_index, group_key],
    queryFn: ({ signal }) => {
      const query = { group_type_index, group_key }
      return call('GET', `/api/projects/${id}/groups/find/`, { query, signal })
    },
  })
}

/**
 * Deletes a group. Lists are asked for again when they are shown next: the page of the group, which is about to close,
 * would request the deleted group.
 */
export async function deleteGroup(
  project_id: number,
  { group_type_index, group_key }: GroupListed,
): Promise<void> {
  const query = { group_type_index, group_key }
  await call('DELETE', `/api/projects/${project_id}/groups/find/`, { query })
  await queryClient.invalidateQueries({ queryKey: ['groups', project_id], refetchType: 'none' })
}

/** A person, or a group of another type, that has events in common with a group. */
export type RelatedActor =
  | { readonly type: 'person'; readonly uuid: string; readonly name: string }
  | {
      readonly type: 'group'
      readonly group_type_index: number
      readonly group_key: string
      readonly properties: Readonly<Record<string, unknown>>
    }

/** Persons and groups that had events together with a group. */
export function useRelated(
  group_type_index: number,
  group_key: string,
): UseQueryResult<readonly RelatedActor[], ApiError> {
  const { id } = useProject()
  return useQuery<readonly RelatedActor[], ApiError>({
    queryKey: ['groups', id, 'related', group_type_index, group_key],
    queryFn: ({ signal }) => {
      const query = { group_type_index, id: group_key }
      return call('GET', `/api/projects/${id}/groups/related/`, { query, signal })
    },
  })
}

type FlagPage = {
  readonly results: readonly {
    readonly key: string
    readonly filters: { readonly aggregation_group_type_index?: number | null }
  }[]
}

const FLAGS_MAX = 1000

/** The values, with reasons, of the flags that are decided by groups of the type. */
export function useGroupFlags(
  group_type_index: number,
  group_type: string,
  group_key: string,
): UseQueryResult<Readonly<Record<string, FlagReason>>, ApiError> {
  const { id } = useProject()
  return useQuery<Readonly<Record<string, FlagReason>>, ApiError>({
    queryKey: ['groups', id, 'flags', group_type_index, group_type, group_key],
    queryFn: async ({ signal }) => {
      const path = `/api/projects/${id}/feature_flags/`
      const groups = JSON.stringify({ [group_type]: group_key })
      // Flags of groups ask nothing about the person, but a call names one.
      const asked = { distinct_id: group_key, groups }
      const [flags, reasons] = await Promise.all([
        call<FlagPage>('GET', path, { query: { limit: FLAGS_MAX }, signal }),
        call<Readonly<Record<string, FlagReason>>>('GET', `${path}evaluation_reasons/`, {
          query: asked,
          signal,
        }),
      ])
      const own = flags.results
        .filter(({ filters }) => filters.aggregation_group_type_index === group_type_index)
        .map(({ key }) => key)
      return Object.fromEntries(
        own.flatMap((key) => {
          const reason = reasons[key]
          return reason === undefined ? [] : [[key, reason]]
        }),
      )
    },
  })
}

/** The address of a group's page. */
export const groupAddress = (group_type_index: number, group_key: string): string =>
  `/persons/group/${group_type_index}/${encodeURIComponent(group_key)}`

/** The name to show for a group: its property `name`, else its key. */
export function nameOfGroup(
  group_key: string,
  properties: Readonly<Record<string, unknown>>,
): string {
  const name = properties['name']
  return typeof name === 'string' && name !== '' ? name : group_key
}
