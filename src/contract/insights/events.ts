/** Questions for events as they are: lists of them, and sessions of one person. Interface §4.3. */
import { type Static, t } from 'elysia'
import { Members, optionally, PropertyFilters } from './parts.ts'

const Count = t.Number({ multipleOf: 1, minimum: 0, maximum: 1_000_000_000 })

/** Members that questions for rows may have, whatever the rows are. */
export const rowMembers = {
  limit: optionally(Count),
  offset: optionally(Count),
  filterTestAccounts: optionally(t.Boolean()),
  modifiers: optionally(Members),
  response: optionally(t.Unknown()),
  tags: optionally(t.Unknown()),
  version: optionally(t.Number()),
}

export const EventsQuery = t.Object(
  {
    kind: t.Literal('EventsQuery'),
    /** HogQL expressions; `*` and `person` stand for objects. */
    select: t.Array(t.String(), { maxItems: 200 }),
    /** HogQL expressions, all of which hold. */
    where: optionally(t.Array(t.String(), { maxItems: 200 })),
    properties: optionally(PropertyFilters),
    fixedProperties: optionally(PropertyFilters),
    event: optionally(t.String()),
    /** Any of these. */
    events: optionally(t.Array(t.String(), { maxItems: 1000 })),
    actionId: optionally(t.Number({ multipleOf: 1 })),
    personId: optionally(t.String()),
    /** Dates, or relative like `-7d`; `all` for no bound. */
    after: optionally(t.String()),
    before: optionally(t.String()),
    orderBy: optionally(t.Array(t.String(), { maxItems: 200 })),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type EventsQuery = Static<typeof EventsQuery>

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
