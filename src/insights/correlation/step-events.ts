/** The event names of a funnel's steps; correlations exclude them. */
import type { Series } from '../../contract/insights/parts.ts'
import type { Funnel } from '../funnels/definition.ts'
import type { InsightContext } from '../insight.ts'
import { stepsOf } from '../members/actions.ts'
import { findAction } from '../members/series.ts'

/** Event names of the steps and of their actions. */
export function stepEvents({ query, context }: Funnel): readonly string[] {
  const names = query.series.flatMap((series) => eventsOfSeries(series, context))
  return [...new Set(names)].toSorted((a, b) => (a < b ? -1 : 1))
}

function eventsOfSeries(series: Series, context: InsightContext): readonly string[] {
  switch (series.kind) {
    case 'EventsNode':
      return series.event ? [series.event] : []
    case 'ActionsNode':
      const action = findAction(series.id, context)
      return action === null ? [] : stepsOf(action).flatMap(({ event }) => event ?? [])
    case 'GroupNode':
      return series.nodes.flatMap((node) => eventsOfSeries(node, context))
  }
}
