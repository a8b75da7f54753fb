/** WebStatsTableQuery: visitors and views by a breakdown of visits, now and in the comparison period. */
import type { WebStatsTableQuery } from '../../contract/insights/web.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, field } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { mapInSlices } from '../../threads/sliced-json.ts'
import { freshnessOf, sinceFirstEvent } from '../dates/date-range.ts'
import type { InsightContext, InsightKind } from '../insight.ts'
import { queryPage, readRowPage, serializePage } from '../page.ts'
import { type ValueBreakdown, webBreakdowns } from './breakdowns.ts'
import { answerFrustration } from './event-tables.ts'
import { type WebColumn, webOrders } from './orders.ts'
import { pageTimesTree } from './page-times.ts'
import { samplingRateOf, scaledCount } from './sampling.ts'
import {
  convertedPersons,
  goalCondition,
  goals,
  pathColumn,
  periodsOf,
  TIMES,
  views,
  visitsTree,
  type WebPeriod,
  type WebPeriods,
  wasVisited,
} from './sessions.ts'

/** One figure of a row: its sort key, and its aggregate over the visits of a period. */
type StatsFigure = WebColumn & {
  /** Whether it is scaled up from a sample. */
  readonly is_count?: true
  readonly of: (visits: Expr, time: WebPeriod) => Expr
}

const visitors = (visits: Expr): Expr => expr`uniqIf(visitor, ${visits})`

const VISITORS: StatsFigure = {
  name: 'visitors',
  sorted_by: 'Visitors',
  is_count: true,
  of: visitors,
}
const VIEWS: StatsFigure = {
  name: 'views',
  sorted_by: 'Views',
  is_count: true,
  of: (visits, time) => expr`sumIf(${views(time)}, ${visits})`,
}

const GOALS: readonly StatsFigure[] = [
  {
    name: 'total_conversions',
    sorted_by: 'TotalConversions',
    is_count: true,
    of: (visits, time) => expr`sumIf(${goals(time)}, ${visits})`,
  },
  {
    name: 'unique_conversions',
    sorted_by: 'UniqueConversions',
    is_count: true,
    of: convertedPersons,
  },
  {
    name: 'conversion_rate',
    sorted_by: 'ConversionRate',
    of: (visits, time) => expr`${convertedPersons(visits, time)} / nullIf(${visitors(visits)}, 0)`,
  },
]

/** The bounce rate of a page is over the visits that began there. */
const bounceRate = (is_page: boolean): StatsFigure => ({
  name: 'bounce_rate',
  sorted_by: 'BounceRate',
  of: (visits) => expr`avgIf(bounced, ${is_page ? expr`${visits} and entry = value` : visits})`,
})

/** Figures of pages only, from `pageTimesTree`. */
const PAGE_TIMES = {
  includeAvgTimeOnPage: [{ name: 'avg_time_on_page', sorted_by: 'AvgTimeOnPage' }],
  includeScrollDepth: [
    { name: 'average_scroll_percentage', sorted_by: 'AverageScrollPercentage' },
    { name: 'scroll_gt80_percentage', sorted_by: 'ScrollGt80Percentage' },
  ],
} as const

export const WEB_STATS: InsightKind<WebStatsTableQuery> = {
  rangeOf: (query, dates) => freshnessOf(periodsOf(query, dates).current),
  answer: async (input, context, run) => {
    const { breakdownBy } = input
    if (breakdownBy === 'FrustrationMetrics') return await answerFrustration(input, context, run)
    const query = await sinceFirstEvent(input, context, run)
    const table = tableOf(query, breakdownBy, context)
    const page = readRowPage(query, context)
    const { columns: figures } = table
    const orders = { orderBy: query.orderBy, columns: figures, usual: figures.slice(0, 2) }
    const tree = { ...table.tree, order_by: webOrders(orders) }
    const rows = await queryPage(tree, page, { run, rows_max: context.rows_max })
    const columns = ['breakdown_value', ...table.columns.map(({ name }) => name)]
    const is_compared = periodsOf(query, context).previous !== null
    return {
      results: await mapInSlices(rows.rows, ([value, ...cells]) => [
        value,
        ...table.columns.map(({ is_count }, index) => {
          const read = (cell: unknown): unknown =>
            is_count === true ? scaledCount(cell, query) : (cell ?? null)
          return [read(cells[index * 2]), is_compared ? read(cells[index * 2 + 1]) : null]
        }),
      ]),
      hogql: rows.hogql,
      metadata: {
        ...serializePage(rows, page),
        columns: columns.map((name) => `context.columns.${name}`),
        types: columns.map((_, index) => rows.types[index === 0 ? 0 : index * 2 - 1] ?? ''),
        samplingRate: samplingRateOf(query),
        usedPreAggregatedTables: false,
      },
    }
  },
}

type StatsColumn = WebColumn & { readonly is_count?: true }

/**
 * Rows of `value` and per column its figure now and in the comparison period: `visitors_now`,
 * `visitors_then`.
 */
type StatsTable = { readonly tree: SelectQuery; readonly columns: readonly StatsColumn[] }

function tableOf(
  query: WebStatsTableQuery,
  breakdownBy: ValueBreakdown,
  context: InsightContext,
): StatsTable {
  const periods = periodsOf(query, context)
  const raw = webBreakdowns()[breakdownBy]
  const cleanPath = (path: Expr): Expr => pathColumn(path, query, context)
  const split = raw.is_path === true ? { ...raw, value: cleanPath(raw.value) } : raw
  const is_page = breakdownBy === 'Page'
  const has_goal = goalCondition(query, context) !== null
  const figures = [
    VISITORS,
    ...(has_goal ? GOALS : [VIEWS]),
    ...(query.includeBounceRate === true ? [bounceRate(is_page)] : []),
  ]
  const visits = visitsTree(query, context, {
    split,
    more: [
      expr`session.$is_bounce as bounced`,
      alias(cleanPath(expr`session.$entry_pathname`), 'entry'),
    ],
  })
  const either = expr`${wasVisited(periods, 'now')} or ${wasVisited(periods, 'then')}`
  const has_row = split.shows_none ? either : expr`(${either}) and value is not null`
  const counts = select`select value, ${pairs(figures, periods)} from ${visits}
    where ${has_row} group by value`
  const times = is_page ? pageTimesOf(query) : []
  if (times.length === 0) return { tree: counts, columns: figures }
  const columns = [...figures, ...times].flatMap(({ name }) =>
    TIMES.map((time) => field([`${name}_${time}`])),
  )
  const tree = select`select value, ${columns} from ${counts} as counted
    left join ${pageTimesTree(query, context, periods)} as pages on counted.value = pages.path`
  return { tree, columns: [...figures, ...times] }
}

function pairs(figures: readonly StatsFigure[], periods: WebPeriods): readonly Expr[] {
  return figures.flatMap(({ name, of }) =>
    TIMES.map((time) => alias(of(wasVisited(periods, time), time), `${name}_${time}`)),
  )
}

function pageTimesOf(query: WebStatsTableQuery): readonly StatsColumn[] {
  return [
    ...(query.includeAvgTimeOnPage === true ? PAGE_TIMES.includeAvgTimeOnPage : []),
    ...(query.includeScrollDepth === true ? PAGE_TIMES.includeScrollDepth : []),
  ]
}
