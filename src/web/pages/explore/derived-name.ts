/** The name of an insight that has none. */
import { eventTitle } from '../../parts/names.ts'
import { EXPLORE_KINDS, type ExploreQuery, nodeOf, seriesName } from './explore-query.ts'
import { seriesNames } from './series-names.ts'

/** `Trends of $pageview`, for insights without a name. */
export function derivedName(query: ExploreQuery): string {
  const { kind, series = [], retentionFilter } = query
  const text = EXPLORE_KINDS.find((one) => one.kind === kind)?.text ?? ''
  const nodes = kind === 'RetentionQuery' ? [nodeOf(retentionFilter?.['targetEntity'])] : series
  const names =
    kind === 'TrendsQuery' ? seriesNames(nodes) : nodes.map((node) => eventTitle(seriesName(node)))
  return names.length === 0
    ? text
    : `${text}: ${names.slice(0, 3).join(kind === 'FunnelsQuery' ? ' → ' : ', ')}`
}
