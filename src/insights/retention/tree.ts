/**
 * Retention as one tree: per actor two short lists, of starts and of returns, then pairs of them,
 * without a join.
 */
import type { RetentionQuery } from '../../contract/insights/retention.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, call, constant, field, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { bucketOf } from '../dates/buckets.ts'
import { isoLocal } from '../dates/date-range.ts'
import { instant } from '../filters/filter-operators.ts'
import type { InsightContext } from '../insight.ts'
import { actorOf, hasActor } from '../members/actor.ts'
import { allOf, eventsOf, queryCondition } from '../members/conditions.ts'
import { seriesCondition } from '../members/series.ts'
import type { RetentionPlan } from './plan.ts'

/** The breakdown's expressions, and its condition on events. */
export type RetentionSplit = { readonly values: readonly Expr[]; readonly condition: Expr | null }

const UNSPLIT: RetentionSplit = { values: [], condition: null }

type RetentionTreeRequest = {
  readonly query: RetentionQuery
  readonly plan: RetentionPlan
  readonly context: InsightContext
  readonly split: RetentionSplit
}

/** The columns of breakdown values: `value_0`, `value_1`. */
function valueColumns({ values }: RetentionSplit): readonly Expr[] {
  return values.map((_, index) => field([`value_${index}`]))
}

/**
 * Rows `actor, value_0…, start, offsets`: per start period (its index), the distances of the
 * periods with a return (0 for the start itself, brackets by their number).
 */
export function retentionTree(
  query: RetentionQuery,
  plan: RetentionPlan,
  context: InsightContext,
  split: RetentionSplit = UNSPLIT,
): SelectQuery {
  const request = { query, plan, context, split }
  const lists = plan.is_rolling ? rollingLists(request) : calendarLists(request)
  const keys = keysOf(request)
  const started = select`select ${keys}, first, arrayJoin(started) as began, returned from ${lists}`
  const step = plan.is_rolling ? expr`tupleElement(began, 1)` : field(['began'])
  const offset = plan.is_rolling
    ? expr`intDiv(moment - tupleElement(began, 2), ${integer(stepUs(plan))})`
    : expr`moment - began`
  const offsets = expr`arrayMap(moment -> ${offset}, returned)`
  // When only the first event counts, it may be before the range.
  const counts = plan.start === 'each' ? constant(true) : expr`${step} = first`
  return select`select ${keys}, ${step} as start, ${backIn(offsets, plan)} as offsets
    from ${started} where ${counts}`
}

/** The condition that an event is relevant to a retention. */
export function retentionCondition(
  query: RetentionQuery,
  plan: RetentionPlan,
  context: InsightContext,
): Expr {
  return condition({ query, plan, context, split: UNSPLIT })
}

const keysOf = ({ split }: RetentionTreeRequest): readonly Expr[] => [
  field(['actor']),
  ...valueColumns(split),
]

/** Calendar periods: events are counted by period first, which leaves few rows per actor. */
function calendarLists(request: RetentionTreeRequest): SelectQuery {
  const { plan } = request
  const steps = stepsOf(request, expr`countIf(${isReturn(request)}) as returns`)
  const returned = expr`groupArrayIf(step, returns >= ${integer(plan.occurrences_min)} and step >= 0)`
  return listsOf(request, { steps, start: field(['step']), returned })
}

/** Rolling periods: starts and returns as instants, whose distance counts. */
function rollingLists(request: RetentionTreeRequest): SelectQuery {
  const at = expr`toUnixTimestamp64Micro(timestamp)`
  const steps = stepsOf(
    request,
    expr`minIf(${at}, ${isTarget(request)}) as began`,
    expr`groupArrayIf(${at}, ${isReturn(request)}) as moments`,
  )
  const start = expr`tuple(step, began)`
  return listsOf(request, { steps, start, returned: expr`arrayFlatten(groupArray(moments))` })
}

/** Rows per actor and period with the number of target events. */
function stepsOf(request: RetentionTreeRequest, ...more: readonly Expr[]): SelectQuery {
  const { split, query, plan } = request
  const is_ever = plan.start === 'first_ever'
  const values = split.values.map((value, index) =>
    is_ever
      ? alias(expr`argMinIf(${value}, timestamp, ${isTargetEvent(request)})`, `ever_value_${index}`)
      : alias(value, `value_${index}`),
  )
  const keys = [...(is_ever ? [field(['actor'])] : keysOf(request)), field(['step'])]
  return select`select ${[alias(actor(request), 'actor'), ...values]}, ${stepOf(request)} as step,
      countIf(${isTarget(request)}) as targets, ${firstEver(request)} as ever, ${more}
    from ${eventsOf(query)} where ${condition(request)} group by ${keys}`
}

type RetentionSteps = { readonly steps: SelectQuery; readonly start: Expr; readonly returned: Expr }

/**
 * One row per actor: the periods of its starts, the period of its first one, and its returns. With a breakdown one per
 * value, for which only events with it count; where the first event of all counts, its value is the actor's.
 */
function listsOf(
  request: RetentionTreeRequest,
  { steps, start, returned }: RetentionSteps,
): SelectQuery {
  const { starts_us, start: which } = request.plan
  const is_ever = which === 'first_ever'
  const starts = is_ever ? expr`ever > 0` : expr`targets > 0`
  const first = is_ever ? expr`minIf(step, ever >= 0)` : expr`minIf(step, targets > 0)`
  const keys = keysOf(request)
  const columns = is_ever ? [field(['actor']), ...everValues(request)] : keys
  return select`select ${columns}, ${first} as first,
      groupArrayIf(${start}, ${starts} and step >= 0 and step < ${integer(starts_us.length)}) as started,
      ${returned} as returned
    from ${steps} group by ${is_ever ? [field(['actor'])] : keys}`
}

/** The values of each actor's first target event. */
function everValues({ split }: RetentionTreeRequest): readonly Expr[] {
  return split.values.map((_, index) =>
    alias(expr`argMinIf(${field([`ever_value_${index}`])}, step, ever >= 0)`, `value_${index}`),
  )
}

/** The distinct offsets of returns within the range, always with that of the start. */
function backIn(offsets: Expr, plan: RetentionPlan): Expr {
  const ahead = expr`arrayFilter(offset -> offset > 0 and offset <= ${integer(plan.ahead_max)}, ${offsets})`
  const often = plan.is_rolling && plan.occurrences_min > 1 ? keepFrequent(ahead, plan) : ahead
  const bracketed =
    plan.brackets === null ? often : expr`arrayMap(offset -> ${bracketOf(plan.brackets)}, ${often})`
  const once =
    plan.is_rolling || plan.brackets !== null ? expr`arrayDistinct(${bracketed})` : bracketed
  const all = expr`arrayConcat([0], ${once})`
  return plan.is_cumulative ? expr`range(0, arrayMax(${all}) + 1)` : all
}

function keepFrequent(offsets: Expr, { occurrences_min }: RetentionPlan): Expr {
  const enough = integer(occurrences_min)
  return expr`arrayFilter(one -> arrayCount(other -> other = one, ${offsets}) >= ${enough}, ${offsets})`
}

/** The bracket of an offset, from 1. */
function bracketOf(brackets: readonly number[]): Expr {
  let last = 0
  const cases = brackets.slice(0, -1).flatMap((length, index) => {
    last += length
    return [expr`offset <= ${integer(last)}`, integer(index + 1)]
  })
  return cases.length === 0 ? constant(1n) : call('multiIf', [...cases, integer(brackets.length)])
}

const actor = ({ query }: RetentionTreeRequest): Expr => actorOf(query.aggregation_group_type_index)

/** The period of an event: its index, -1 for all before the first. */
function stepOf({ plan }: RetentionTreeRequest): Expr {
  const { range, starts_us } = plan
  const at = field(['timestamp'])
  const first_us = starts_us[0] ?? range.from_us
  const first_day = call('toDate', [constant(isoLocal(first_us, range.dates).slice(0, 10))])
  switch (range.interval) {
    case 'hour':
    case 'minute':
      return expr`greatest(-1, toInt64(floor((toUnixTimestamp64Micro(${at}) - ${constant(first_us)}) / 3600000000)))`
    case 'day':
      return expr`greatest(-1, dateDiff('day', ${first_day}, ${bucketOf(at, range)}))`
    case 'week':
      return expr`greatest(-1, intDiv(dateDiff('day', ${first_day}, ${bucketOf(at, range)}), 7))`
    case 'month':
      return expr`greatest(-1, dateDiff('month', ${first_day}, ${bucketOf(at, range)}))`
  }
}

const STEPS_US = { Hour: 3_600_000_000, Day: 86_400_000_000 } as const

/** The length of a rolling period in microseconds; a month is thirty days. */
function stepUs({ period }: RetentionPlan): number {
  switch (period) {
    case 'Hour':
      return STEPS_US.Hour
    case 'Day':
      return STEPS_US.Day
    case 'Week':
      return 7 * STEPS_US.Day
    case 'Month':
      return 30 * STEPS_US.Day
  }
}

function isTarget({ plan, context }: RetentionTreeRequest): Expr {
  return allOf(seriesCondition(at(plan, 'target'), context, 'retentionFilter'))
}

function isReturn({ plan, context }: RetentionTreeRequest): Expr {
  return allOf(seriesCondition(at(plan, 'returning'), context, 'retentionFilter'), inRange(plan))
}

/**
 * Limits starts to the range. When only first events count, starts are searched in all of the past, and only
 * returns are limited to the range.
 */
function inRange({ start, range }: RetentionPlan): Expr | null {
  return start === 'each' ? null : expr`timestamp >= ${instant(range.from_us)}`
}

const at = (plan: RetentionPlan, member: 'returning' | 'target') => ({
  series: plan[member],
  index: member === 'target' ? 0 : 1,
})

/**
 * 1 where the actor's first target event in the period matches, 0 where it does not, -1 without
 * one. Of events at the same instant one match is enough.
 */
function firstEver(request: RetentionTreeRequest): Expr {
  if (request.plan.start !== 'first_ever') return constant(0n)
  const of_event = isTargetEvent(request)
  const target = isTarget(request)
  return expr`if(countIf(${of_event}) = 0, -1,
    if(countIf(${target}) > 0 and minIf(timestamp, ${target}) = minIf(timestamp, ${of_event}), 1, 0))`
}

/** An event of the target's event or action, whatever its properties. */
function isTargetEvent({ plan, context }: RetentionTreeRequest): Expr {
  const series = { ...plan.target, properties: null, fixedProperties: null }
  return allOf(seriesCondition({ series, index: 0 }, context, 'retentionFilter'))
}

function condition(request: RetentionTreeRequest): Expr {
  const { query, plan, context, split } = request
  const targets = plan.start === 'first_ever' ? isTargetEvent(request) : isTarget(request)
  return allOf(
    expr`timestamp <= ${instant(plan.range.to_us)}`,
    plan.start === 'each' ? expr`timestamp >= ${instant(plan.range.from_us)}` : null,
    expr`${targets} or ${isReturn(request)}`,
    hasActor(query.aggregation_group_type_index),
    queryCondition(query, context),
    split.condition,
  )
}
