/** Web tables over events other than views: frustration by page, and external clicks by address. */
import type {
  WebExternalClicksTableQuery,
  WebStatsTableQuery,
} from '../../contract/insights/web.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { alias } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { mapInSlices } from '../../threads/sliced-json.ts'
import { freshnessOf, sinceFirstEvent } from '../dates/date-range.ts'
import type { InsightAnswer, InsightContext, InsightKind, RunTree } from '../insight.ts'
import { allOf, queryCondition } from '../members/conditions.ts'
import { queryPage, readRowPage, serializePage } from '../page.ts'
import { type WebColumn, webOrders } from './orders.ts'
import { sampledEvents, scaledCount } from './sampling.ts'
import { inAnyPeriod, isWithin, pathColumn, periodsOf, TIMES } from './sessions.ts'

type EventTableQuery = WebExternalClicksTableQuery | WebStatsTableQuery

/** One table: its value, its events, and its figures. */
type EventTable = {
  /** The name of the first column. */
  readonly name: string
  readonly value: (query: EventTableQuery, context: InsightContext) => Expr
  readonly events: Expr
  readonly figures: readonly EventFigure[]
  /** The names of the figures that decide the order, the most important first. */
  readonly order: readonly string[]
}

type EventFigure = WebColumn & { readonly of: (within: Expr) => Expr }

const countFigure = (
  name: string,
  sorted_by: EventFigure['sorted_by'],
  event: Expr,
): EventFigure => ({
  name,
  sorted_by,
  of: (within) => expr`countIf(${within} and ${event})`,
})

/** By page: rage clicks, dead clicks and errors. */
const FRUSTRATION: EventTable = {
  name: 'breakdown_value',
  value: (query, context) => pathColumn(expr`toString(properties.$pathname)`, query, context),
  events: expr`event in ('$rageclick', '$dead_click', '$exception')`,
  figures: [
    countFigure('rage_clicks', 'RageClicks', expr`event = '$rageclick'`),
    countFigure('dead_clicks', 'DeadClicks', expr`event = '$dead_click'`),
    countFigure('errors', 'Errors', expr`event = '$exception'`),
  ],
  order: ['errors', 'rage_clicks', 'dead_clicks'],
}

/** By address: clicks on external links, which browsers also send for other subdomains of the site. */
const EXTERNAL_CLICKS: EventTable = {
  name: 'url',
  value: (query) =>
    'stripQueryParams' in query && query.stripQueryParams === true
      ? expr`cutQueryStringAndFragment(toString(properties.$external_click_url))`
      : expr`toString(properties.$external_click_url)`,
  events: expr`event = '$autocapture' and properties.$event_type = 'click'
    and cutToFirstSignificantSubdomain(properties.$external_click_url)
      != cutToFirstSignificantSubdomain(properties.$host)`,
  figures: [
    { name: 'visitors', sorted_by: 'Visitors', of: (within) => expr`uniqIf(person_id, ${within})` },
    { name: 'clicks', sorted_by: 'Clicks', of: (within) => expr`countIf(${within})` },
  ],
  order: ['clicks'],
}

export const WEB_EXTERNAL_CLICKS: InsightKind<WebExternalClicksTableQuery> = {
  rangeOf: (query, dates) => freshnessOf(periodsOf(query, dates).current),
  answer: (query, context, run) => answerTable(EXTERNAL_CLICKS, { query, context, run }),
}

/** Answers `breakdownBy: FrustrationMetrics`. */
export function answerFrustration(
  query: WebStatsTableQuery,
  context: InsightContext,
  run: RunTree,
): Promise<InsightAnswer> {
  return answerTable(FRUSTRATION, { query, context, run })
}

type EventTableRequest = {
  readonly query: EventTableQuery
  readonly context: InsightContext
  readonly run: RunTree
}

/** Rows of a value and, per figure, now and in the comparison period; the largest first. */
async function answerTable(table: EventTable, request: EventTableRequest): Promise<InsightAnswer> {
  const { context, run } = request
  const query = await sinceFirstEvent(request.query, context, run)
  const periods = periodsOf(query, context)
  const columns = table.figures.flatMap(({ name, of }) =>
    TIMES.map((time) => alias(of(isWithin(periods, time)), `${name}_${time}`)),
  )
  const value = table.value(query, context)
  const condition = allOf(
    inAnyPeriod(periods),
    table.events,
    expr`notEmpty(${value})`,
    queryCondition(query, context),
  )
  const tree = select`select ${alias(value, 'value')}, ${columns} from ${sampledEvents(query)}
    where ${condition} group by value`
  const page = readRowPage(query, context)
  const usual = table.order.flatMap((name) =>
    table.figures.filter((figure) => figure.name === name),
  )
  const order_by = webOrders({ orderBy: query.orderBy, columns: table.figures, usual })
  const rows = await queryPage({ ...tree, order_by }, page, { run, rows_max: context.rows_max })
  const is_compared = periods.previous !== null
  return {
    results: await mapInSlices(rows.rows, ([name, ...cells]) => [
      name,
      ...table.figures.map((_, index) => [
        scaledCount(cells[index * 2], query),
        is_compared ? scaledCount(cells[index * 2 + 1], query) : null,
      ]),
    ]),
    hogql: rows.hogql,
    metadata: {
      ...serializePage(rows, page),
      columns: [table.name, ...table.figures.map(({ name }) => name)].map(
        (name) => `context.columns.${name}`,
      ),
      types: ['String', ...table.figures.map(() => 'UInt64')],
    },
  }
}
