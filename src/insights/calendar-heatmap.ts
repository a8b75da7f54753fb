/** CalendarHeatmapQuery: how often something happens at each hour of each weekday, on the project's clocks. */
import type { CalendarHeatmapQuery } from '../contract/insights/calendar-heatmap.ts'
import { Refusal } from '../errors.ts'
import type { Expr, SelectQuery } from '../hogql/ast.ts'
import { alias, field, order } from '../hogql/nodes.ts'
import { hasActor } from './actor.ts'
import { allOf, eventsOf, questionCondition, scaled } from './conditions.ts'
import {
  firstEvent,
  freshnessOf,
  type Range,
  readRange,
  resolvedRange,
  withinRange,
} from './date-range.ts'
import type { InsightContext, InsightKind } from './insight.ts'
import { getSeries, seriesCondition } from './series.ts'
import { expr, select } from './tree.ts'
import { actorOfSeries, groupTypeOf, isScaled, mathOf } from './trends-math.ts'

/**
 * What numbers are told apart by, from the finest on: `row` is the weekday (0 is Sunday), `column` the hour. People of
 * a whole day are no sum of those of its hours, so each is counted for itself.
 */
const GROUPINGS = {
  data: ['row', 'column'],
  rowAggregations: ['row'],
  columnAggregations: ['column'],
  allAggregations: [],
} as const satisfies Record<string, readonly ('column' | 'row')[]>

export const CALENDAR_HEATMAP: InsightKind<CalendarHeatmapQuery> = {
  rangeOf: (question, dates) => freshnessOf(readRange(question, dates)),
  answer: async (question, context, ask) => {
    const range = readRange(question, context, { earliest_us: await firstEvent(question, ask) })
    const math = mathOf(getSeries(question.series, 0), range.interval)
    const numberOf = (value: unknown): number =>
      isScaled(math) ? scaled(Number(value ?? 0), question) : Number(value ?? 0)
    const texts: string[] = []
    const numbersBy = async (names: readonly ('column' | 'row')[]): Promise<readonly object[]> => {
      const { rows, hogql } = await ask(heatmapTree({ question, context, range }, names))
      texts.push(hogql)
      return rows.map((row) => ({
        ...Object.fromEntries(names.map((name, index) => [name, Number(row[index])])),
        value: numberOf(row.at(-1)),
      }))
    }
    const [all] = await numbersBy(GROUPINGS.allAggregations)
    const results = {
      data: await numbersBy(GROUPINGS.data),
      rowAggregations: await numbersBy(GROUPINGS.rowAggregations),
      columnAggregations: await numbersBy(GROUPINGS.columnAggregations),
      allAggregations: all !== undefined && 'value' in all ? all.value : 0,
    }
    const said = { hasMore: false, resolved_date_range: resolvedRange(range) }
    return { results, hogql: texts.join('\nUNION ALL\n'), said }
  },
}

type Asked = {
  readonly question: CalendarHeatmapQuery
  readonly context: InsightContext
  readonly range: Range
}

function heatmapTree(asked: Asked, names: readonly ('column' | 'row')[]): SelectQuery {
  const { question, context, range } = asked
  const series = getSeries(question.series, 0)
  const condition = allOf(
    withinRange(range),
    seriesCondition(series, context),
    questionCondition(question, context),
    hasActor(groupTypeOf(series)),
  )
  const columns = names.map((name) => alias(KEYS[name], `at_${name}`))
  const keys = names.map((name) => field([`at_${name}`]))
  const tree = select`select ${[...columns, alias(valueOf(asked), 'value')]}
    from ${eventsOf(question)} where ${condition}`
  return { ...tree, group_by: keys, order_by: keys.map((key) => order(key)) }
}

const KEYS = { row: expr`toDayOfWeek(timestamp) % 7`, column: expr`toHour(timestamp)` } as const

function valueOf({ question, range }: Asked): Expr {
  const series = getSeries(question.series, 0)
  const math = mathOf(series, range.interval)
  if (math.kind === 'events') return math.value
  if (math.kind === 'actors') return expr`count(distinct ${actorOfSeries(series)})`
  const detail = `A heat map of ${series.series.math} is not supported.`
  throw new Refusal('invalid_input', detail, { attr: 'query__series__0__math' })
}
