/** Derives, from a number of a chart, the query for its actors, and the conditions that keep only the events that it counts. */
import type { AnyQuery } from '../../../api/calls/ask.ts'
import type { PropertyCondition } from '../../../parts/filters/conditions.ts'
import type { ExploreQuery } from '../explore-query.ts'
import { isEmptyValue, isOther } from './answers.ts'

/** The coordinates of a number of TrendsQuery, LifecycleQuery, StickinessQuery, RetentionQuery or PathsQuery. */
export function actorsSource(
  query: ExploreQuery,
  point: Readonly<Record<string, unknown>>,
): AnyQuery {
  const kind = query.kind === 'StickinessQuery' ? 'StickinessActorsQuery' : 'InsightActorsQuery'
  return { kind, source: query, ...point }
}

/** The coordinates of a number of a funnel: a positive step for those who got there, a negative one for those who did not. */
export function funnelActorsSource(
  query: ExploreQuery,
  point: Readonly<Record<string, unknown>>,
): AnyQuery {
  return { kind: 'FunnelsActorsQuery', source: query, ...point }
}

/** The conditions of one value of the query's breakdowns; none when no condition can express it. */
export function breakdownFilters(
  { breakdownFilter }: ExploreQuery,
  value: unknown,
): readonly PropertyCondition[] {
  const breakdowns = breakdownFilter?.breakdowns ?? []
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (value === undefined || isOther(value)) return []
  // An event does not have the bin or the address without its ids that the chart shows.
  if (breakdowns.some((one) => one.histogram_bin_count || one.normalize_url)) return []
  return breakdowns.flatMap(({ property, type, group_type_index }, index): PropertyCondition[] => {
    const one = values[index]
    if (type === 'cohort')
      return property === 'all'
        ? []
        : [{ type, key: 'id', operator: 'in', value: Number(property) }]
    const owner = OWNERS.find((known) => known === type)
    if (owner === undefined) return []
    const named = {
      type: owner,
      key: String(property),
      ...(typeof group_type_index === 'number' && { group_type_index }),
    }
    if (isEmptyValue(one)) return [{ ...named, operator: 'is_not_set' }]
    return [{ ...named, operator: 'exact', value: [String(one)] }]
  })
}

const OWNERS = ['event', 'person', 'group', 'session'] as const
