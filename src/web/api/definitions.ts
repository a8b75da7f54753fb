/** Calls that list the names of a project: events, properties and their values, group types, cohorts. */
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useEffect, useState } from 'preact/hooks'
import type { PropertyOwner } from '../parts/filters/conditions.ts'
import { useProject } from '../state/project.tsx'
import { type ApiError, call } from './calls/call.ts'

type EventName = { readonly name: string; readonly description: string | null }

export type PropertyName = {
  readonly name: string
  /** `String`, `Numeric`, `Boolean`, `DateTime`; null while no value was seen. */
  readonly property_type: string | null
  readonly is_seen_on_filtered_events?: boolean | null
}

export type ListedGroupType = { readonly group_type: string; readonly group_type_index: number }
type CohortName = {
  readonly id: number
  readonly name: string
  readonly count: number | null
}

type ListOf<Item> = { readonly count?: number; readonly results: readonly Item[] }

const NAMES_MAX = 200
const PAUSE_MS = 200

/** The value as it was when typing last paused. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

type ListRequest = {
  /** Below the project's address: `event_definitions/`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | null | undefined>>
  readonly is_wanted?: boolean
}

function useList<Answer>({
  path,
  query = {},
  is_wanted = true,
}: ListRequest): UseQueryResult<Answer, ApiError> {
  const { id } = useProject()
  return useQuery<Answer, ApiError>({
    queryKey: [path, id, query],
    queryFn: ({ signal }) => call<Answer>('GET', `/api/projects/${id}/${path}`, { query, signal }),
    enabled: is_wanted,
    placeholderData: keepPreviousData,
  })
}

/**
 * A list of names. Only one that is longer than 200 is searched in the server: the others are filtered where they are
 * shown, by their readable names too.
 */
function useNames<Item>(
  request: ListRequest,
  search: string,
): UseQueryResult<ListOf<Item>, ApiError> {
  const { query, is_wanted = true } = request
  const settled = useSettled(search)
  const all = useList<ListOf<Item>>({ ...request, query: { ...query, limit: NAMES_MAX } })
  const is_searched = settled !== '' && (all.data?.results.length ?? 0) >= NAMES_MAX
  const found = useList<ListOf<Item>>({
    ...request,
    query: { ...query, limit: NAMES_MAX, search: settled },
    is_wanted: is_wanted && is_searched,
  })
  return is_searched ? found : all
}

/** Names of events: all, or, where there are more than 200, those that contain a text. */
export function useEventNames(search: string): UseQueryResult<ListOf<EventName>, ApiError> {
  return useNames({ path: 'event_definitions/', query: { exclude_hidden: 'true' } }, search)
}

type PropertyNamesRequest = {
  readonly owner: PropertyOwner
  readonly group_type_index?: number
  readonly search?: string
  /** Properties seen on these events come first. */
  readonly event_names?: readonly string[]
  readonly is_wanted?: boolean
}

/** Names of properties: all, or, where there are more than 200, those that contain a text. Sessions have a fixed list. */
export function usePropertyNames(
  request: PropertyNamesRequest,
): UseQueryResult<ListOf<PropertyName>, ApiError> {
  const { owner, group_type_index, search = '', event_names = [], is_wanted = true } = request
  const has_events = owner === 'event' && event_names.length > 0
  const query = {
    type: owner,
    group_type_index: owner === 'group' ? group_type_index : null,
    event_names: has_events ? JSON.stringify(event_names) : null,
    exclude_hidden: 'true',
  }
  const is_asked = is_wanted && owner !== 'session'
  return useNames({ path: 'property_definitions/', query, is_wanted: is_asked }, search)
}

type CountedValue = { readonly name: unknown; readonly count: number }

/** The most frequent values of a property that contain a text, at most twenty. */
export function usePropertyValues(
  {
    owner,
    group_type_index,
  }: { readonly owner: PropertyOwner; readonly group_type_index?: number },
  key: string,
  search: string,
): UseQueryResult<readonly CountedValue[], ApiError> {
  const path = VALUE_PATHS[owner]
  const query = {
    key,
    value: useSettled(search),
    group_type_index: owner === 'group' ? (group_type_index ?? 0) : null,
  }
  return useList({ path: path ?? '', query, is_wanted: path !== null && key !== '' })
}

const VALUE_PATHS: Readonly<Record<PropertyOwner, string | null>> = {
  event: 'events/values/',
  person: 'persons/values/',
  group: 'groups/property_values/',
  session: null,
}

/** The project's group types, at most five. */
export function useGroupTypes(): UseQueryResult<readonly ListedGroupType[], ApiError> {
  return useList({ path: 'groups_types/' })
}

/** The project's cohorts. */
export function useCohorts(is_wanted: boolean): UseQueryResult<ListOf<CohortName>, ApiError> {
  return useList({ path: 'cohorts/', query: { limit: NAMES_MAX }, is_wanted })
}
