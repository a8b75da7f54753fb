/** Calls for definitions: the names of events and properties with their descriptions. */
import { queryOptions, type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useProject } from '../state/project.tsx'
import { useAnswer } from './calls/ask.ts'
import { type ApiError, call } from './calls/call.ts'
import { queryClient } from './calls/client.ts'
import { type ItemPages, useItemPages } from './calls/pages.ts'
import { useSettled } from './definitions.ts'
import type { DefinedEvent, DefinedProperty, ShownDefinition } from './types/shown-definition.ts'

/** The route of the definitions; the lists that pickers offer begin their keys with it too. */
export type DefinitionFamily = 'event_definitions/' | 'property_definitions/'

type DefinedEventsRequest = {
  readonly search: string
  /** All events, those of the project's own, those that SDKs send by themselves. */
  readonly event_type: '' | 'event_custom' | 'event_posthog'
  readonly ordering: '' | '-last_seen_at'
}

/** Events whose name contains all words of a text, by name or by when they were last seen. */
export function useEventDefinitions(request: DefinedEventsRequest): ItemPages<DefinedEvent> {
  const query = { ...request, search: useSettled(request.search) }
  return useItemPages({ family: 'event_definitions/', path: 'event_definitions/', query })
}

/** The owner of properties; `group` needs the index of the group type. */
export type DefinedOwner = {
  readonly type: 'event' | 'group' | 'person'
  readonly group_type_index: number | null
}

/** Properties of an owner whose name contains all words of a text, by name. */
export function usePropertyDefinitions(
  owner: DefinedOwner,
  search: string,
): ItemPages<DefinedProperty> {
  const query = { ...owner, search: useSettled(search) }
  return useItemPages({ family: 'property_definitions/', path: 'property_definitions/', query })
}

/** Properties that were seen on an event. */
export function usePropertiesOfEvent(event: string): ItemPages<DefinedProperty> {
  const query = { event_names: JSON.stringify([event]), filter_by_event_names: true }
  return useItemPages({ family: 'property_definitions/', path: 'property_definitions/', query })
}

/** One definition by its id. */
export function useDefinition<Definition extends ShownDefinition>(
  family: DefinitionFamily,
  definition_id: string,
): UseQueryResult<Definition, ApiError> {
  const { id } = useProject()
  return useQuery<Definition, ApiError>(definitionQuery(id, family, definition_id))
}

/** The definition as it is stored now; its page shows it too. Throws ApiError. */
export const readDefinition = (
  project_id: number,
  family: DefinitionFamily,
  definition_id: string,
): Promise<DefinedEvent | DefinedProperty> =>
  queryClient.fetchQuery({ ...definitionQuery(project_id, family, definition_id), staleTime: 0 })

function definitionQuery<Definition extends ShownDefinition>(
  project_id: number,
  family: DefinitionFamily,
  definition_id: string,
) {
  const path = `/api/projects/${project_id}/${family}${encodeURIComponent(definition_id)}/`
  const query = family === 'property_definitions/' ? { check_types: true } : {}
  return queryOptions<Definition, ApiError>({
    queryKey: [family, project_id, definition_id],
    queryFn: ({ signal }) => call<Definition>('GET', path, { query, signal }),
  })
}

/** Changes a definition, or takes it out of the lists until its name is seen again. Throws ApiError. */
export async function changeDefinition(
  project_id: number,
  family: DefinitionFamily,
  definition_id: string,
  body: object | 'remove',
): Promise<void> {
  const path = `/api/projects/${project_id}/${family}${definition_id}/`
  await (body === 'remove' ? call('DELETE', path) : call('PATCH', path, { body }))
  // A changed type changes what its check counts, and the names that filters offer.
  if (body === 'remove') {
    await queryClient.invalidateQueries({ queryKey: [family, project_id], refetchType: 'none' })
  } else {
    await queryClient.invalidateQueries({ queryKey: [family, project_id] })
    // Charts that were just seen read it by its new type.
    if ('property_type' in body) {
      void queryClient.invalidateQueries({ queryKey: ['query', project_id] })
    }
  }
}

/** Counts the events of a name in the last 30 days: null until that is known, and without the right to query. */
export function useEventCounts(): (name: string) => number | null {
  const { data } = useAnswer({ kind: 'HogQLQuery', query: COUNTS })
  const counts = new Map(data?.results.map(([event, count]) => [event, Number(count)]))
  // Rarer names than the first ten thousand are not counted.
  const others = data === undefined || counts.size >= COUNTED_MAX ? null : 0
  return (name) => counts.get(name) ?? others
}

const COUNTED_MAX = 10_000
const COUNTS = `select event, count() as n from events
where timestamp > now() - interval 30 day group by event order by n desc limit ${COUNTED_MAX}`
