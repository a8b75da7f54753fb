/** LifecycleQuery: per bucket, the actors who are new, returning, resurrecting or dormant. */
import type { LifecycleQuery } from '../../contract/insights/activity.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, constant, field, integer, or } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { type ActorsTree, NO_OPTIONS, type PointOptions } from '../actors/point.ts'
import {
  bucketsOf,
  inWholeSteps,
  requireFirstBucket,
  requireStep,
  stepAfter,
  stepStart,
  type TimeBucket,
} from '../dates/buckets.ts'
import {
  firstEvent,
  freshnessOf,
  type InsightDateRange,
  readRange,
  resolvedRange,
  withinRange,
} from '../dates/date-range.ts'
import type { InsightContext, InsightKind } from '../insight.ts'
import { actorOf, hasActor } from '../members/actor.ts'
import { allOf, eventsOf, queryCondition, scaleSample } from '../members/conditions.ts'
import { actionOf, getSeries, seriesCondition, seriesLabel } from '../members/series.ts'
import { maskColumns, masksOf, STEPS_PER_MASK, type StepMask, stepIndex } from './step-masks.ts'

/** Bits of an actor per bucket: active in the bucket before, active in it, first seen in it. */
type LifecycleBits = { readonly before: Expr; readonly now: Expr; readonly born: Expr }
type LifecycleStatus = (bits: LifecycleBits) => Expr

/** The statuses as bit expressions, in the order of answers. */
const STATUSES: Readonly<Record<string, LifecycleStatus>> = {
  new: ({ now, born }) => both(now, born),
  returning: ({ before, now, born }) => without(both(before, now), born),
  resurrecting: ({ before, now, born }) => without(without(now, before), born),
  dormant: ({ before, now }) => without(before, now),
}

const both = (left: Expr, right: Expr): Expr => expr`bitAnd(${left}, ${right})`
const without = (left: Expr, right: Expr): Expr => expr`bitXor(${left}, ${both(left, right)})`

export const LIFECYCLE: InsightKind<LifecycleQuery> = {
  rangeOf: (query, dates) => freshnessOf(readRange(query, dates)),
  answer: async (query, context, run) => {
    const earliest_us = await firstEvent(query, run)
    const range = readRange(query, context, { earliest_us })
    const whole = toEndOfLastStep(range)
    const buckets = bucketsOf(range)
    const masks = masksOf(buckets.length)
    const { rows, hogql } = await run(
      countsTree({ query, context, range: whole, first: requireFirstBucket(whole) }, masks),
    )
    const by_step = new Map(rows.map(([step, ...counts]) => [Number(step), counts]))
    const series = getSeries(query.series, 0)
    const results = Object.keys(STATUSES).map((status, at) => {
      const sign = status === 'dormant' ? -1 : 1
      const data = buckets.map((_, step) => {
        const count = scaleSample(Number(by_step.get(step)?.[at] ?? 0), query)
        return count === 0 ? 0 : sign * count
      })
      return {
        action: { ...actionOf(series, context), math: 'total' },
        data,
        count: data.reduce((sum, count) => sum + count, 0),
        labels: buckets.map(({ label }) => label),
        days: buckets.map(({ day }) => day),
        label: `${seriesLabel(series.series, context)} - ${status}`,
        status,
      }
    })
    return { results, hogql, metadata: { resolved_date_range: resolvedRange(range) } }
  },
}

/** Actors with a status in a bucket, or without one in any bucket. Refuses unknown statuses. */
export const lifecycleActors: ActorsTree<LifecycleQuery> = (query, point, context) => {
  const whole = toEndOfLastStep(readRange(query, context))
  const range = point.day === null ? whole : requireStep(whole, point.day)
  const request = { query, context, range, first: requireFirstBucket(range) }
  const count = point.day === null ? bucketsOf(range).length : 1
  const names = point.status === null ? Object.keys(STATUSES) : [point.status]
  // A mask has bits for buckets after the last one too.
  const left = expr`least(${integer(STEPS_PER_MASK)}, ${integer(count)} - first)`
  const holds = names.map((name) => expr`bitAnd(${statusOf(name)}, intExp2(${left}) - 1) != 0`)
  return select`select actor as actor_id, any(events) as event_count
    from ${chunksTree(request, masksOf(count))} where ${or(holds) ?? constant(false)} group by actor`
}

/** The choices of a lifecycle. */
export function lifecycleOptions(query: LifecycleQuery, context: InsightContext): PointOptions {
  const buckets = bucketsOf(readRange(query, context))
  return {
    ...NO_OPTIONS,
    day: buckets.map(({ day, label }) => ({ label, value: day })),
    status: ['Dormant', 'New', 'Resurrecting', 'Returning'].map((label) => ({
      label,
      value: label.toLowerCase(),
    })),
  }
}

type LifecycleRequest = {
  readonly query: LifecycleQuery
  readonly context: InsightContext
  readonly range: InsightDateRange
  readonly first: TimeBucket
}

/** The range to the end of its last bucket, which counts whole. */
function toEndOfLastStep(range: InsightDateRange): InsightDateRange {
  const start_us = stepStart(range.to_us, range.interval, range.dates)
  return { ...range, to_us: stepAfter(start_us, 1, range) - 1n }
}

/** A row per bucket: how many actors have each status. */
function countsTree(request: LifecycleRequest, masks: readonly StepMask[]): SelectQuery {
  const bits = Object.keys(STATUSES).map((name) => alias(statusOf(name), name))
  const counts = Object.keys(STATUSES).map(
    (name) => expr`sum(bitAnd(bitShiftRight(${field([name])}, bit), 1))`,
  )
  return select`select first + bit as step, ${counts}
    from (select first, ${bits} from ${chunksTree(request, masks)})
    array join range(${integer(masks[0]?.count ?? 0)}) as bit
    group by step`
}

/** A row per actor and mask in which they are active: `active`, the mask's `first` bucket, and `born`. */
function chunksTree(request: LifecycleRequest, masks: readonly StepMask[]): SelectQuery {
  const chunks = masks.map(({ column, first }) => expr`(${field([column])}, ${integer(first)})`)
  return select`select actor, events, born, chunk.1 as active, chunk.2 as first
    from ${actorsTree(request, masks)} array join [${chunks}] as chunk
    where active != 0`
}

/** The buckets of a mask in which an actor has a status, the first one in bit 0. Refuses unknown statuses. */
function statusOf(name: string): Expr {
  const holds = Object.hasOwn(STATUSES, name) ? STATUSES[name] : undefined
  if (holds === undefined) {
    const detail = `${JSON.stringify(name.slice(0, 100))} is none of ${Object.keys(STATUSES).join(', ')}.`
    throw refuseMember(detail, 'query__source__status')
  }
  const steps = integer(STEPS_PER_MASK)
  const born = expr`if(born >= first and born < first + ${steps}, intExp2(born - first), 0)`
  // Bit 0 is the bucket before the first, bit 1 the first; shifting aligns the two.
  return holds({ before: field(['active']), now: expr`bitShiftRight(active, 1)`, born })
}

/**
 * One row per actor: the buckets with activity, and the bucket of the first event ever (-1: before
 * the range).
 */
function actorsTree(
  { query, context, range, first }: LifecycleRequest,
  masks: readonly StepMask[],
): SelectQuery {
  const { aggregation_group_type_index } = query
  const index = stepIndex(field(['timestamp']), range, first)
  const whole = inWholeSteps(range)
  const widened = { ...whole, from_us: stepAfter(first.start_us, -1, range) }
  const condition = allOf(
    withinRange(widened),
    seriesCondition(getSeries(query.series, 0), context),
    queryCondition(query, context),
    hasActor(aggregation_group_type_index),
    // Persons without a profile are new.
    expr`person_mode != 'propertyless'`,
  )
  const active = select`select ${actorOf(aggregation_group_type_index)} as actor, count() as events,
      ${maskColumns(masks, index)}
    from ${eventsOf(query)} where ${condition} group by actor`
  const owners = ownersTree(aggregation_group_type_index)
  const born = stepIndex(field(['owner', 'created_at']), range, first)
  return select`select actor, events, ${masks.map(({ column }) => field([column]))}, ifNull(${born}, -1) as born
    from ${active} as active left join ${owners} as owner on owner.id = active.actor`
}

function ownersTree(group_type_index: number | null | undefined): SelectQuery {
  if (group_type_index === null || group_type_index === undefined) {
    return select`select id, created_at from persons`
  }
  return select`select key as id, created_at from groups where index = ${integer(group_type_index)}`
}
