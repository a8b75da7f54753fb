/** Finds stored things by name: insights, boards, flags, persons, events. */
import { keepPreviousData, useQueries } from '@tanstack/preact-query'
import { PROJECT_PAGES } from '../pages.ts'
import type { ComboOption } from '../parts/fields/combobox.tsx'
import type { IconName } from '../parts/icon.tsx'
import { eventTitle } from '../parts/names.ts'
import { useProject } from '../state/project.tsx'
import { call } from './calls/call.ts'
import { useSettled } from './definitions.ts'

/** A thing that was found, and its address within the project. */
type FoundThing = ComboOption & { readonly href: string }

type Fields = Readonly<Record<string, unknown>>

type SearchFamily = {
  /** The page that shows a thing; families without their page are not searched. */
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
    read: ({ name }) => ({ id: name, text: eventTitle(String(name)), hint: name }),
    href: (name) => `/events?event=${encodeURIComponent(name)}`,
  },
]

const SHOWN_MAX = 5
/** One letter would find nearly everything. */
const LETTERS_MIN = 2

type SearchOutcome = { readonly things: readonly FoundThing[]; readonly is_loading: boolean }

/** Searches all families that have a page; a family that the user may not see is left out. */
export function useSearchAll(search: string): SearchOutcome {
  const { id } = useProject()
  const text = useSettled(search.trim())
  const families = SEARCH_FAMILIES.filter(({ page }) =>
    PROJECT_PAGES.some(({ folder }) => folder === page),
  )
  const answers = useQueries({
    queries: families.map(({ path }) => ({
      queryKey: ['search', id, path, text],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        call<{ readonly results: readonly Fields[] }>('GET', `/api/projects/${id}/${path}`, {
          query: { search: text, limit: SHOWN_MAX },
          signal,
        }),
      enabled: text.length >= LETTERS_MIN,
      placeholderData: keepPreviousData,
    })),
  })
  if (search.trim().length < LETTERS_MIN) return { things: [], is_loading: false }
  const things = families.flatMap((family, index) =>
    (answers[index]?.data?.results ?? []).slice(0, SHOWN_MAX).map((item) => thingOf(family, item)),
  )
  return { things, is_loading: answers.some(({ isFetching }) => isFetching) }
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
