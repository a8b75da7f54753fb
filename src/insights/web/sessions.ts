/** Visits: rows per session and breakdown value, with views in the range and in the comparison period. */
import type {
  WebExternalClicksTableQuery,
  WebOverviewQuery,
  WebStatsTableQuery,
} from '../../contract/insights/web.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, call, compare, constant, field, tuple } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import {
  type InsightDateRange,
  previousRange,
  readRange,
  withinRange,
} from '../dates/date-range.ts'
import { instant } from '../filters/filter-operators.ts'
import { cleanPath } from '../filters/path-cleaning.ts'
import type { InsightContext, InsightDates } from '../insight.ts'
import { actionCondition } from '../members/actions.ts'
import { allOf, queryCondition } from '../members/conditions.ts'
import { findAction } from '../members/series.ts'
import type { WebSplit } from './breakdowns.ts'
import { sampledEvents } from './sampling.ts'

type WebQuery = WebExternalClicksTableQuery | WebOverviewQuery | WebStatsTableQuery

/** The range and the comparison period. */
export type WebPeriods = {
  readonly current: InsightDateRange
  readonly previous: InsightDateRange | null
}

/** Refuses dates that are none. */
export function periodsOf(query: WebQuery, dates: InsightDates): WebPeriods {
  const current = readRange({ dateRange: query.dateRange }, dates)
  const { compare: is_compared, compare_to } = query.compareFilter ?? {}
  return { current, previous: is_compared === true ? previousRange(current, compare_to) : null }
}

/** Events that are views. */
const VIEWS = ['$pageview', '$screen'] as const
const isView = compare(field(['event']), 'in', tuple(VIEWS.map((name) => constant(name))))

/** The condition that an event is the conversion goal; null without one. Refuses unknown actions. */
export function goalCondition({ conversionGoal }: WebQuery, context: InsightContext): Expr | null {
  const { actionId, customEventName } = conversionGoal ?? {}
  if (actionId) {
    const attr = 'query__conversionGoal__actionId'
    const action = findAction(actionId, context)
    if (action === null) {
      throw refuseMember(`There is no action with ID ${actionId}.`, attr)
    }
    return actionCondition(action, { ...context, prefix: [], attr })
  }
  return customEventName ? compare(field(['event']), '==', constant(customEventName)) : null
}

/** A path, cleaned by the project's rules if the query asks for it. Refuses rules that are not a list. */
export function pathColumn(path: Expr, query: WebQuery, context: InsightContext): Expr {
  if (query.doPathCleaning !== true) return path
  return cleanPath(path, context.path_cleaning_filters, 'path_cleaning_filters')
}

/** Names of the two periods in columns. */
export const TIMES = ['now', 'then'] as const
export type WebPeriod = (typeof TIMES)[number]

/** The numbers of views and of goals of a row of `visitsTree`, and the persons who converted among the visits. */
export const views = (time: WebPeriod): Expr => field([`viewed_${time}`])
export const goals = (time: WebPeriod): Expr => field([`reached_${time}`])
export const convertedPersons = (visits: Expr, time: WebPeriod): Expr =>
  expr`uniqIf(goal_person, ${visits} and ${goals(time)} > 0)`

/** The breakdown, and further session columns: `session.$session_duration as duration`. */
type VisitColumns = {
  readonly split: WebSplit | null
  readonly more: readonly Expr[]
}

/**
 * Rows per session and breakdown value (`value`): `visitor`, `goal_person`, `start`, and per period
 * `viewed_now`, `reached_now` (`…_then`), the numbers of views and of goals. Views are counted by
 * session first; only then are sessions joined, those that began in either period. A session ends
 * within a day.
 */
export function visitsTree(
  query: WebQuery,
  context: InsightContext,
  { split, more }: VisitColumns,
): SelectQuery {
  const periods = periodsOf(query, context)
  const goal = goalCondition(query, context)
  const value = split === null ? [] : [alias(split.value, 'value')]
  const is_of_events = split?.of === 'event'
  const counts = TIMES.flatMap((time) => {
    const within = isWithin(periods, time)
    return [
      alias(countIf(allOf(within, isView)), `viewed_${time}`),
      alias(goal === null ? constant(0n) : countIf(allOf(within, goal)), `reached_${time}`),
    ]
  })
  const goal_person = goal === null ? constant(null) : expr`argMinIf(person_id, timestamp, ${goal})`
  const keys = [field(['session_id']), ...(is_of_events ? [field(['value'])] : [])]
  const counted = select`select ${[expr`events.$session_id as session_id`, ...(is_of_events ? value : [])]},
      argMin(person_id, timestamp) as visitor, ${goal_person} as goal_person, ${counts}
    from ${sampledEvents(query)} where ${conditionOf({ query, context, periods, goal })} group by ${keys}`
  const columns = TIMES.flatMap((time) => [views(time), goals(time)])
  const { from_us, to_us } = boundsOf(periods)
  return select`select ${[...(is_of_events ? [field(['value'])] : value), ...columns]}, visitor, goal_person,
      session.$start_timestamp as start, ${more}
    from ${counted} as views join sessions as session on session.session_id = views.session_id
    where session.$start_timestamp >= ${instant(from_us)} and session.$start_timestamp <= ${instant(to_us)}`
}

type WebRequest = {
  readonly query: WebQuery
  readonly context: InsightContext
  readonly periods: WebPeriods
  readonly goal: Expr | null
}

function conditionOf({ query, context, periods, goal }: WebRequest): Expr {
  return allOf(
    inAnyPeriod(periods),
    expr`events.$session_id != ''`,
    goal === null ? isView : expr`${isView} or ${goal}`,
    queryCondition(query, context),
  )
}

/** From the beginning of the earlier period to the end of the later one. */
function boundsOf({ current, previous }: WebPeriods): InsightDateRange {
  if (previous === null) return current
  const from_us = previous.from_us < current.from_us ? previous.from_us : current.from_us
  const to_us = previous.to_us > current.to_us ? previous.to_us : current.to_us
  return { ...current, from_us, to_us }
}

/**
 * The condition that an event is in either period; the outer bounds come first, because files are
 * chosen by them.
 */
export function inAnyPeriod(periods: WebPeriods): Expr {
  const { current, previous } = periods
  if (previous === null) return withinRange(current)
  const either = call('or', [withinRange(current), withinRange(previous)])
  return expr`${withinRange(boundsOf(periods))} and ${either}`
}

/** The condition that an event is in a period; false without a comparison. */
export function isWithin(periods: WebPeriods, time: WebPeriod): Expr {
  const range = time === 'now' ? periods.current : periods.previous
  return range === null ? constant(false) : withinRange(range)
}

/** The condition on a row of `visitsTree` that its session began in a period and has views. */
export function wasVisited(periods: WebPeriods, time: WebPeriod): Expr {
  const range = time === 'now' ? periods.current : periods.previous
  if (range === null) return constant(false)
  const happened = expr`${views(time)} + ${goals(time)} > 0`
  return expr`start >= ${instant(range.from_us)} and start <= ${instant(range.to_us)} and ${happened}`
}

const countIf = (condition: Expr): Expr => call('countIf', [condition])
