/** The names of a funnel's own events: they tell nothing about who comes through it. */
import type { Funnel } from '../funnels/definition.ts'
import { getAction } from '../series.ts'

/** Events that the steps name, also through their actions. */
export function stepEvents({ question, context }: Funnel): readonly string[] {
  const single = question.series.flatMap((series) =>
    series.kind === 'GroupNode' ? series.nodes : [series],
  )
  const names = single.flatMap((series, index) => {
    if (series.kind === 'EventsNode') return series.event ? [series.event] : []
    const { steps } = getAction(series.id, context, `query__series__${index}`)
    return steps.flatMap(({ event }) => event ?? [])
  })
  return [...new Set(names)].toSorted((a, b) => (a < b ? -1 : 1))
}
