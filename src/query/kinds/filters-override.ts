/** What a dashboard puts over its queries about behaviour: the same for every kind, by the members its shape has. */

import type { FiltersOverride } from '../../contract/analytics/query.ts'
import { INSIGHT_QUERIES } from '../../contract/insights/kinds.ts'

type OverriddenQuery = Readonly<Record<string, unknown>>

/**
 * The query as the dashboard wants it: its range replaces the query's as a whole, its properties are added to those
 * of the query, its breakdown replaces the query's. A query about another one hands all of it on to that. Kinds
 * that have no such member, HogQL among them, stay as they are. To be called before the shape of a query is checked.
 */
export function overrideFilters(
  query: object,
  filters: FiltersOverride | null | undefined,
): object {
  if (filters === null || filters === undefined) return query
  const { kind, source, ...members }: OverriddenQuery = { ...query }
  if (isObject(source)) return { ...query, source: overrideFilters(source, filters) }
  const known = membersOf(kind)
  const changes = OVERRIDES.filter(({ of }) => known.has(of)).flatMap(({ of, change }) => {
    const changed = change(filters, members)
    return changed === undefined ? [] : [[of, changed]]
  })
  return { ...query, ...Object.fromEntries(changes) }
}

type FilterOverride = {
  /** The member that it changes. */
  readonly of: string
  /** What the member becomes; undefined when the dashboard says nothing about it. */
  readonly change: (filters: FiltersOverride, members: OverriddenQuery) => unknown
}

/** What of a dashboard goes where. Queries without a range of dates have two ends instead. */
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
    change: ({ properties }, members) => both(members['properties'], properties),
  },
  {
    of: 'breakdownFilter',
    change: ({ breakdown_filter, breakdown }) => breakdown_filter ?? breakdown ?? undefined,
  },
]

const hasRange = ({ date_from, date_to }: FiltersOverride): boolean =>
  Boolean(date_from) || Boolean(date_to)

/** All of both; lists stay lists as long as they can. */
function both(own: unknown, added: FiltersOverride['properties']): unknown {
  if (added === null || added === undefined) return undefined
  if (own === null || own === undefined) return added
  if (Array.isArray(own) && Array.isArray(added)) return [...own, ...added]
  return { type: 'AND', values: [asGroup(own), asGroup(added)] }
}

const asGroup = (filters: unknown): unknown =>
  Array.isArray(filters) ? { type: 'AND', values: filters } : filters

const NO_MEMBERS: ReadonlySet<string> = new Set()

/** The members that queries of a kind may have; what a person is found by is not the dashboard's. */
function membersOf(kind: unknown): ReadonlySet<string> {
  const entry = Object.entries(INSIGHT_QUERIES).find(([name]) => name === kind)
  if (entry === undefined) return NO_MEMBERS
  const members = new Set(Object.keys(entry[1].properties))
  return members.has('dateRange') || members.has('after') ? members : NO_MEMBERS
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
