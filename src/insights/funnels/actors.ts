/** The actors behind a number of a funnel: converted, dropped off, or entered in one bucket. */
import type { FunnelsActorsQuery, FunnelsQuery } from '../../contract/insights/funnels.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, call, compare, constant, field, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { bucketsOf, stepStart } from '../dates/buckets.ts'
import { readDate } from '../dates/dates.ts'
import type { InsightContext, RunTree } from '../insight.ts'
import { allOf } from '../members/conditions.ts'
import { actorsTree, type FunnelCohort, hasValues } from './actors-tree.ts'
import { withBins, withExplicitBin } from './bins.ts'
import { type Funnel, readInnerFunnel } from './definition.ts'
import { findValue, findValues, isOther, queryOthers } from './groups.ts'
import { rankSteps, tookStep } from './steps.ts'

/** Rows of `actor_id` and `event_count` (steps taken). Refuses numbers that the funnel does not have. */
export async function funnelActors(
  query: FunnelsActorsQuery,
  context: InsightContext,
  run: RunTree,
): Promise<SelectQuery> {
  const funnel = readInnerFunnel(query.source, context, 'source__source')
  const is_by_time = query.source.funnelsFilter?.funnelVizType === 'trends'
  if (is_by_time) return entrants(funnel, query)
  return countSteps(
    namesOthers(funnel, query)
      ? await otherActorsTree(funnel, query, run)
      : stepActorsTree(funnel, query),
  )
}

/** Whether the query names the group of values beyond the limit. */
function namesOthers(funnel: Funnel, { funnelStepBreakdown: named }: FunnelsActorsQuery): boolean {
  return hasValues(funnel) && named !== null && named !== undefined && isOther(findValues(named))
}

/** The rows of `stepActorsTree` of the values beyond the limit. */
async function otherActorsTree(unbinned: Funnel, query: FunnelsActorsQuery, run: RunTree) {
  const funnel = await withBins(unbinned, run)
  const is_other = await queryOthers(funnel, rankSteps(funnel), run)
  return select`select actor_id, breakdown, taken from ${actorsTree(funnel, 'steps')}
    where ${allOf(stepCondition(query, STEP_ATTR), is_other)}`
}

const STEP_ATTR = 'query__source__funnelStep'

/**
 * Rows of `actor_id`, `taken` and `breakdown` of the actors of a step, see `actorsTree`; `attr`
 * names the member.
 */
export function stepActorsTree(
  unbinned: Funnel,
  query: FunnelsActorsQuery,
  attr = STEP_ATTR,
): SelectQuery {
  const funnel = withExplicitBin(unbinned, query.funnelStepBreakdown)
  return select`select actor_id, breakdown, taken from ${actorsTree(funnel, 'steps', cohortOf(funnel, query))}
    where ${allOf(stepCondition(query, attr), valueCondition(funnel, query))}`
}

function countSteps(rows: SelectQuery): SelectQuery {
  const steps = expr`max(bitCount(toInt(taken[2])))`
  return select`select actor_id, ${alias(steps, 'event_count')} from ${rows} group by actor_id`
}

function stepCondition(
  { funnelStep, funnelCustomSteps, source }: FunnelsActorsQuery,
  attr: string,
): Expr {
  if (funnelCustomSteps?.length) {
    if (funnelCustomSteps.some((step) => step < 1 || step > source.series.length)) {
      const detail = `The steps are 1 to ${source.series.length}.`
      throw refuseMember(detail, 'query__source__funnelCustomSteps')
    }
    const steps = funnelCustomSteps.map((step) => integer(step - 1))
    return expr`has(${call('array', steps)}, toInt(taken[1]))`
  }
  if (funnelStep === null || funnelStep === undefined) {
    throw refuseMember('A step of the funnel is needed.', attr)
  }
  const last = source.series.length
  if (funnelStep > 0 && funnelStep <= last) return tookStep(funnelStep - 1)
  if (funnelStep <= -2 && funnelStep >= -last) return droppedAt(source, -funnelStep - 1)
  const detail = `The steps are 1 to ${last}; who did not take one is asked for by -2 to -${last}.`
  throw refuseMember(detail, attr)
}

/** The condition that a row of `actorsTree` took the last required step before a step, and not the step. */
function droppedAt({ series }: FunnelsQuery, step: number): Expr {
  return expr`${tookStep(requiredBefore(series, step))} and not ${tookStep(step)}`
}

/** The last step before another that is not optional. */
export const requiredBefore = (series: FunnelsQuery['series'], step: number): number =>
  series.slice(0, step).findLastIndex((one) => one.optionalInFunnel !== true)

/** The condition on the breakdown value; null when the query names none. */
function valueCondition(funnel: Funnel, { funnelStepBreakdown }: FunnelsActorsQuery): Expr | null {
  if (funnelStepBreakdown === null || funnelStepBreakdown === undefined) return null
  if (!hasValues(funnel)) return null
  return compare(field(['breakdown']), '==', constant(findValue(funnel, funnelStepBreakdown)))
}

function cohortOf(
  { breakdowns }: Funnel,
  { funnelStepBreakdown }: FunnelsActorsQuery,
): FunnelCohort {
  if (breakdowns?.kind !== 'cohorts') return 'all'
  const [named] = [funnelStepBreakdown].flat()
  if (named === null || named === undefined || named === 'all' || Number(named) === 0) return 'all'
  const cohort = breakdowns.cohorts.find((one) => one === Number(named))
  if (cohort !== undefined) return cohort
  const detail = `The funnel is not broken down by a cohort ${JSON.stringify(named)}.`
  throw refuseMember(detail, 'query__source__funnelStepBreakdown')
}

function entrants(unbinned: Funnel, query: FunnelsActorsQuery): SelectQuery {
  const funnel = withExplicitBin(unbinned, query.funnelStepBreakdown)
  const { funnelTrendsDropOff, funnelTrendsEntrancePeriodStart: start } = query
  if (funnelTrendsDropOff === null || funnelTrendsDropOff === undefined) {
    const detail = 'It says whether those who came through are meant, or the others.'
    throw refuseMember(detail, 'query__source__funnelTrendsDropOff')
  }
  if (!start) {
    const detail = 'It says which step of time is meant.'
    throw refuseMember(detail, 'query__source__funnelTrendsEntrancePeriodStart')
  }
  const entrance = 2 * bucketAt(funnel, start) + (funnelTrendsDropOff ? 0 : 1)
  const tree = actorsTree(funnel, 'entrances', cohortOf(funnel, query))
  const is_entrant = expr`has(taken, toFloat(${integer(entrance)}))`
  return select`select actor_id, ${alias(expr`count()`, 'event_count')} from ${tree}
    where ${allOf(is_entrant, valueCondition(funnel, query))} group by actor_id`
}

function bucketAt({ range, context }: Funnel, start: string): number {
  const attr = 'query__source__funnelTrendsEntrancePeriodStart'
  const start_us = stepStart(readDate(start, context, attr), range.interval, range.dates)
  const index = bucketsOf(range).findIndex((bucket) => bucket.start_us === start_us)
  if (index >= 0) return index
  throw refuseMember('The date range of the funnel does not reach it.', attr)
}
