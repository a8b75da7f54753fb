/** Schemas of lists of events. */
import { t } from 'elysia'
import { AnyJson, Moment, PageQuery, Whole } from '../common.ts'

const Properties = t.Record(t.String(), AnyJson)

export const EventsQuery = t.Object({
  ...PageQuery.properties,
  format: t.Optional(t.Union([t.Literal('csv'), t.Literal('json')])),
  after: t.Optional(t.String()),
  before: t.Optional(t.String()),
  event: t.Optional(t.String()),
  /** Only events of this action. */
  action_id: t.Optional(Whole),
  distinct_id: t.Optional(t.String()),
  person_id: t.Optional(t.String()),
  /** Property filters as JSON: a list, a group, or `{"age__gt": 5}`. */
  properties: t.Optional(t.String()),
  /** A JSON list: `["timestamp"]` or `["-timestamp"]`. */
  orderBy: t.Optional(t.String()),
})

export const EventValuesQuery = t.Object({
  key: t.Optional(t.String()),
  value: t.Optional(t.String()),
  event_name: t.Optional(t.String()),
})

/** One event of a list. */
export const EventItem = t.Object({
  id: t.String({ format: 'uuid' }),
  distinct_id: t.String(),
  properties: Properties,
  event: t.String(),
  timestamp: Moment,
  person: t.Nullable(
    t.Object({
      is_identified: t.Boolean(),
      distinct_ids: t.Array(t.String()),
      properties: Properties,
    }),
  ),
  elements: t.Array(t.Object({}, { additionalProperties: true })),
  elements_chain: t.String(),
})

/** A page of events, without a count: counting would cost more than the page. */
export const EventPage = t.Object({
  next: t.Nullable(t.String()),
  results: t.Array(EventItem),
})

export const LiveEventsQuery = t.Object({
  /** Only events of this name. */
  event: t.Optional(t.String()),
  distinct_id: t.Optional(t.String()),
  person_id: t.Optional(t.String()),
  /** Property filters as JSON: a list, a group, or `{"age__gt": 5}`. */
  properties: t.Optional(t.String()),
  /** `last_id` of an answer, or the id of a message: events after it. The header Last-Event-ID does the same. */
  after: t.Optional(t.String()),
})

/** The newest events after a position, the newest first. A stream (`Accept: text/event-stream`) has them as messages. */
export const LiveEvents = t.Object({
  events: t.Array(
    t.Object({
      id: t.String({ format: 'uuid' }),
      event: t.String(),
      distinct_id: t.String(),
      timestamp: Moment,
      properties: Properties,
      /** Properties are left out because they are long. */
      is_cut: t.Boolean(),
      person: t.Nullable(t.Object({ properties: Properties })),
    }),
  ),
  /** About how many events came too fast to be shown. */
  missed: Whole,
  last_id: t.String(),
})

/** Values, the most frequent first; names of events have no count. */
export const EventValueList = t.Array(t.Object({ name: AnyJson, count: t.Optional(Whole) }))
