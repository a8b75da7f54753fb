/**
 * Funnels as a tree: one row per actor, with the events packed into one sorted list, folded in
 * TypeScript.
 */
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, call, compare, constant, field, integer, or } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { bucketsOf, inWholeSteps } from '../dates/buckets.ts'
import { type InsightDateRange, withinRange } from '../dates/date-range.ts'
import type { FunnelFold } from '../folds/definition.ts'
import { type BucketRun, bucketRuns } from '../folds/entrances.ts'
import { fitsNumbers } from '../folds/timeline.ts'
import {
  type BreakdownItem,
  breakdownText,
  isInAnyBin,
  NO_VALUE,
  OTHER_VALUES,
} from '../members/breakdown.ts'
import { allOf, eventsOf, queryCondition } from '../members/conditions.ts'
import { type Funnel, isRelevant } from './definition.ts'

/** The result of the fold. */
type FoldKind = 'entrances' | 'steps'

/** The cohort of a cohort breakdown. */
export type FunnelCohort = number | 'all'

/**
 * Rows of `actor_id`, `breakdown` (a text, `''` without one) and `taken`: see `js_funnel_steps` and
 * `js_funnel_entrances`. Actors who never begin have furthest step −1. Broken down by all events or
 * by a step, an actor has a row per value.
 */
export function actorsTree(
  funnel: Funnel,
  kind: FoldKind,
  cohort: FunnelCohort = 'all',
): SelectQuery {
  const spec = constant(JSON.stringify(foldOf(funnel, kind)))
  const { attribution } = funnel
  if (hasValues(funnel) && attribution.kind === 'step') {
    return breakDownByValue(timelinesWithValues(funnel, cohort), kind, spec)
  }
  const timeline = field(['timeline'])
  const taken = call(kind === 'steps' ? 'funnel_steps' : 'funnel_entrances', [timeline, spec])
  return select`select actor_id, breakdown, ${alias(taken, 'taken')} from ${timelines(funnel, cohort)}`
}

function breakDownByValue(
  timelines_by_value: SelectQuery,
  kind: FoldKind,
  spec: Expr,
): SelectQuery {
  const name = kind === 'steps' ? 'funnel_steps_by_value' : 'funnel_entrances_by_value'
  const folded = call(name, [field(['timeline']), field(['values']), spec])
  return select`select actor_id, one.1 as breakdown, one.2 as taken
    from (select actor_id, arrayJoin(${folded}) as one from ${timelines_by_value})`
}

/** Whether the breakdown is by values, not by cohorts or nothing. */
export const hasValues = ({ breakdowns }: Funnel): boolean => breakdowns?.kind === 'values'

function timelines(funnel: Funnel, cohort: FunnelCohort): SelectQuery {
  const { actor, attribution } = funnel
  const timeline = packEvents(funnel, 'actor_timeline', [])
  const tree = select`select ${alias(actor, 'actor_id')}, ${alias(valueOf(funnel), 'breakdown')},
    ${alias(timeline, 'timeline')}
    from ${eventsOf(funnel.query)} where ${funnelCondition(funnel, cohort)} group by actor_id`
  // An actor has a row per value: each value's events are a separate history.
  const by_value = hasValues(funnel) && attribution.kind === 'all_events'
  return by_value ? { ...tree, group_by: [...tree.group_by, field(['breakdown'])] } : tree
}

function timelinesWithValues(funnel: Funnel, cohort: FunnelCohort): SelectQuery {
  const timeline = packEvents(funnel, 'actor_timeline', [])
  const has_value = or(valuedSteps(funnel).map((step) => funnel.steps[step] ?? constant(false)))
  const value_columns = [eventValue(funnel), has_value ?? constant(false)]
  const values = packEvents(funnel, 'actor_values', value_columns)
  return select`select ${alias(funnel.actor, 'actor_id')}, ${alias(timeline, 'timeline')},
    ${alias(values, 'values')}
    from ${eventsOf(funnel.query)} where ${funnelCondition(funnel, cohort)} group by actor_id`
}

/** The steps whose events have the value: in an unordered funnel any may be the first. */
function valuedSteps({ attribution, order, steps }: Funnel): readonly number[] {
  if (attribution.kind !== 'step') return []
  return order === 'unordered' ? steps.map((_, step) => step) : [attribution.step]
}

/** The condition that an event is relevant to a funnel. */
export function funnelCondition(funnel: Funnel, cohort: FunnelCohort): Expr {
  const { query, context, has_actor } = funnel
  return allOf(
    withinRange(wholeRange(funnel)),
    queryCondition(query, context),
    has_actor,
    isRelevant(funnel),
    cohort === 'all' ? null : compare(field(['person_id']), 'in cohort', integer(cohort)),
  )
}

/** The breakdown value of an event as one text: of several breakdowns the JSON list of their values. */
function eventValue({ breakdowns, bins }: Funnel): Expr {
  if (breakdowns?.kind !== 'values') return constant('')
  if (bins === null) throw new Error('the bins of a funnel were not asked for')
  const [first, ...others] = breakdowns.items.map((item, index) =>
    oneValue(item, bins.edges[index] ?? null, bins.has_others),
  )
  if (first === undefined) return constant('')
  if (others.length === 0) return first
  return call('toJSONString', [call('array', [first, ...others])])
}

function oneValue(item: BreakdownItem, edges: readonly number[] | null, has_others: boolean): Expr {
  const text = breakdownText(item, edges)
  const is_other = isInAnyBin(item)
  const none =
    edges !== null && has_others
      ? expr`if(${is_other}, ${constant(OTHER_VALUES)}, '')`
      : constant('')
  return expr`if(${text} = ${constant(NO_VALUE)}, ${none}, ${text})`
}

/** The first or last non-empty value of an actor; the value of a step is found by the fold. */
function valueOf(funnel: Funnel): Expr {
  const value = eventValue(funnel)
  if (!hasValues(funnel) || funnel.attribution.kind === 'all_events') return value
  const is_any = compare(value, '!=', constant(missingValue(funnel)))
  const touch = funnel.attribution.kind === 'last_touch' ? 'argMaxIf' : 'argMinIf'
  const touched = call(touch, [value, field(['timestamp']), is_any])
  const none = constant(missingValue(funnel))
  return expr`if(countIf(${is_any}) > 0, ${touched}, ${none})`
}

/** The value of events without any. */
function missingValue({ breakdowns }: Funnel): string {
  if (breakdowns?.kind !== 'values' || breakdowns.items.length < 2) return ''
  return JSON.stringify(breakdowns.items.map(() => ''))
}

function packEvents(funnel: Funnel, name: string, values: readonly Expr[]): Expr {
  const bits = [...funnel.steps, ...funnel.exclusions]
  const { from_us, to_us } = wholeRange(funnel)
  const origin_us = originOf(funnel)
  const is_wide = from_us < origin_us || !fitsNumbers(to_us - origin_us + 1n, bits.length)
  return {
    ...call(name, [field(['timestamp']), ...values, ...bits]),
    params: [constant(origin_us), constant(is_wide ? 1n : 0n)],
  }
}

function foldOf(funnel: Funnel, kind: FoldKind): FunnelFold {
  const { attribution, query, steps, exclusions } = funnel
  const { funnelFromStep, funnelToStep } = query.funnelsFilter ?? {}
  const is_entrances = kind === 'entrances'
  return {
    order: funnel.order,
    // A funnel by time ends with its `funnelToStep`.
    step_count: is_entrances ? (funnelToStep ?? steps.length - 1) + 1 : steps.length,
    packed_steps: steps.length,
    bits: steps.length + exclusions.length,
    window_us: funnel.window_us,
    optional: funnel.optional,
    attribution_step: hasValues(funnel) && attribution.kind === 'step' ? attribution.step : null,
    valued: valuedSteps(funnel).reduce((bits, step) => bits | (1 << step), 0),
    from_step: is_entrances ? (funnelFromStep ?? 0) : 0,
    buckets: is_entrances ? runsOf(funnel) : [],
  }
}

/** A funnel by time counts its first bucket whole. */
function wholeRange({ query, range }: Funnel): InsightDateRange {
  return query.funnelsFilter?.funnelVizType === 'trends' ? inWholeSteps(range) : range
}

/** The origin of the folds' microseconds; a range may begin before any event can exist. */
export function originOf(funnel: Funnel): bigint {
  const { from_us } = wholeRange(funnel)
  return from_us < 0n ? 0n : from_us
}

function runsOf(funnel: Funnel): readonly BucketRun[] {
  const origin_us = originOf(funnel)
  const starts = bucketsOf(funnel.range).map(({ start_us }) => Number(start_us - origin_us))
  return bucketRuns(starts, Number(wholeRange(funnel).to_us - origin_us) + 1)
}
