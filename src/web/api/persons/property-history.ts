/** Changes of a property of a person or a group: by which events, by whom; and one more. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useProject } from '../../state/project.tsx'
import { ask } from '../calls/ask.ts'
import { type ApiError, call } from '../calls/call.ts'
import { queryClient } from '../calls/client.ts'

/** One change of a property. */
export type PropertyChange = {
  readonly how: 'set' | 'set_once' | 'unset'
  /** The value as JSON; '' where the property was taken away. */
  readonly value: string
  readonly timestamp: string
  readonly event: string
  /** Of the member who changed it on the holder's page, or by the API; null for an event that was sent. */
  readonly author: string | null
}

/** The newest changes; those before are left out. */
export const CHANGES_MAX = 20

/** The person or the group that has a property. */
export type PropertyHolder =
  | { readonly kind: 'person'; readonly uuid: string }
  | {
      readonly kind: 'group'
      readonly group_type_index: number
      readonly group_type: string
      readonly group_key: string
    }

/** Of the parts of the JSON the first one that names the property decides, as when events are taken in. */
const SELECT_CHANGES = {
  person: `select
  timestamp,
  event,
  multiIf(
    has(JSONExtractArrayRaw(properties, '$unset'), {key_json}) or JSONHas(properties, '$unset', {key}), 'unset',
    JSONHas(properties, '$set', {key}), 'set',
    JSONHas(properties, '$set_once', {key}), 'set_once',
    ''
  ) as how,
  multiIf(
    how = 'set', JSONExtractRaw(properties, '$set', {key}),
    how = 'set_once', JSONExtractRaw(properties, '$set_once', {key}),
    ''
  ) as value
from events
where person_id = toUUID({person}) and how != ''
order by timestamp desc
limit ${CHANGES_MAX}`,
  group: `select
  timestamp,
  event,
  multiIf(
    event != '$delete_group_property', if(JSONHas(properties, '$group_set', {key}), 'set', ''),
    has(JSONExtractArrayRaw(properties, '$group_unset'), {key_json}), 'unset',
    ''
  ) as how,
  if(how = 'set', JSONExtractRaw(properties, '$group_set', {key}), '') as value
from events
where event in ('$groupidentify', '$group_identify', '$delete_group_property')
  and toString(properties.$group_type) = {group_type}
  and toString(properties.$group_key) = {group_key}
  and how != ''
order by timestamp desc
limit ${CHANGES_MAX}`,
} as const

type ActivityPage = {
  readonly results: readonly {
    readonly created_at: string
    readonly user: { readonly email: string } | null
    readonly detail: { readonly changes: readonly { readonly field: string }[] | null }
  }[]
}

/** Entries of the activity log that are looked at for names. */
const ENTRIES_MAX = 100
/** Between the event of a change by hand, and its entry in the log. */
const APART_MS = 5000

/** The changes of a property, the newest first. */
export function usePropertyHistory(
  holder: PropertyHolder,
  key: string,
): UseQueryResult<readonly PropertyChange[], ApiError> {
  const { id } = useProject()
  return useQuery<readonly PropertyChange[], ApiError>({
    queryKey: [LISTS[holder.kind], id, 'property-history', holder, key],
    queryFn: async ({ signal }) => {
      const values = { key, key_json: JSON.stringify(key), ...namesOf(holder) }
      const query = { kind: 'HogQLQuery', query: SELECT_CHANGES[holder.kind], values } as const
      const [{ results }, authors] = await Promise.all([
        ask(id, query, { is_forced: true, signal }),
        readAuthors(id, { holder, key }, signal),
      ])
      const rows = rowsOf(results)
      const emails = new Map(
        authors.map(({ email, at_ms }) => [
          rows.find(([timestamp]) => isBefore(timestamp, at_ms)),
          email,
        ]),
      )
      return rows.map((row) => {
        const [timestamp, event, how, value] = row
        const author = emails.get(row) ?? null
        return { how: how as PropertyChange['how'], value, timestamp, event, author }
      })
    },
  })
}

/** The paths of the API below a project, and the first words of the keys under which the interface keeps their answers. */
const LISTS = { person: 'persons', group: 'groups' } as const

function namesOf(holder: PropertyHolder): Readonly<Record<string, string>> {
  return holder.kind === 'person'
    ? { person: holder.uuid }
    : { group_type: holder.group_type, group_key: holder.group_key }
}

type HolderCall = {
  readonly path: string
  readonly query: Readonly<Record<string, number | string>>
}

/** A call about a person or a group: persons are named by the path, groups by the query string. */
function callOf(project_id: number, holder: PropertyHolder, call_name: string): HolderCall {
  const list = `/api/projects/${project_id}/${LISTS[holder.kind]}`
  if (holder.kind === 'person') {
    return { path: `${list}/${encodeURIComponent(holder.uuid)}/${call_name}/`, query: {} }
  }
  const { group_type_index, group_key } = holder
  return { path: `${list}/${call_name}/`, query: { group_type_index, group_key } }
}

/** Sets or takes a property, and fetches its holder again. */
export async function changeProperty(
  project_id: number,
  holder: PropertyHolder,
  [call_name, body]: readonly [call_name: 'delete_property' | 'update_property', body: object],
): Promise<void> {
  const { path, query } = callOf(project_id, holder, call_name)
  await call('POST', path, { query, body })
  await queryClient.invalidateQueries({ queryKey: [LISTS[holder.kind], project_id] })
}

/** A change by hand is sent as an event, then entered into the log: the newest event before an entry is the entry's. */
function isBefore(timestamp: string, at_ms: number): boolean {
  const event_ms = Date.parse(timestamp)
  return event_ms <= at_ms && at_ms - event_ms < APART_MS
}

const rowsOf = (results: unknown): readonly (readonly [string, string, string, string])[] =>
  Array.isArray(results) ? results : []

type Author = { readonly email: string; readonly at_ms: number }

/** Reads the changes of the property by hand, with user and time; empty for a member who may not read the activity log. */
async function readAuthors(
  project_id: number,
  { holder, key }: { readonly holder: PropertyHolder; readonly key: string },
  signal: AbortSignal,
): Promise<readonly Author[]> {
  const { path, query } = callOf(project_id, holder, 'activity')
  try {
    const { results } = await call<ActivityPage>('GET', path, {
      query: { ...query, limit: ENTRIES_MAX },
      signal,
    })
    return results.flatMap(({ created_at, user, detail }) =>
      user !== null && detail.changes?.some(({ field }) => field === key) === true
        ? [{ email: user.email, at_ms: Date.parse(created_at) }]
        : [],
    )
  } catch {
    return []
  }
}
