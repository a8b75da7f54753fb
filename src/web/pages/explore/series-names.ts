/** The names of a query's series, as charts, tables and new insights show them. */
import { eventTitle } from '../../parts/names.ts'
import { mathText } from './editor/maths.ts'
import { type SeriesNode, seriesName } from './explore-query.ts'

/**
 * Series of the same events say how they are counted, and those that count alike have their letter in the editor:
 * page views and their persons → `Page view (total count)`, `Page view (unique persons)`.
 */
export function seriesNames(series: readonly SeriesNode[]): readonly string[] {
  const events = series.map((node) => {
    const name = seriesName(node)
    return eventTitle(name === 'All events' ? null : name)
  })
  const counted = series.map((node, at) =>
    isRepeated(events, at) ? `${events[at]} (${mathText(node)})` : (events[at] ?? ''),
  )
  return counted.map((name, at) =>
    isRepeated(counted, at) ? `${String.fromCodePoint(65 + at)}: ${events[at]}` : name,
  )
}

function isRepeated(names: readonly string[], at: number): boolean {
  return names.indexOf(names[at] ?? '') !== at || names.lastIndexOf(names[at] ?? '') !== at
}
