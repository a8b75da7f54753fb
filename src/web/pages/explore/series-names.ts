/** The names of a query's series, as charts, tables and new insights show them. */
import { eventTitle } from '../../parts/names.ts'
import { mathText, mathValue } from './editor/maths.ts'
import { type SeriesNode, seriesName } from './explore-query.ts'

/**
 * Series that are not counted by their events say how, and so do series of the same events; those that count alike have
 * their letter in the editor: page views and their persons → `Page view (total count)`, `Page view (unique persons)`.
 */
export function seriesNames(series: readonly SeriesNode[]): readonly string[] {
  const events = series.map((node) => {
    const name = seriesName(node)
    return eventTitle(name === 'All events' ? null : name)
  })
  const counted = series.map((node, at) =>
    isRepeated(events, at) || hasMeasure(node)
      ? `${events[at]} (${mathText(node)})`
      : (events[at] ?? ''),
  )
  return counted.map((name, at) =>
    isRepeated(counted, at) ? `${String.fromCodePoint(65 + at)}: ${events[at]}` : name,
  )
}

/** Whether it counts something other than its events, and has no name of its own that says what. */
const hasMeasure = (node: SeriesNode): boolean => mathValue(node) !== 'total' && !node.custom_name

function isRepeated(names: readonly string[], at: number): boolean {
  return names.indexOf(names[at] ?? '') !== at || names.lastIndexOf(names[at] ?? '') !== at
}
