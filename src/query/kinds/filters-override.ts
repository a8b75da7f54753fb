/** OVERRIDES: applies a dashboard's filters to an insight query, by the members that the query's kind has. */

import type { FiltersOverride } from '../../contract/analytics/query.ts'
import { INSIGHT_QUERIES } from '../../contract/insights/kinds.ts'
import { isObject } from '../../json.ts'

type OverriddenQuery = Readonly<Record<string, unknown>>

/**
 * Applies a dashboard's filters: its date range replaces the query's as a whole, its properties are added, its
 * breakdown replaces the query's. With a `source`, the filters apply to that. Kinds without such a member, HogQL among
 * them, are returned unchanged. Call it before the shape of the query is checked.
 */
export function overrideFilters(
  query: object,
  filters: FiltersOverride | null | undefined,
): object {
  if (filters === null || filters === undefined) return query
  const { kind, source, ...members }: OverriddenQuery = { ...query }
  if (isObject(source)) return { ...query, source: overrideFilters(source, filters) }
  const member_names = membersOf(kind)
  const changes = OVERRIDES.filter(({ of }) => member_names.has(of)).flatMap(({ of, change }) => {
    const changed = change(filters, members)
    return changed === undefined ? [] : [[of, changed]]
  })
  return { ...query, ...Object.fromEntries(changes) }
}

type FilterOverride = {
  /** The member that this override changes. */
  readonly of: string
  /** The member's new value; undefined leaves it unchanged. */
  readonly change: (filters: FiltersOverride, members: OverriddenQuery) => unknown
}

/** One line per member. Some kinds have `after` and `before` instead of a date range. */
const OVERRIDES: readonly FilterOverride[] = [
  {
    of: 'dateRange',
    change: (filters) => {
      if (!hasRange(filters)) return undefined
      const { date_from = null, date_to = null, explicitDate = null } = filters
      return { date_from, date_to, ...(explicitDate === null ? {} : { explicitDate }) }
    },
  },
  {
    of: 'after',
    change: (filters) => (hasRange(filters) ? (filters.date_from ?? 'all') : undefined),
  },
  { of: 'before', change: (filters) => (hasRange(filters) ? filters.date_to : undefined) },
  {
    of: 'properties',
    change: ({ properties }, members) => andFilters(members['properties'], properties),
  },
  {
    of: 'breakdownFilter',
    change: ({ breakdown_filter, breakdown }) => breakdown_filter ?? breakdown ?? undefined,
  },
]

const hasRange = ({ date_from, date_to }: FiltersOverride): boolean =>
  Boolean(date_from) || Boolean(date_to)

/** Combines two filters with AND; two lists become one list. */
function andFilters(query_filters: unknown, added: FiltersOverride['properties']): unknown {
  if (added === null || added === undefined) return undefined
  if (query_filters === null || query_filters === undefined) return added
  if (Array.isArray(query_filters) && Array.isArray(added)) return [...query_filters, ...added]
  return { type: 'AND', values: [asGroup(query_filters), asGroup(added)] }
}

const asGroup = (filters: unknown): unknown =>
  Array.isArray(filters) ? { type: 'AND', values: filters } : filters

const NO_MEMBERS: ReadonlySet<string> = new Set()

/** The members that queries of a kind may have; none for kinds without a time range, such as the look-up of one person. */
function membersOf(kind: unknown): ReadonlySet<string> {
  const entry = Object.entries(INSIGHT_QUERIES).find(([name]) => name === kind)
  if (entry === undefined) return NO_MEMBERS
  const members = new Set(Object.keys(entry[1].properties))
  return members.has('dateRange') || members.has('after') ? members : NO_MEMBERS
}
