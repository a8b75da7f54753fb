/** Schemas of insight queries; one line per kind. */

import type { Static } from 'elysia'
import { CalendarHeatmapQuery, LifecycleQuery, StickinessQuery } from './activity.ts'
import {
  ActorsQuery,
  InsightActorsQuery,
  InsightActorsQueryOptions,
  PersonsNode,
  StickinessActorsQuery,
} from './actors.ts'
import { FunnelCorrelationActorsQuery, FunnelCorrelationQuery } from './correlation.ts'
import { EventsQuery, SessionsTimelineQuery } from './events.ts'
import {
  ExperimentExposureQuery,
  ExperimentFunnelsQuery,
  ExperimentQuery,
  ExperimentTrendsQuery,
} from './experiments.ts'
import { FunnelsActorsQuery, FunnelsQuery } from './funnels.ts'
import { PathsQuery } from './paths.ts'
import { RetentionQuery } from './retention.ts'
import { ActorsPropertyTaxonomyQuery, EventTaxonomyQuery, TeamTaxonomyQuery } from './taxonomy.ts'
import { TrendsQuery } from './trends.ts'
import { WebExternalClicksTableQuery, WebOverviewQuery, WebStatsTableQuery } from './web.ts'

export const INSIGHT_QUERIES = {
  ActorsPropertyTaxonomyQuery,
  ActorsQuery,
  CalendarHeatmapQuery,
  EventTaxonomyQuery,
  EventsQuery,
  ExperimentExposureQuery,
  ExperimentFunnelsQuery,
  ExperimentQuery,
  ExperimentTrendsQuery,
  FunnelsActorsQuery,
  FunnelCorrelationActorsQuery,
  FunnelCorrelationQuery,
  FunnelsQuery,
  InsightActorsQuery,
  InsightActorsQueryOptions,
  LifecycleQuery,
  PathsQuery,
  PersonsNode,
  RetentionQuery,
  SessionsTimelineQuery,
  StickinessActorsQuery,
  StickinessQuery,
  TeamTaxonomyQuery,
  TrendsQuery,
  WebExternalClicksTableQuery,
  WebOverviewQuery,
  WebStatsTableQuery,
} as const

type InsightSchemas = typeof INSIGHT_QUERIES

/** Validated insight queries, by kind. */
export type InsightQueries = {
  readonly [Kind in keyof InsightSchemas]: Static<InsightSchemas[Kind]>
}
