/** Funnel steps: how many actors take each, and how long they need. */
import type { Expr } from '../../hogql/syntax/ast.ts'
import { constant, integer } from '../../hogql/syntax/nodes.ts'
import { expr } from '../../hogql/template.ts'
import type { InsightAnswer, RunTree } from '../insight.ts'
import { scaleSample } from '../members/conditions.ts'
import { seriesEvent } from '../members/series.ts'
import { actorsTree } from './actors-tree.ts'
import type { Funnel } from './definition.ts'
import { type FunnelGroup, type GroupRanking, queryGroups } from './groups.ts'

/** Counts and times of every step; with a breakdown a list of such lists. */
export async function answerSteps(funnel: Funnel, run: RunTree): Promise<InsightAnswer> {
  const count = funnel.steps.length
  const steps = Array.from({ length: count }, (_, step) => step)
  const counts = countsOf(funnel)
  const times = steps.slice(1).flatMap((step) => timesOf(funnel, step))
  const { groups, hogql } = await queryGroups(
    funnel,
    { ...rankSteps(funnel), columns: [...counts, ...times], has_others: true },
    run,
  )
  if (funnel.breakdowns !== null) {
    return { results: groups.map((group) => stepsOf(funnel, group)), hogql }
  }
  // Without actors there is no row, and every step counts 0.
  return { results: stepsOf(funnel, groups[0] ?? { named: null, row: [] }), hogql }
}

/** The order of groups: values with most conversions first, ties by the step before; the first ones are kept. */
export const rankSteps = (funnel: Funnel): GroupRanking => ({
  rows: (cohort) => actorsTree(funnel, 'steps', cohort),
  rank: countsOf(funnel).toReversed(),
})

/** The number of actors who took each step. */
const countsOf = ({ steps }: Funnel): readonly Expr[] =>
  steps.map((_, step) => expr`countIf(${tookStep(step)})`)

/** The condition that a row of `actorsTree` took a step. */
export function tookStep(step: number): Expr {
  return expr`bitAnd(toInt(taken[2]), ${constant(2n ** BigInt(step))}) != 0`
}

/** The time of a step, microseconds after the origin; only for actors who took it. */
export const takenAt = (step: number): Expr => expr`taken[${integer(step + 3)}]`

/** The time of the step before one from the second on. Optional steps not taken have no time: that of the last one taken. */
export function takenBefore({ optional }: Funnel, step: number): Expr {
  return optional === 0 ? takenAt(step - 1) : expr`arrayMax(arraySlice(taken, 3, ${integer(step)}))`
}

/** Average and median of the seconds since the step before, of actors who needed any. */
function timesOf(funnel: Funnel, step: number): readonly Expr[] {
  const needed = expr`${takenAt(step)} - ${takenBefore(funnel, step)}`
  const counts = expr`${tookStep(step)} and ${needed} > 0`
  return [
    expr`avgIf(${needed} / 1000000, ${counts})`,
    expr`medianIf(${needed} / 1000000, ${counts})`,
  ]
}

function stepsOf(funnel: Funnel, { named, row }: FunnelGroup): readonly object[] {
  const { query, order, context } = funnel
  const count = funnel.steps.length
  return query.series.map((series, index) => {
    const time = (at: number): number | null => {
      const value = row[count + 2 * (index - 1) + at]
      return index > 0 && typeof value === 'number' && Number.isFinite(value) ? value : null
    }
    const is_unordered = order === 'unordered'
    const action_id = series.kind === 'ActionsNode' ? series.id : (series.event ?? null)
    return {
      action_id: is_unordered ? null : action_id,
      name: is_unordered
        ? `Completed ${index + 1} step${index === 0 ? '' : 's'}`
        : seriesEvent(series, context),
      custom_name: is_unordered ? null : (series.custom_name ?? null),
      order: index,
      people: [],
      count: scaleSample(Number(row[index] ?? 0), query),
      type: series.kind === 'ActionsNode' ? 'actions' : 'events',
      average_conversion_time: time(0),
      median_conversion_time: time(1),
      ...named,
    }
  })
}
