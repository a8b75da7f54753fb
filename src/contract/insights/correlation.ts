/** FunnelCorrelationQuery as it is sent: what people do who come through a funnel and others do not. */
import { type Static, t } from 'elysia'
import { rowMembers } from './events.ts'
import { FunnelsActorsQuery } from './funnels.ts'
import { optionally, PropertyFilters, Series } from './parts.ts'

const Names = t.Array(t.String({ maxLength: 1000 }), { maxItems: 1000 })

export const FunnelCorrelationQuery = t.Object(
  {
    kind: t.Literal('FunnelCorrelationQuery'),
    /** Whose success is looked at; everybody who began where it names no step. */
    source: FunnelsActorsQuery,
    funnelCorrelationType: t.UnionEnum(['events', 'properties', 'event_with_properties']),
    /** Properties of people; `$all` for all of them. */
    funnelCorrelationNames: optionally(Names),
    funnelCorrelationExcludeNames: optionally(Names),
    funnelCorrelationExcludeEventNames: optionally(Names),
    /** Events whose properties are looked at. */
    funnelCorrelationEventNames: optionally(Names),
    funnelCorrelationEventExcludePropertyNames: optionally(Names),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type FunnelCorrelationQuery = Static<typeof FunnelCorrelationQuery>

/** The people behind a correlation. */
export const FunnelCorrelationActorsQuery = t.Object(
  {
    kind: t.Literal('FunnelCorrelationActorsQuery'),
    source: FunnelCorrelationQuery,
    /** What they did. */
    funnelCorrelationPersonEntity: optionally(Series),
    /** What they are. */
    funnelCorrelationPropertyValues: optionally(PropertyFilters),
    /** Only those who came through, or only the others. */
    funnelCorrelationPersonConverted: optionally(t.Boolean()),
    includeRecordings: optionally(t.Boolean()),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type FunnelCorrelationActorsQuery = Static<typeof FunnelCorrelationActorsQuery>
