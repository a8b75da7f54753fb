/** CalendarHeatmapQuery: counts per weekday and hour, in the project's time zone. */
import type { CalendarHeatmapQuery } from '../../contract/insights/activity.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, constant, field, order } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import {
  firstEvent,
  freshnessOf,
  type InsightDateRange,
  readRange,
  resolvedRange,
  withinRange,
} from '../dates/date-range.ts'
import type { InsightContext, InsightKind } from '../insight.ts'
import { hasActor } from '../members/actor.ts'
import { allOf, eventsOf, queryCondition, scaleSample } from '../members/conditions.ts'
import { getSeries, seriesCondition } from '../members/series.ts'
import { unionOfLines } from '../printed-lines.ts'
import { actorOfSeries, groupTypeOf, isScaled, mathOf } from '../trends/math.ts'

/** `row` is the weekday, 0 for Sunday; `column` the hour. */
type CellName = 'column' | 'row'
type HeatmapCell = { readonly row?: number; readonly column?: number; readonly value: number }

export const CALENDAR_HEATMAP: InsightKind<CalendarHeatmapQuery> = {
  rangeOf: (query, dates) => freshnessOf(readRange(query, dates)),
  answer: async (query, context, run) => {
    const range = readRange(query, context, { earliest_us: await firstEvent(query, run) })
    const request = { query, context, range }
    const texts: string[] = []
    const cellsBy = async (names: readonly CellName[]): Promise<readonly HeatmapCell[]> => {
      const { rows, hogql } = await run(heatmapTree(request, names))
      texts.push(hogql)
      return rows.map((row) => cellOf(request, names, row))
    }
    const data = await cellsBy(['row', 'column'])
    // Unique actors of a day are not the sum of its hours, so totals of such maths are queried.
    const is_sum = SUMS.has(query.series[0]?.math ?? 'total')
    const sumsBy = async (names: readonly CellName[]): Promise<readonly HeatmapCell[]> =>
      is_sum ? sumCells(data, names) : cellsBy(names)
    const [all] = await sumsBy([])
    const results = {
      data,
      rowAggregations: await sumsBy(['row']),
      columnAggregations: await sumsBy(['column']),
      allAggregations: all?.value ?? 0,
    }
    const metadata = { hasMore: false, resolved_date_range: resolvedRange(range) }
    return { results, hogql: unionOfLines(texts, context), metadata }
  },
}

/** Additive maths. */
const SUMS: ReadonlySet<string> = new Set(['sum', 'total'])

function cellOf(
  { query, range }: HeatmapRequest,
  names: readonly CellName[],
  row: readonly unknown[],
): HeatmapCell {
  const value = Number(row.at(-1) ?? 0)
  const is_scaled = isScaled(mathOf(getSeries(query.series, 0), range.interval))
  return {
    ...Object.fromEntries(names.map((name) => [name, Number(row[CELL_NAMES.indexOf(name)])])),
    value: is_scaled ? scaleSample(value, query) : value,
  }
}

/** Sums cells with equal `names`, in their order. */
function sumCells(
  cells: readonly HeatmapCell[],
  names: readonly CellName[],
): readonly HeatmapCell[] {
  const groups = Map.groupBy(cells, (cell) => names.map((name) => cell[name] ?? 0).join())
  const sums = [...groups.values()].map((group) => ({
    ...Object.fromEntries(names.map((name) => [name, group[0]?.[name] ?? 0])),
    value: group.reduce((sum, { value }) => sum + value, 0),
  }))
  const place = (cell: HeatmapCell): number => cell.row ?? cell.column ?? 0
  return sums.toSorted((a, b) => place(a) - place(b))
}

type HeatmapRequest = {
  readonly query: CalendarHeatmapQuery
  readonly context: InsightContext
  readonly range: InsightDateRange
}

function heatmapTree(request: HeatmapRequest, names: readonly CellName[]): SelectQuery {
  const { query, context, range } = request
  const series = getSeries(query.series, 0)
  const condition = allOf(
    withinRange(range),
    seriesCondition(series, context),
    queryCondition(query, context),
    hasActor(groupTypeOf(series)),
  )
  // All trees of an answer have the same columns, so that they print as one union.
  const columns = CELL_NAMES.map((name) =>
    alias(names.includes(name) ? KEYS[name] : constant(null), `at_${name}`),
  )
  const keys = names.map((name) => field([`at_${name}`]))
  const tree = select`select ${[...columns, alias(valueOf(request), 'value')]}
    from ${eventsOf(query)} where ${condition}`
  return { ...tree, group_by: keys, order_by: keys.map((key) => order(key)) }
}

const CELL_NAMES: readonly CellName[] = ['row', 'column']

const KEYS = { row: expr`toDayOfWeek(timestamp) % 7`, column: expr`toHour(timestamp)` } as const

function valueOf({ query, range }: HeatmapRequest): Expr {
  const series = getSeries(query.series, 0)
  const math = mathOf(series, range.interval)
  if (math.kind === 'events') return math.value
  if (math.kind === 'actors') return expr`count(distinct ${actorOfSeries(series)})`
  const detail = `A heat map of ${series.series.math} is not supported.`
  throw refuseMember(detail, 'query__series__0__math')
}
