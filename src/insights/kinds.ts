/** INSIGHTS: every kind of insight query. */
import type { InsightQueries } from '../contract/insights/kinds.ts'
import { CALENDAR_HEATMAP } from './activity/calendar-heatmap.ts'
import { LIFECYCLE } from './activity/lifecycle.ts'
import { STICKINESS } from './activity/stickiness.ts'
import { ACTORS_QUERY, PERSONS_NODE } from './actors/actors-query.ts'
import { INSIGHT_ACTORS, INSIGHT_ACTORS_OPTIONS } from './actors/insight-actors.ts'
import { CORRELATION } from './correlation/correlation.ts'
import { EVENTS_QUERY } from './events-query.ts'
import { EXPERIMENT, EXPERIMENT_FUNNELS, EXPERIMENT_TRENDS } from './experiments/queries.ts'
import { EXPERIMENT_EXPOSURE } from './experiments/trees/exposure-query.ts'
import { FUNNELS } from './funnels/funnels.ts'
import type {
  InsightAnswer,
  InsightContext,
  InsightDates,
  InsightKind,
  InsightList,
  InsightRange,
  RunTree,
} from './insight.ts'
import { PATHS } from './paths/paths.ts'
import { RETENTION_QUERY } from './retention/retention.ts'
import { SESSIONS_TIMELINE_QUERY } from './sessions-timeline.ts'
import { ACTORS_PROPERTY_TAXONOMY, EVENT_TAXONOMY, TEAM_TAXONOMY } from './taxonomy.ts'
import { TRENDS } from './trends/trends.ts'
import { WEB_EXTERNAL_CLICKS } from './web/event-tables.ts'
import { WEB_OVERVIEW } from './web/overview.ts'
import { WEB_STATS } from './web/stats.ts'

export type InsightName = keyof InsightQueries

/** A line per kind. Adding an insight means a schema in contract/insights and a line here. */
const INSIGHTS: { readonly [Kind in InsightName]: InsightKind<InsightQueries[Kind]> } = {
  ActorsPropertyTaxonomyQuery: ACTORS_PROPERTY_TAXONOMY,
  ActorsQuery: ACTORS_QUERY,
  EventTaxonomyQuery: EVENT_TAXONOMY,
  CalendarHeatmapQuery: CALENDAR_HEATMAP,
  EventsQuery: EVENTS_QUERY,
  ExperimentExposureQuery: EXPERIMENT_EXPOSURE,
  ExperimentFunnelsQuery: EXPERIMENT_FUNNELS,
  ExperimentQuery: EXPERIMENT,
  ExperimentTrendsQuery: EXPERIMENT_TRENDS,
  FunnelsActorsQuery: INSIGHT_ACTORS,
  FunnelCorrelationActorsQuery: INSIGHT_ACTORS,
  FunnelCorrelationQuery: CORRELATION,
  FunnelsQuery: FUNNELS,
  InsightActorsQuery: INSIGHT_ACTORS,
  InsightActorsQueryOptions: INSIGHT_ACTORS_OPTIONS,
  LifecycleQuery: LIFECYCLE,
  PathsQuery: PATHS,
  PersonsNode: PERSONS_NODE,
  RetentionQuery: RETENTION_QUERY,
  SessionsTimelineQuery: SESSIONS_TIMELINE_QUERY,
  StickinessActorsQuery: INSIGHT_ACTORS,
  StickinessQuery: STICKINESS,
  TeamTaxonomyQuery: TEAM_TAXONOMY,
  TrendsQuery: TRENDS,
  WebExternalClicksTableQuery: WEB_EXTERNAL_CLICKS,
  WebOverviewQuery: WEB_OVERVIEW,
  WebStatsTableQuery: WEB_STATS,
}

/** Whether a kind is an insight. */
export function isInsight(kind: string): kind is InsightName {
  return Object.hasOwn(INSIGHTS, kind)
}

/** The interval and end of a query's range, by which its answer is cached. Refuses texts that are not dates. */
export function rangeOfInsight<Kind extends InsightName>(
  kind: Kind,
  query: InsightQueries[Kind],
  dates: InsightDates,
): InsightRange {
  return INSIGHTS[kind].rangeOf(query, dates)
}

/** A list as one query of any length; null for other kinds, and for lists of whole objects. */
export function listOfInsight<Kind extends InsightName>(
  kind: Kind,
  query: InsightQueries[Kind],
): (context: InsightContext, run: RunTree) => Promise<InsightList | null> {
  const { list } = INSIGHTS[kind]
  return async (context, run) => (list === undefined ? null : await list(query, context, run))
}

/**
 * Binds a query to its kind; the returned function runs it. The answer refuses as its kind and the
 * engine do.
 */
export function insightOf<Kind extends InsightName>(
  kind: Kind,
  query: InsightQueries[Kind],
): (context: InsightContext, run: RunTree) => Promise<InsightAnswer> {
  return (context, run) => INSIGHTS[kind].answer(query, context, run)
}
