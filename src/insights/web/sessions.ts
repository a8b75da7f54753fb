/** Visits of a website: per session, and what it is split by, how often it was viewed in each of two times (wire §5.8). */
import type {
  WebExternalClicksTableQuery,
  WebOverviewQuery,
  WebStatsTableQuery,
} from '../../contract/insights/web.ts'
import type { Expr, SelectQuery } from '../../hogql/ast.ts'
import { alias, call, compare, constant, field, tuple } from '../../hogql/nodes.ts'
import { actionCondition } from '../actions.ts'
import { allOf, questionCondition } from '../conditions.ts'
import { previousRange, type Range, readRange, withinRange } from '../date-range.ts'
import { cleanedPath } from '../filters/path-cleaning.ts'
import { instant } from '../filters/property-filters.ts'
import type { InsightContext, InsightDates } from '../insight.ts'
import { getAction } from '../series.ts'
import { expr, select } from '../tree.ts'
import type { Split } from './breakdowns.ts'
import { sampledEvents } from './sampling.ts'

export type WebQuestion = WebExternalClicksTableQuery | WebOverviewQuery | WebStatsTableQuery

/** The time asked about, and the one it is compared with. */
export type Periods = { readonly current: Range; readonly previous: Range | null }

/** Refuses dates that are none. */
export function periodsOf(question: WebQuestion, dates: InsightDates): Periods {
  const current = readRange({ dateRange: question.dateRange }, dates)
  const { compare: is_compared, compare_to } = question.compareFilter ?? {}
  return { current, previous: is_compared === true ? previousRange(current, compare_to) : null }
}

/** Events that are views. */
const VIEWS = ['$pageview', '$screen'] as const
const isView = compare(field(['event']), 'in', tuple(VIEWS.map((name) => constant(name))))

/** The condition that an event is the goal; null where nobody named one. Refuses actions there are not. */
export function goalCondition(
  { conversionGoal }: WebQuestion,
  context: InsightContext,
): Expr | null {
  const { actionId, customEventName } = conversionGoal ?? {}
  if (actionId) {
    const attr = 'query__conversionGoal__action'
    return actionCondition(getAction(actionId, context, attr), { ...context, prefix: [], attr })
  }
  return customEventName ? compare(field(['event']), '==', constant(customEventName)) : null
}

/** A path as the project's rules clean it, where the question asks for that. Refuses rules that are no list. */
export function shownPath(path: Expr, question: WebQuestion, context: InsightContext): Expr {
  if (question.doPathCleaning !== true) return path
  return cleanedPath(path, context.path_cleaning_filters, 'path_cleaning_filters')
}

/** Names of the two times in columns. */
export const TIMES = ['now', 'then'] as const
export type Time = (typeof TIMES)[number]

/** What visits are split by, and what else of their sessions is asked for: `session.$session_duration as duration`. */
export type VisitColumns = {
  readonly split: Split | null
  readonly more: readonly Expr[]
}

/**
 * Rows per session, and value of the split (`value`): `person`, `goal_person`, `start`, and for each time `viewed_now`,
 * `reached_now` (`…_then`), how often something was viewed and the goal reached in it. Views are counted by session
 * first, and only then are sessions looked up: those that began in either time. A session ends within a day.
 */
export function visitsTree(
  question: WebQuestion,
  context: InsightContext,
  { split, more }: VisitColumns,
): SelectQuery {
  const periods = periodsOf(question, context)
  const goal = goalCondition(question, context)
  const value = split === null ? [] : [alias(split.value, 'value')]
  const is_of_events = split?.of === 'event'
  const counts = TIMES.flatMap((time) => {
    const within = isWithin(periods, time)
    return [
      alias(countIf(allOf(within, isView)), `viewed_${time}`),
      alias(goal === null ? constant(0n) : countIf(allOf(within, goal)), `reached_${time}`),
    ]
  })
  const who = goal === null ? constant(null) : expr`argMinIf(person_id, timestamp, ${goal})`
  const keys = [field(['session_id']), ...(is_of_events ? [field(['value'])] : [])]
  const views = select`select ${[expr`events.$session_id as session_id`, ...(is_of_events ? value : [])]},
      argMin(person_id, timestamp) as person, ${who} as goal_person, ${counts}
    from ${sampledEvents(question)} where ${conditionOf({ question, context, periods, goal })} group by ${keys}`
  const counted = TIMES.flatMap((time) => [field([`viewed_${time}`]), field([`reached_${time}`])])
  const { from_us, to_us } = boundsOf(periods)
  return select`select ${[...(is_of_events ? [field(['value'])] : value), ...counted]}, person, goal_person,
      session.$start_timestamp as start, ${more}
    from ${views} as views join sessions as session on session.session_id = views.session_id
    where session.$start_timestamp >= ${instant(from_us)} and session.$start_timestamp <= ${instant(to_us)}`
}

type Asked = {
  readonly question: WebQuestion
  readonly context: InsightContext
  readonly periods: Periods
  readonly goal: Expr | null
}

function conditionOf({ question, context, periods, goal }: Asked): Expr {
  return allOf(
    whenever(periods),
    expr`events.$session_id != ''`,
    goal === null ? isView : expr`${isView} or ${goal}`,
    questionCondition(question, context),
  )
}

/** From the beginning of the earlier time to the end of the later one. */
function boundsOf({ current, previous }: Periods): Range {
  if (previous === null) return current
  const from_us = previous.from_us < current.from_us ? previous.from_us : current.from_us
  const to_us = previous.to_us > current.to_us ? previous.to_us : current.to_us
  return { ...current, from_us, to_us }
}

/** The condition that an event lies in either time; their bounds stand first, because files are chosen by them. */
export function whenever(periods: Periods): Expr {
  const { current, previous } = periods
  if (previous === null) return withinRange(current)
  const either = call('or', [withinRange(current), withinRange(previous)])
  return expr`${withinRange(boundsOf(periods))} and ${either}`
}

/** The condition that an event lies in a time; none does where nothing is compared. */
export function isWithin(periods: Periods, time: Time): Expr {
  const range = time === 'now' ? periods.current : periods.previous
  return range === null ? constant(false) : withinRange(range)
}

/** The condition on a row of `visitsTree` that its session began in a time and was viewed in it. */
export function visited(periods: Periods, time: Time): Expr {
  const range = time === 'now' ? periods.current : periods.previous
  if (range === null) return constant(false)
  const happened = expr`${field([`viewed_${time}`])} + ${field([`reached_${time}`])} > 0`
  return expr`start >= ${instant(range.from_us)} and start <= ${instant(range.to_us)} and ${happened}`
}

const countIf = (condition: Expr): Expr => call('countIf', [condition])
