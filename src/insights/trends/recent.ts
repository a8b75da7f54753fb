/** Active actors: unique actors within some days before the end of each bucket. */
import type { SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, constant, field, integer, tuple } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { stepIndex } from '../activity/step-masks.ts'
import { bucketsOf, stepAfter, stepStart } from '../dates/buckets.ts'
import type { InsightDateRange } from '../dates/date-range.ts'
import { eventsOf } from '../members/conditions.ts'
import { actorOfSeries } from './math.ts'
import { eventsCondition, splitColumns, splitNames, type TrendsPlan } from './plan.ts'

/** Buckets per day. */
const DAY_STEPS = { minute: 1440, hour: 24, day: 1 } as const

/**
 * The line's range in the buckets by which the window moves; weeks and months are counted on their
 * last day.
 */
function windowRange({ range }: TrendsPlan): WindowRange {
  // The buckets of the same range are listed once.
  return isWindow(range) ? range : { ...range, interval: 'day' }
}

type WindowRange = InsightDateRange & { readonly interval: keyof typeof DAY_STEPS }

const isWindow = (range: InsightDateRange): range is WindowRange =>
  Object.hasOwn(DAY_STEPS, range.interval)

/** Per bucket of the line, the `bucket` of its number in the rows of `recentActorsTree`. */
export function recentBuckets(plan: TrendsPlan): readonly number[] {
  const { range } = plan
  const moving = windowRange(plan)
  const starts = bucketsOf(moving).map(({ start_us }) => start_us)
  let count = 0
  return bucketsOf(range).map(({ start_us }) => {
    const end_us = stepAfter(start_us, 1, range)
    for (let next = starts[count]; next !== undefined && next < end_us; next = starts[count])
      count += 1
    return count - 1
  })
}

/**
 * Unique actors within the days before the end of each bucket. Every activity counts from its
 * bucket on, for as many buckets as the window has or until the actor's next activity, so that no
 * actor counts twice.
 */
export function recentActorsTree(plan: TrendsPlan, days: number): SelectQuery {
  const range = windowRange(plan)
  const buckets = bucketsOf(range)
  const [first] = buckets
  if (first === undefined) throw new Error('a range without steps was not refused')
  const names = splitNames(plan)
  const length = days * DAY_STEPS[range.interval]
  const from_us = stepAfter(first.start_us, 1 - length, range)
  const widened = { ...plan, range: { ...range, from_us, has_whole_steps: false } }
  const step = stepIndex(field(['timestamp']), range, first)
  const columns = [
    ...splitColumns(plan),
    alias(actorOfSeries(plan.series), 'actor'),
    alias(step, 'step'),
  ]
  const who = [...names, field(['actor'])]
  const active = select`select ${columns} from ${eventsOf(plan.query)}
    where ${eventsCondition(widened)} group by ${[...who, field(['step'])]}`
  const nexts = select`select ${[...names, field(['step'])]},
      lead(step) over (partition by ${who} order by step) as next_step from ${active}`
  const end = integer(buckets.length)
  const until = expr`least(step + ${integer(length)}, ifNull(next_step, ${end}), ${end})`
  const changes = select`select ${[...names, field(['step'])]},
      [(greatest(step, 0), 1), (${until}, -1)] as comes_and_goes from ${nexts}
    where ${until} > 0`
  return runningSumsTree(plan, changes, buckets.length)
}

/**
 * Running sums of the actors who enter and leave the window: a few rows per actor, however long the
 * window.
 */
function runningSumsTree(plan: TrendsPlan, changes: SelectQuery, step_count: number): SelectQuery {
  const names = splitNames(plan)
  const sums = select`select ${[...names, expr`change.1 as since`]}, sum(change.2) as more
    from ${changes} array join comes_and_goes as change
    group by ${[...names, field(['since'])]}`
  const all = names.length === 0 ? [constant(1n)] : names
  const end = integer(step_count)
  const runs = select`select ${[...names, field(['since'])]},
      ifNull(lead(since) over (partition by ${all} order by since), ${end}) as until,
      sum(more) over (partition by ${all} order by since) as present
    from ${sums}`
  const bucket_indexes = recentBuckets(plan)
  const is_wanted = expr`bucket in ${tuple(bucket_indexes.map((at) => integer(at)))}`
  return select`select ${[field(['bucket']), ...names]}, present as value
    from ${runs} array join range(since, until) as bucket
    where present > 0 and ${bucket_indexes.length === step_count ? constant(true) : is_wanted}`
}

/** The window that ends with a line. */
export function windowEndingAt(plan: TrendsPlan, days: number): InsightDateRange {
  const range = plan.is_total ? { ...plan.range, interval: 'day' as const } : windowRange(plan)
  const last_us = stepStart(range.to_us, range.interval, range.dates)
  const from_us = stepAfter(last_us, 1 - days * DAY_STEPS[range.interval], range)
  return { ...plan.range, from_us, has_whole_steps: false }
}
