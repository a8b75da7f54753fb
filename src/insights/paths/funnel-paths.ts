/** Paths of a funnel's actors: after one of its steps, before it, or between it and the one before. */
import type { FunnelsQuery } from '../../contract/insights/funnels.ts'
import type { FunnelPathsFilter, PathsQuery } from '../../contract/insights/paths.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { constant, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { requiredBefore, stepActorsTree } from '../funnels/actors.ts'
import { originOf } from '../funnels/actors-tree.ts'
import { type Funnel, readInnerFunnel, windowOf } from '../funnels/definition.ts'
import { takenAt, takenBefore } from '../funnels/steps.ts'
import type { InsightContext } from '../insight.ts'

/** Half an hour without an item ends a visit. */
const VISIT_GAP_US = 30 * 60 * 1_000_000

const STEP_ATTR = 'query__funnelPathsFilter__funnelStep'

/** The gap that ends a visit; for a funnel, its conversion window. */
export function pathGap({ funnelPathsFilter }: PathsQuery): number {
  if (!funnelPathsFilter) return VISIT_GAP_US
  return windowOf(funnelPathsFilter.funnelSource.funnelsFilter ?? {})
}

/** Rows of `actor_id` and `at`, limited to the funnel's actors and the chosen part. */
export function funnelPaths(
  rows: SelectQuery,
  filter: FunnelPathsFilter,
  context: InsightContext,
): SelectQuery {
  const { funnelSource: source, funnelStep } = filter
  const funnel = readInnerFunnel(source, context, 'funnelPathsFilter__funnelSource')
  const people = stepActorsTree(
    funnel,
    { kind: 'FunnelsActorsQuery', source, funnelStep: funnelStep ?? 1 },
    STEP_ATTR,
  )
  const step = stepOf(source, funnelStep ?? 1)
  const origin = constant(originOf(funnel))
  const before = step === 0 ? takenAt(0) : takenBefore(funnel, step)
  const bounds = select`select actor_id,
      ${origin} + toInt(${takenAt(step)}) as step_us,
      ${origin} + toInt(${before}) as before_us
    from ${people}`
  return select`select ways.actor_id as actor_id, ways.at as at, ways.item as item
    from ${rows} as ways join ${bounds} as people on people.actor_id = ways.actor_id
    where ${withinFunnel(filter, funnel, step)}`
}

/** The step that the paths are of; for actors who dropped off the last required one, which they took. */
const stepOf = ({ series }: FunnelsQuery, funnel_step: number): number =>
  funnel_step > 0 ? funnel_step - 1 : requiredBefore(series, -funnel_step - 1)

function withinFunnel(
  { funnelPathType, funnelStep }: FunnelPathsFilter,
  funnel: Funnel,
  step: number,
): Expr {
  const at = expr`toUnixTimestamp64Micro(ways.at)`
  switch (funnelPathType) {
    case 'funnel_path_after_step':
      return expr`${at} >= people.step_us`
    case 'funnel_path_before_step': {
      // Actors drop off when the conversion window is over: their events until then count as before it.
      const wait = integer((funnelStep ?? 1) < 0 ? funnel.window_us : 0)
      return expr`${at} <= people.step_us + ${wait}`
    }
    case 'funnel_path_between_steps':
      if (step < 1) {
        const detail = 'Between steps there is something from the second on.'
        throw refuseMember(detail, STEP_ATTR)
      }
      return expr`${at} >= people.before_us and ${at} <= people.step_us`
  }
}
