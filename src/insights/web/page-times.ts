/** Time on page and scroll depth, which the following view's event carries. */
import type { WebStatsTableQuery } from '../../contract/insights/web.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, field } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import type { InsightContext } from '../insight.ts'
import { allOf, queryCondition } from '../members/conditions.ts'
import { sampledEvents } from './sampling.ts'
import { inAnyPeriod, isWithin, pathColumn, TIMES, type WebPeriods } from './sessions.ts'

const DEPTH = expr`toFloat(properties.$prev_pageview_max_content_percentage)`
const SECONDS = expr`toFloat(properties.$prev_pageview_duration)`

/** Figures of a page; null without such an event. */
const FIGURES: readonly { readonly name: string; readonly of: (within: Expr) => Expr }[] = [
  { name: 'avg_time_on_page', of: (within) => expr`avgIf(${SECONDS}, ${within})` },
  { name: 'average_scroll_percentage', of: (within) => expr`avgIf(${DEPTH}, ${within})` },
  {
    name: 'scroll_gt80_percentage',
    of: (within) => expr`avgIf(if(${DEPTH} > 0.8, 1, 0), ${within} and ${DEPTH} is not null)`,
  },
]

/**
 * Rows of `path` and of each figure now and in the comparison period: `avg_time_on_page_now`,
 * `avg_time_on_page_then`.
 */
export function pageTimesTree(
  query: WebStatsTableQuery,
  context: InsightContext,
  periods: WebPeriods,
): SelectQuery {
  const columns = FIGURES.flatMap(({ name, of }) =>
    TIMES.map((time) => alias(of(isWithin(periods, time)), `${name}_${time}`)),
  )
  const path = pathColumn(expr`toString(properties.$prev_pageview_pathname)`, query, context)
  const condition = allOf(
    inAnyPeriod(periods),
    expr`event in ('$pageview', '$pageleave', '$screen')`,
    expr`${field(['properties', '$prev_pageview_pathname'])} is not null`,
    queryCondition(query, context),
  )
  return select`select ${alias(path, 'path')}, ${columns}
    from ${sampledEvents(query)} where ${condition} group by path`
}
