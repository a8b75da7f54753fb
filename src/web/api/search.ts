/** Finds stored things by name: insights, boards, flags, experiments, cohorts, surveys, actions, persons, events. */
import { keepPreviousData, useQuery } from '@tanstack/preact-query'
import type { ComboOption } from '../parts/fields/combobox.tsx'
import type { IconName } from '../parts/icon.tsx'
import { eventTitle } from '../parts/names.ts'
import { useProject } from '../state/project.tsx'
import { ApiError, type CallOptions, call } from './calls/call.ts'
import { useSettled } from './definitions.ts'

/** A thing that was found, and its address within the project. */
type FoundThing = ComboOption & { readonly href: string }

type Fields = Readonly<Record<string, unknown>>

type SearchFamily = {
  /** The page that shows a thing. */
  readonly page: string
  readonly path: string
  readonly group: string
  readonly icon: IconName
  readonly read: (item: Fields) => {
    readonly id: unknown
    readonly text: unknown
    readonly hint?: unknown
  }
  /** Its address, where that is not `/page/id`. */
  readonly href?: (id: string) => string
}

/** SEARCH_FAMILIES: the families of objects that the palette searches. Adding a line searches another family. */
const SEARCH_FAMILIES: readonly SearchFamily[] = [
  {
    page: 'insights',
    path: 'insights/',
    group: 'Insights',
    icon: 'explore',
    read: (item) => ({
      id: item['short_id'],
      text: item['name'] || item['derived_name'] || 'Unnamed insight',
    }),
  },
  {
    page: 'boards',
    path: 'dashboards/',
    group: 'Boards',
    icon: 'boards',
    read: ({ id, name }) => ({ id, text: name }),
  },
  {
    page: 'flags',
    path: 'feature_flags/',
    group: 'Flags',
    icon: 'flags',
    read: ({ id, key, name }) => ({ id, text: key, hint: name }),
  },
  {
    page: 'experiments',
    path: 'experiments/',
    group: 'Experiments',
    icon: 'experiments',
    read: ({ id, name, feature_flag_key }) => ({ id, text: name, hint: feature_flag_key }),
  },
  {
    page: 'cohorts',
    path: 'cohorts/',
    group: 'Cohorts',
    icon: 'cohorts',
    read: ({ id, name }) => ({ id, text: name }),
  },
  {
    page: 'surveys',
    path: 'surveys/',
    group: 'Surveys',
    icon: 'surveys',
    read: ({ id, name }) => ({ id, text: name }),
  },
  {
    page: 'data/actions',
    path: 'actions/',
    group: 'Actions',
    icon: 'data',
    read: ({ id, name }) => ({ id, text: name }),
  },
  {
    page: 'persons',
    path: 'persons/',
    group: 'Persons',
    icon: 'persons',
    read: ({ uuid, id, name }) => ({ id: uuid ?? id, text: name }),
  },
  {
    page: 'events',
    path: 'event_definitions/',
    group: 'Events',
    icon: 'events',
    read: ({ name }) => {
      const text = eventTitle(String(name))
      return { id: name, text, ...(text !== name && { hint: name }) }
    },
    href: (name) => `/events?event=${encodeURIComponent(name)}`,
  },
]

const SHOWN_MAX = 5
/** One letter would find nearly everything. */
const LETTERS_MIN = 2

type FoundThings = {
  readonly things: readonly FoundThing[]
  /** The groups of the families whose search failed. */
  readonly failed: readonly string[]
}

type SearchOutcome = FoundThings & { readonly is_loading: boolean }

const NOTHING: FoundThings = { things: [], failed: [] }

/** Searches all families; what they find comes at once, so that no choice moves under the pointer. */
export function useSearchAll(search: string): SearchOutcome {
  const { id } = useProject()
  const text = useSettled(search.trim())
  const { data, isFetching } = useQuery({
    queryKey: ['search', id, text],
    queryFn: async ({ signal }) => {
      const query = { search: text, limit: SHOWN_MAX }
      const found = SEARCH_FAMILIES.map((family) => searchFamily(family, id, { query, signal }))
      const outcomes = await Promise.all(found)
      return {
        things: outcomes.flatMap(({ things }) => things),
        failed: outcomes.flatMap(({ failed }) => failed),
      }
    },
    enabled: text.length >= LETTERS_MIN,
    placeholderData: keepPreviousData,
  })
  const is_long_enough = search.trim().length >= LETTERS_MIN
  return { ...(is_long_enough && data ? data : NOTHING), is_loading: is_long_enough && isFetching }
}

/** The things of one family; none of one that the user may not see. One that fails leaves those of the others. */
async function searchFamily(
  family: SearchFamily,
  project: number,
  options: CallOptions,
): Promise<FoundThings> {
  try {
    const path = `/api/projects/${project}/${family.path}`
    const { results } = await call<{ readonly results: readonly Fields[] }>('GET', path, options)
    return { things: results.slice(0, SHOWN_MAX).map((item) => thingOf(family, item)), failed: [] }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.status === 403 ? NOTHING : { things: [], failed: [family.group] }
  }
}

function thingOf({ page, group, icon, read, href }: SearchFamily, item: Fields): FoundThing {
  const { id, text, hint } = read(item)
  return {
    value: `${page}:${String(id)}`,
    text: String(text),
    icon,
    group,
    href: href?.(String(id)) ?? `/${page}/${encodeURIComponent(String(id))}`,
    ...(typeof hint === 'string' && hint !== '' && { hint }),
  }
}
