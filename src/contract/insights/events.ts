/** Schemas of the queries for rows of events: EventsQuery, SessionsTimelineQuery. */
import { type Static, t } from 'elysia'
import { ActorsSource } from './actors.ts'
import { optionally, PropertyFilters, rowMembers } from './parts.ts'

/** Rows or aggregates of events. */
export const EventsQuery = t.Object(
  {
    kind: t.Literal('EventsQuery'),
    /** HogQL expressions; `*` and `person` are objects. */
    select: t.Array(t.String(), { maxItems: 200 }),
    /** HogQL expressions, all of which hold. */
    where: optionally(t.Array(t.String(), { maxItems: 200 })),
    properties: optionally(PropertyFilters),
    fixedProperties: optionally(PropertyFilters),
    event: optionally(t.String()),
    /** Any of these events. */
    events: optionally(t.Array(t.String(), { maxItems: 1000 })),
    actionId: optionally(t.Number({ multipleOf: 1 })),
    personId: optionally(t.String()),
    /** Dates, or relative like `-7d`; `all` for no bound. */
    after: optionally(t.String()),
    before: optionally(t.String()),
    filterTestAccounts: optionally(t.Boolean()),
    /** Only events that this number of a trend counts; of other sources all events of their actors. */
    source: t.Optional(t.Nullable(ActorsSource)),
    orderBy: optionally(t.Array(t.String(), { maxItems: 200 })),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type EventsQuery = Static<typeof EventsQuery>

/** Sessions with their events. */
export const SessionsTimelineQuery = t.Object(
  {
    kind: t.Literal('SessionsTimelineQuery'),
    personId: optionally(t.String()),
    after: optionally(t.String()),
    before: optionally(t.String()),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type SessionsTimelineQuery = Static<typeof SessionsTimelineQuery>
