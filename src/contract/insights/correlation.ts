/** Schema of FunnelCorrelationQuery: events and properties of actors who convert, against those who do not. */
import { type Static, t } from 'elysia'
import { FunnelsActorsQuery } from './funnels.ts'
import { optionally, PropertyFilters, rowMembers, Series } from './parts.ts'

const Names = t.Array(t.String({ maxLength: 1000 }), { maxItems: 1000 })

export const FunnelCorrelationQuery = t.Object(
  {
    kind: t.Literal('FunnelCorrelationQuery'),
    /** The funnel; its actors are all that began it where no step is named. */
    source: FunnelsActorsQuery,
    funnelCorrelationType: t.UnionEnum(['events', 'properties', 'event_with_properties']),
    /** Person properties; `$all` for all of them. */
    funnelCorrelationNames: optionally(Names),
    funnelCorrelationExcludeNames: optionally(Names),
    funnelCorrelationExcludeEventNames: optionally(Names),
    /** Events whose properties are compared. */
    funnelCorrelationEventNames: optionally(Names),
    funnelCorrelationEventExcludePropertyNames: optionally(Names),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type FunnelCorrelationQuery = Static<typeof FunnelCorrelationQuery>

/** The actors behind a correlation. */
export const FunnelCorrelationActorsQuery = t.Object(
  {
    kind: t.Literal('FunnelCorrelationActorsQuery'),
    source: FunnelCorrelationQuery,
    /** The correlated event. */
    funnelCorrelationPersonEntity: optionally(Series),
    /** The correlated properties. */
    funnelCorrelationPropertyValues: optionally(PropertyFilters),
    /** Converted actors only, or the others only. */
    funnelCorrelationPersonConverted: optionally(t.Boolean()),
    includeRecordings: optionally(t.Boolean()),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type FunnelCorrelationActorsQuery = Static<typeof FunnelCorrelationActorsQuery>
