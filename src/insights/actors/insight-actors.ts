/**
 * InsightActorsQuery: the actor ids behind a number as rows; InsightActorsQueryOptions: the numbers
 * of an insight to choose from.
 */
import type {
  ActorsInsight,
  InsightActorsQuery,
  InsightActorsQueryOptions,
  StickinessActorsQuery,
} from '../../contract/insights/actors.ts'
import type { FunnelCorrelationActorsQuery } from '../../contract/insights/correlation.ts'
import type { FunnelsActorsQuery } from '../../contract/insights/funnels.ts'
import { order } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { lifecycleOptions } from '../activity/lifecycle.ts'
import { stickinessOptions } from '../activity/stickiness.ts'
import { sinceFirstEvent } from '../dates/date-range.ts'
import type { InsightContext, InsightKind, RunTree } from '../insight.ts'
import { queryPage, readRowPage, serializePage } from '../page.ts'
import { retentionOptions } from '../retention/actors.ts'
import { trendsOptions } from '../trends/options.ts'
import { sourceOf } from './actors-sources.ts'
import { NO_OPTIONS, type PointOptions } from './point.ts'

/** Rows `actor_id`, `event_count`, the most events first. */
export const INSIGHT_ACTORS: InsightKind<
  FunnelCorrelationActorsQuery | FunnelsActorsQuery | InsightActorsQuery | StickinessActorsQuery
> = {
  rangeOf: () => ({ interval: 'minute', ends_at_ms: null }),
  answer: async (query, context, run) => {
    const { tree, orders } = await sourceOf(query, context, run)
    const page = readRowPage(query, context)
    const rows = await queryPage(
      {
        ...select`select actor_id, event_count from ${tree}`,
        order_by: [...orders, order(expr`actor_id`)],
      },
      page,
      { run, rows_max: context.rows_max },
    )
    return { results: rows.rows, hogql: rows.hogql, metadata: serializePage(rows, page) }
  },
}

/**
 * Members `day`, `interval`, `breakdown`, `breakdowns`, `series`, `compare`, `status`; null where
 * the insight has none.
 */
export const INSIGHT_ACTORS_OPTIONS: InsightKind<InsightActorsQueryOptions> = {
  rangeOf: () => ({ interval: 'minute', ends_at_ms: null }),
  answer: async ({ source }, context, run) => {
    // Of a funnel only its steps can be chosen, and its query names them.
    const options =
      source.kind === 'FunnelsActorsQuery'
        ? NO_OPTIONS
        : await optionsOf(source.source, context, run)
    return { results: options, hogql: null, metadata: options }
  },
}

/** The choices; a line per kind. */
async function optionsOf(
  input: ActorsInsight,
  context: InsightContext,
  run: RunTree,
): Promise<PointOptions> {
  const insight = await sinceFirstEvent(input, context, run)
  switch (insight.kind) {
    case 'LifecycleQuery':
      return lifecycleOptions(insight, context)
    case 'PathsQuery':
      return NO_OPTIONS
    case 'RetentionQuery':
      return retentionOptions(insight, context)
    case 'StickinessQuery':
      return stickinessOptions(insight, context)
    case 'TrendsQuery':
      return trendsOptions(insight, context, run)
  }
}
