/** Queries for actors: all of them, or those behind a number of an insight. */

import { type Static, t } from 'elysia'
import { HogQLQuery } from '../analytics/query.ts'
import { LifecycleQuery, StickinessQuery } from './activity.ts'
import { FunnelCorrelationActorsQuery } from './correlation.ts'
import { FunnelsActorsQuery } from './funnels.ts'
import { optionally, PropertyFilters, rowMembers } from './parts.ts'
import { PathsQuery } from './paths.ts'
import { RetentionQuery } from './retention.ts'
import { TrendsQuery } from './trends.ts'

const Value = t.Union([t.String(), t.Number()])
const Texts = t.Array(t.String(), { maxItems: 200 })
const Index = t.Number({ multipleOf: 1, minimum: 0, maximum: 10_000 })

/** Insights that can list their actors. */
export const ActorsInsight = t.Union([
  LifecycleQuery,
  PathsQuery,
  RetentionQuery,
  StickinessQuery,
  TrendsQuery,
])
export type ActorsInsight = Static<typeof ActorsInsight>

/** Identify one number of an insight; members of other insights are ignored. */
const pointMembers = {
  /** `2024-03-01`, or for stickiness the number of intervals. */
  day: optionally(Value),
  /** For retention: the interval in which actors start. */
  interval: optionally(Index),
  series: optionally(Index),
  breakdown: optionally(t.Union([t.String(), t.Number(), t.Array(Value, { maxItems: 3 })])),
  compare: t.Optional(t.Nullable(t.UnionEnum(['current', 'previous']))),
  status: optionally(t.String()),
  /** For stickiness: the comparison of the number of intervals. */
  operator: optionally(t.String()),
  includeRecordings: optionally(t.Boolean()),
  ...rowMembers,
}

export const InsightActorsQuery = t.Object(
  { kind: t.Literal('InsightActorsQuery'), source: ActorsInsight, ...pointMembers },
  { additionalProperties: false },
)
export type InsightActorsQuery = Static<typeof InsightActorsQuery>

export const StickinessActorsQuery = t.Object(
  { kind: t.Literal('StickinessActorsQuery'), source: StickinessQuery, ...pointMembers },
  { additionalProperties: false },
)
export type StickinessActorsQuery = Static<typeof StickinessActorsQuery>

/** Sources of an actors query. */
export const ActorsSource = t.Union([
  FunnelCorrelationActorsQuery,
  FunnelsActorsQuery,
  HogQLQuery,
  InsightActorsQuery,
  StickinessActorsQuery,
])
export type ActorsSource = Static<typeof ActorsSource>

export const ActorsQuery = t.Object(
  {
    kind: t.Literal('ActorsQuery'),
    /** HogQL expressions; `person`, `actor` and `group` are objects. */
    select: optionally(Texts),
    search: optionally(t.String({ maxLength: 1000 })),
    properties: optionally(PropertyFilters),
    fixedProperties: optionally(PropertyFilters),
    orderBy: optionally(Texts),
    source: t.Optional(t.Nullable(ActorsSource)),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type ActorsQuery = Static<typeof ActorsQuery>

/** The older form of a list of persons. */
export const PersonsNode = t.Object(
  {
    kind: t.Literal('PersonsNode'),
    search: optionally(t.String({ maxLength: 1000 })),
    properties: optionally(PropertyFilters),
    fixedProperties: optionally(PropertyFilters),
    cohort: optionally(t.Number({ multipleOf: 1 })),
    distinctId: optionally(t.String()),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type PersonsNode = Static<typeof PersonsNode>

/** The numbers of an insight that can be chosen. */
export const InsightActorsQueryOptions = t.Object(
  {
    kind: t.Literal('InsightActorsQueryOptions'),
    source: t.Union([FunnelsActorsQuery, InsightActorsQuery, StickinessActorsQuery]),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type InsightActorsQueryOptions = Static<typeof InsightActorsQueryOptions>
