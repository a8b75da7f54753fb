/** Schemas of SessionsTimelineQuery, and members shared by queries for rows. */
import { type Static, t } from 'elysia'
import { Members, optionally } from './parts.ts'

const Count = t.Number({ multipleOf: 1, minimum: 0, maximum: 1_000_000_000 })

/**
 * Members of every query for a list of rows. Only queries for events have a filter of test accounts: a list of actors
 * takes the filter of its source.
 */
export const rowMembers = {
  limit: optionally(Count),
  offset: optionally(Count),
  modifiers: optionally(Members),
  response: optionally(t.Unknown()),
  tags: optionally(t.Unknown()),
  version: optionally(t.Number()),
}

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
