/** WebStatsTableQuery: visitors and views by what visits are split by, now and before (wire §5.8). */
import type { WebStatsTableQuery } from '../../contract/insights/web.ts'
import { Refusal } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/ast.ts'
import type { OrderExpr } from '../../hogql/ast-parts.ts'
import { alias, field, order } from '../../hogql/nodes.ts'
import { freshnessOf, sinceFirstEvent } from '../date-range.ts'
import type { InsightContext, InsightKind } from '../insight.ts'
import { askPage, pageOf, saidOfPage } from '../page.ts'
import { expr, select } from '../tree.ts'
import { WEB_BREAKDOWNS } from './breakdowns.ts'
import { answerFrustration } from './event-tables.ts'
import { pageTimesTree } from './page-times.ts'
import { samplingRateOf, scaledCount } from './sampling.ts'
import {
  goalCondition,
  type Periods,
  periodsOf,
  shownPath,
  TIMES,
  type Time,
  visited,
  visitsTree,
} from './sessions.ts'

/** One figure of a row: what clients sort by, and how it is worked out of the visits of a time. */
type Figure = {
  readonly name: string
  readonly sorted_by: string
  /** Of a sample it is scaled. */
  readonly is_count?: true
  readonly of: (visits: Expr, time: Time) => Expr
}

const views = (time: Time): Expr => field([`viewed_${time}`])
const goals = (time: Time): Expr => field([`reached_${time}`])
const visitors = (visits: Expr): Expr => expr`uniqIf(person, ${visits})`
const converted = (visits: Expr, time: Time): Expr =>
  expr`uniqIf(goal_person, ${visits} and ${goals(time)} > 0)`

const VISITORS: Figure = {
  name: 'visitors',
  sorted_by: 'Visitors',
  is_count: true,
  of: visitors,
}
const VIEWS: Figure = {
  name: 'views',
  sorted_by: 'Views',
  is_count: true,
  of: (visits, time) => expr`sumIf(${views(time)}, ${visits})`,
}

const GOALS: readonly Figure[] = [
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
    of: converted,
  },
  {
    name: 'conversion_rate',
    sorted_by: 'ConversionRate',
    of: (visits, time) => expr`${converted(visits, time)} / nullIf(${visitors(visits)}, 0)`,
  },
]

/** A page bounces the visits that began there, whatever else they saw. */
const bounceRate = (is_page: boolean): Figure => ({
  name: 'bounce_rate',
  sorted_by: 'BounceRate',
  of: (visits) => expr`avgIf(bounced, ${is_page ? expr`${visits} and entry = value` : visits})`,
})

/** Figures that pages alone have, each worked out by `pageTimesTree`. */
const PAGE_TIMES = {
  includeAvgTimeOnPage: [{ name: 'avg_time_on_page', sorted_by: 'AvgTimeOnPage' }],
  includeScrollDepth: [
    { name: 'average_scroll_percentage', sorted_by: 'AverageScrollPercentage' },
    { name: 'scroll_gt80_percentage', sorted_by: 'ScrollGt80Percentage' },
  ],
} as const

export const WEB_STATS: InsightKind<WebStatsTableQuery> = {
  rangeOf: (question, dates) => freshnessOf(periodsOf(question, dates).current),
  answer: async (sent, context, ask) => {
    const { breakdownBy } = sent
    if (breakdownBy === 'FrustrationMetrics') return await answerFrustration(sent, context, ask)
    const question = await sinceFirstEvent(sent, context, ask)
    const table = tableOf(question, breakdownBy, context)
    const page = pageOf(question, context)
    const tree = { ...table.tree, order_by: ordersOf(question, table) }
    const rows = await askPage(tree, page, { ask, rows_max: context.rows_max })
    const columns = ['breakdown_value', ...table.columns.map(({ name }) => name)]
    const is_compared = periodsOf(question, context).previous !== null
    return {
      results: rows.rows.map(([value, ...cells]) => [
        value,
        ...table.columns.map(({ is_count }, index) => {
          const read = (cell: unknown): unknown =>
            is_count === true ? scaledCount(cell, question) : (cell ?? null)
          return [read(cells[index * 2]), is_compared ? read(cells[index * 2 + 1]) : null]
        }),
      ]),
      hogql: rows.hogql,
      said: {
        ...saidOfPage(rows, page),
        columns: columns.map((name) => `context.columns.${name}`),
        types: columns.map((_, index) => rows.types[index === 0 ? 0 : index * 2 - 1] ?? ''),
        samplingRate: samplingRateOf(question),
        usedPreAggregatedTables: false,
      },
    }
  },
}

type Named = { readonly name: string; readonly sorted_by: string; readonly is_count?: true }

/** Rows of `value` and for each column its figure now and then: `visitors_now`, `visitors_then`. */
type Table = { readonly tree: SelectQuery; readonly columns: readonly Named[] }

function tableOf(
  question: WebStatsTableQuery,
  breakdownBy: keyof typeof WEB_BREAKDOWNS,
  context: InsightContext,
): Table {
  const periods = periodsOf(question, context)
  const raw = WEB_BREAKDOWNS[breakdownBy]
  const cleaned = (path: Expr): Expr => shownPath(path, question, context)
  const split = raw.is_path === true ? { ...raw, value: cleaned(raw.value) } : raw
  const is_page = breakdownBy === 'Page'
  const has_goal = goalCondition(question, context) !== null
  const figures = [
    VISITORS,
    ...(has_goal ? GOALS : [VIEWS]),
    ...(question.includeBounceRate === true ? [bounceRate(is_page)] : []),
  ]
  const visits = visitsTree(question, context, {
    split,
    more: [
      expr`session.$is_bounce as bounced`,
      alias(cleaned(expr`session.$entry_pathname`), 'entry'),
    ],
  })
  const either = expr`${visited(periods, 'now')} or ${visited(periods, 'then')}`
  const shown = split.shows_none ? either : expr`(${either}) and value is not null`
  const counted = select`select value, ${pairs(figures, periods)} from ${visits}
    where ${shown} group by value`
  const times = is_page ? pageTimesOf(question) : []
  if (times.length === 0) return { tree: counted, columns: figures }
  const columns = [...figures, ...times].flatMap(({ name }) =>
    TIMES.map((time) => field([`${name}_${time}`])),
  )
  const tree = select`select value, ${columns} from ${counted} as counted
    left join ${pageTimesTree(question, context, periods)} as pages on counted.value = pages.path`
  return { tree, columns: [...figures, ...times] }
}

function pairs(figures: readonly Figure[], periods: Periods): readonly Expr[] {
  return figures.flatMap(({ name, of }) =>
    TIMES.map((time) => alias(of(visited(periods, time), time), `${name}_${time}`)),
  )
}

function pageTimesOf(question: WebStatsTableQuery): readonly Named[] {
  return [
    ...(question.includeAvgTimeOnPage === true ? PAGE_TIMES.includeAvgTimeOnPage : []),
    ...(question.includeScrollDepth === true ? PAGE_TIMES.includeScrollDepth : []),
  ]
}

/** As asked, else the most visited; what is alike is in the order of its values. */
function ordersOf({ orderBy }: WebStatsTableQuery, { columns }: Table): readonly OrderExpr[] {
  const usual = columns.slice(0, 2).map(({ name }) => order(field([`${name}_now`]), 'DESC'))
  const last = order(field(['value']))
  if (!orderBy || orderBy.length === 0) return [...usual, last]
  const [name, direction = 'DESC'] = orderBy
  const column = columns.find(({ sorted_by }) => sorted_by === name)
  if (column === undefined || !/^(asc|desc)$/i.test(direction)) {
    const detail = `Tables are ordered by one of ${columns.map(({ sorted_by }) => sorted_by).join(', ')}, ASC or DESC.`
    throw new Refusal('invalid_input', detail, { attr: 'query__orderBy' })
  }
  const first = field([`${column.name}_now`])
  return [order(first, direction.toUpperCase() === 'ASC' ? 'ASC' : 'DESC'), ...usual, last]
}
