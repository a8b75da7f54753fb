/** StickinessQuery: how many actors were active in just one step of time, in two, in three… Interface §4.3. */
import type { StickinessQuery } from '../contract/insights/stickiness.ts'
import { Refusal } from '../errors.ts'
import type { CompareOperator, Expr, SelectQuery } from '../hogql/ast.ts'
import { call, compare, constant, field } from '../hogql/nodes.ts'
import { actorOf, hasActor } from './actor.ts'
import { bucketsOf, inWholeSteps } from './buckets.ts'
import { allOf, eventsOf, questionCondition, scaled } from './conditions.ts'
import {
  firstEvent,
  freshnessOf,
  previousRange,
  type Range,
  readRange,
  resolvedRange,
  withinRange,
} from './date-range.ts'
import type { AskRows, InsightContext, InsightKind } from './insight.ts'
import { type ActorsTree, COMPARED, NO_OPTIONS, type PointOptions } from './people/point.ts'
import { actionOf, getSeries, type SeriesAt, seriesCondition, seriesLabel } from './series.ts'
import { activeSteps, maskColumns, masksOf, stepIndex } from './step-masks.ts'
import { expr, select } from './tree.ts'

export const STICKINESS: InsightKind<StickinessQuery> = {
  rangeOf: (question, dates) => freshnessOf(readRange(question, dates)),
  answer: async (question, context, ask) => {
    const range = readRange(question, context, { earliest_us: await firstEvent(question, ask) })
    const spans = spansOf(question, range)
    const answers: { readonly result: object; readonly hogql: string }[] = []
    for (const span of spans) {
      for (const index of question.series.keys()) {
        const series = getSeries(question.series, index)
        answers.push(await answerSeries({ question, context, series, span }, ask))
      }
    }
    return {
      results: answers.map(({ result }) => result),
      hogql: answers.map(({ hogql }) => hogql).join('\nUNION ALL\n'),
      said: { resolved_date_range: resolvedRange(range) },
    }
  },
}

/** The time itself, or what it is compared with. */
type Span = { readonly range: Range; readonly compare_label: 'current' | 'previous' | null }

function spansOf({ compareFilter }: StickinessQuery, range: Range): readonly Span[] {
  if (compareFilter?.compare !== true) return [{ range, compare_label: null }]
  return [
    { range, compare_label: 'current' },
    { range: previousRange(range, compareFilter.compare_to ?? null), compare_label: 'previous' },
  ]
}

type Asked = {
  readonly question: StickinessQuery
  readonly context: InsightContext
  readonly series: SeriesAt
  readonly span: Span
}

async function answerSeries(
  asked: Asked,
  ask: AskRows,
): Promise<{ readonly result: object; readonly hogql: string }> {
  const { question, context, series, span } = asked
  const steps = stepsOf(question, span.range)
  const { rows, hogql } = await ask(
    select`select active, count() as actors from ${actorsTree(asked)} group by active order by active`,
  )
  const by_count = new Map(rows.map(([active, actors]) => [Number(active), Number(actors)]))
  const exactly = Array.from({ length: steps }, (_, at) => by_count.get(at + 1) ?? 0)
  const is_cumulative = question.stickinessFilter?.computedAs === 'cumulative'
  const data = (is_cumulative ? atLeast(exactly) : exactly).map((count) => scaled(count, question))
  const { compare_label } = span
  const result = {
    count: data.reduce((sum, count) => sum + count, 0),
    data,
    days: data.map((_, at) => at + 1),
    label: seriesLabel(series.series, context),
    labels: data.map((_, at) => stepsLabel(at + 1, question)),
    ...(compare_label === null ? {} : { compare: true, compare_label }),
    action: actionOf(series, context),
  }
  return { result, hogql }
}

/** How many are at least as many: sums from each place to the end. */
function atLeast(counts: readonly number[]): readonly number[] {
  let sum = 0
  return counts
    .toReversed()
    .map((count) => (sum += count))
    .toReversed()
}

function stepsLabel(
  count: number,
  { interval, intervalCount, stickinessFilter }: StickinessQuery,
): string {
  const unit = interval ?? 'day'
  const length = intervalCount ?? 1
  const name = length === 1 ? unit : `${length}-${unit} period`
  const or_more = stickinessFilter?.computedAs === 'cumulative' ? ' or more' : ''
  return `${count} ${name}${count === 1 ? '' : 's'}${or_more}`
}

/** How many steps the range has; a last one may be shorter. */
function stepsOf({ intervalCount }: StickinessQuery, range: Range): number {
  return Math.ceil(bucketsOf(range).length / (intervalCount ?? 1))
}

/** One row per actor: in how many steps they were `active`, and how many `events` that took. */
function actorsTree(asked: Asked): SelectQuery {
  const { question, series, span } = asked
  const masks = masksOf(stepsOf(question, span.range))
  const criteria = question.stickinessFilter?.stickinessCriteria ?? null
  const index = stepOf(asked)
  const actor = actorOf(groupTypeOf(question, series))
  if (criteria === null) {
    return select`select actor, ${activeSteps(masks)} as active, events
      from (select ${actor} as actor, count() as events, ${maskColumns(masks, index)}
        from ${eventsOf(question)} where ${conditionOf(asked)} group by actor)`
  }
  const holds = compare(
    call('count', []),
    CRITERIA[criteria.operator],
    constant(BigInt(criteria.value)),
  )
  return select`select actor, count() as active, sum(in_step) as events
    from (select ${actor} as actor, ${index} as step, count() as in_step
      from ${eventsOf(question)} where ${conditionOf(asked)} group by actor, step having ${holds})
    group by actor`
}

const CRITERIA = { exact: '==', gte: '>=', lte: '<=' } as const satisfies Record<
  string,
  CompareOperator
>

function stepOf({ question, span }: Asked): Expr {
  const [first] = bucketsOf(span.range)
  if (first === undefined) {
    const detail = 'The date range ends before it begins.'
    throw new Refusal('invalid_input', detail, { attr: 'query__dateRange' })
  }
  const index = stepIndex(field(['timestamp']), span.range, first)
  const length = question.intervalCount ?? 1
  return length === 1 ? index : expr`intDiv(${index}, ${constant(BigInt(length))})`
}

/** A series may count groups (`unique_group`), else the whole question says whose steps are counted. */
function groupTypeOf(question: StickinessQuery, { series }: SeriesAt): number | null {
  if (series.math === 'unique_group') return series.math_group_type_index ?? 0
  return question.aggregation_group_type_index ?? null
}

function conditionOf({ question, context, series, span }: Asked): Expr {
  return allOf(
    withinRange(inWholeSteps(span.range)),
    seriesCondition(series, context),
    questionCondition(question, context),
    hasActor(groupTypeOf(question, series)),
  )
}

/** Who was active in so many steps (`exact`, `gte`, `lte`); without an operator as the answer counts. */
export const stickinessActors: ActorsTree<StickinessQuery> = (question, point, context) => {
  const range = readRange(question, context)
  const series = getSeries(question.series, point.series)
  const spans = spansOf(question, range)
  const span = spans.find(({ compare_label }) => compare_label === point.compare) ?? {
    range,
    compare_label: null,
  }
  const tree = actorsTree({ question, context, series, span })
  const rows = select`select actor as actor_id, events as event_count from ${tree}`
  if (point.steps === null) return rows
  const counted = question.stickinessFilter?.computedAs === 'cumulative' ? 'gte' : 'exact'
  const operator = requireOperator(point.operator ?? counted)
  return { ...rows, where: compare(field(['active']), operator, constant(BigInt(point.steps))) }
}

function requireOperator(name: string): CompareOperator {
  const found = Object.entries(CRITERIA).find(([known]) => known === name)
  if (found !== undefined) return found[1]
  const detail = `${JSON.stringify(name.slice(0, 100))} is none of ${Object.keys(CRITERIA).join(', ')}.`
  throw new Refusal('invalid_input', detail, { attr: 'query__source__operator' })
}

/** What may be chosen of a stickiness. */
export function stickinessOptions(
  question: StickinessQuery,
  context: InsightContext,
): PointOptions {
  const range = readRange(question, context)
  const is_compared = question.compareFilter?.compare === true
  return {
    ...NO_OPTIONS,
    day: Array.from({ length: stepsOf(question, range) }, (_, at) => ({
      label: stepsLabel(at + 1, question),
      value: at + 1,
    })),
    series: question.series.map((series, value) => ({
      label: seriesLabel(series, context),
      value,
    })),
    compare: is_compared ? COMPARED : null,
  }
}
