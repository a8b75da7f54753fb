/** The actors behind a number of a funnel: converted, dropped off, or entered in one bucket. */
import type { FunnelsActorsQuery } from '../../contract/insights/funnels.ts'
import type { Expr, SelectQuery } from '../../hogql/ast.ts'
import { alias, call, compare, constant, field } from '../../hogql/nodes.ts'
import { bucketsOf, stepStart } from '../buckets.ts'
import { allOf } from '../conditions.ts'
import { readDate } from '../dates.ts'
import type { InsightContext } from '../insight.ts'
import { expr, select } from '../tree.ts'
import { actorsTree, type FunnelCohort, hasValues } from './actors-tree.ts'
import { withExplicitBin } from './bins.ts'
import { type Funnel, readInnerFunnel, refuseFunnel } from './definition.ts'
import { findValue } from './groups.ts'
import { tookStep } from './steps.ts'

/** Rows of `actor_id` and `event_count` (steps taken). Refuses numbers that the funnel does not have. */
export function funnelActors(query: FunnelsActorsQuery, context: InsightContext): SelectQuery {
  const funnel = readInnerFunnel(query.source, context, 'source__source')
  const is_by_time = query.source.funnelsFilter?.funnelVizType === 'trends'
  return is_by_time ? entrants(funnel, query) : takers(funnel, query)
}

/**
 * Rows of `actor_id`, `taken` and `breakdown` of the actors of a step, see `actorsTree`; `attr`
 * names the member.
 */
export function stepActorsTree(
  request: Funnel,
  query: FunnelsActorsQuery,
  attr = 'query__source__funnelStep',
): SelectQuery {
  const funnel = withExplicitBin(request, query.funnelStepBreakdown)
  return select`select actor_id, breakdown, taken from ${actorsTree(funnel, 'steps', cohortOf(funnel, query))}
    where ${allOf(stepCondition(query, attr), valueCondition(funnel, query))}`
}

function takers(funnel: Funnel, query: FunnelsActorsQuery): SelectQuery {
  const steps = expr`max(bitCount(toInt(taken[2])))`
  return select`select actor_id, ${alias(steps, 'event_count')} from ${stepActorsTree(funnel, query)}
    group by actor_id`
}

function stepCondition(
  { funnelStep, funnelCustomSteps, source }: FunnelsActorsQuery,
  attr: string,
): Expr {
  if (funnelCustomSteps?.length) {
    if (funnelCustomSteps.some((step) => step < 1 || step > source.series.length)) {
      const detail = `The steps are 1 to ${source.series.length}.`
      throw refuseFunnel(detail, 'query__source__funnelCustomSteps')
    }
    const steps = funnelCustomSteps.map((step) => constant(BigInt(step - 1)))
    return expr`has(${call('array', steps)}, toInt(taken[1]))`
  }
  if (funnelStep === null || funnelStep === undefined) {
    throw refuseFunnel('A step of the funnel is needed.', attr)
  }
  const last = source.series.length
  if (funnelStep > 0 && funnelStep <= last) return tookStep(funnelStep - 1)
  // Negative: dropped off, all steps before were taken.
  if (funnelStep <= -2 && funnelStep >= -last) {
    return expr`toInt(taken[1]) = ${constant(BigInt(-funnelStep - 2))}`
  }
  const detail = `The steps are 1 to ${last}; who did not take one is asked for by -2 to -${last}.`
  throw refuseFunnel(detail, attr)
}

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
  throw refuseFunnel(detail, 'query__source__funnelStepBreakdown')
}

function entrants(request: Funnel, query: FunnelsActorsQuery): SelectQuery {
  const funnel = withExplicitBin(request, query.funnelStepBreakdown)
  const { funnelTrendsDropOff, funnelTrendsEntrancePeriodStart: start } = query
  if (funnelTrendsDropOff === null || funnelTrendsDropOff === undefined) {
    const detail = 'It says whether those who came through are meant, or the others.'
    throw refuseFunnel(detail, 'query__source__funnelTrendsDropOff')
  }
  if (!start) {
    const detail = 'It says which step of time is meant.'
    throw refuseFunnel(detail, 'query__source__funnelTrendsEntrancePeriodStart')
  }
  const entrance = 2 * bucketAt(funnel, start) + (funnelTrendsDropOff ? 0 : 1)
  const tree = actorsTree(funnel, 'entrances', cohortOf(funnel, query))
  const is_entrant = expr`has(taken, toFloat(${constant(BigInt(entrance))}))`
  return select`select actor_id, ${alias(expr`count()`, 'event_count')} from ${tree}
    where ${allOf(is_entrant, valueCondition(funnel, query))} group by actor_id`
}

function bucketAt({ range, context }: Funnel, start: string): number {
  const attr = 'query__source__funnelTrendsEntrancePeriodStart'
  const start_us = stepStart(readDate(start, context, attr), range.interval, range.dates)
  const index = bucketsOf(range).findIndex((bucket) => bucket.start_us === start_us)
  if (index >= 0) return index
  throw refuseFunnel('The date range of the funnel does not reach it.', attr)
}
