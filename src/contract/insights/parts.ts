/** Schemas that several insights share: series, date range, property filters. */
import { type Static, type TSchema, t } from 'elysia'

export const optionally = <Schema extends TSchema>(schema: Schema) => t.Optional(t.Nullable(schema))
export const Members = t.Record(t.String(), t.Unknown())

/** Intervals of the time axis. */
export const Interval = t.UnionEnum(['minute', 'hour', 'day', 'week', 'month'])
export type Interval = Static<typeof Interval>

/** The date range of a query: dates, or relative like `-7d`; `all` begins with the first event. */
export const DateRange = t.Object(
  {
    date_from: optionally(t.String()),
    date_to: optionally(t.String()),
    /** True where `date_to` is an instant and not a day. */
    explicitDate: optionally(t.Boolean()),
  },
  { additionalProperties: false },
)
export type DateRange = Static<typeof DateRange>

/** A list of property filters, or groups of them: `{type: AND | OR, values}`. */
export const PropertyFilters = t.Union([t.Array(Members), Members])
export type PropertyFilters = Static<typeof PropertyFilters>

/** Members of every series besides its events. */
const seriesMembers = {
  name: optionally(t.String()),
  custom_name: optionally(t.String()),
  math: optionally(t.String()),
  math_property: optionally(t.String()),
  math_property_type: optionally(t.String()),
  math_hogql: optionally(t.String()),
  math_group_type_index: optionally(t.Number({ multipleOf: 1, minimum: 0, maximum: 4 })),
  math_multiplier: optionally(t.Number()),
  properties: optionally(PropertyFilters),
  fixedProperties: optionally(PropertyFilters),
  optionalInFunnel: optionally(t.Boolean()),
}

/** Events of one name; of any name where `event` is null or missing. */
export const EventsNode = t.Object(
  { kind: t.Literal('EventsNode'), event: optionally(t.String()), ...seriesMembers },
  { additionalProperties: true },
)

/** Events that a saved action matches. */
export const ActionsNode = t.Object(
  { kind: t.Literal('ActionsNode'), id: t.Number({ multipleOf: 1 }), ...seriesMembers },
  { additionalProperties: true },
)

/** Events of any of several series. */
const GroupNode = t.Object(
  {
    kind: t.Literal('GroupNode'),
    operator: t.Literal('OR'),
    nodes: t.Array(t.Union([EventsNode, ActionsNode]), { minItems: 1, maxItems: 26 }),
    event: optionally(t.Null()),
    ...seriesMembers,
  },
  { additionalProperties: true },
)

/** One series of a query. */
export const Series = t.Union([EventsNode, ActionsNode, GroupNode])
export type Series = Static<typeof Series>

/** Members of every insight query; editors' display settings are in the kinds' own filters. */
export const commonMembers = {
  dateRange: optionally(DateRange),
  properties: optionally(PropertyFilters),
  filterTestAccounts: optionally(t.Boolean()),
  samplingFactor: optionally(t.Number({ exclusiveMinimum: 0, maximum: 1 })),
  aggregation_group_type_index: optionally(t.Number({ multipleOf: 1, minimum: 0, maximum: 4 })),
  dataColorTheme: optionally(t.Unknown()),
  modifiers: optionally(Members),
  name: optionally(t.String()),
  response: optionally(t.Unknown()),
  tags: optionally(t.Unknown()),
  version: optionally(t.Number()),
}

const RowCount = t.Number({ multipleOf: 1, minimum: 0, maximum: 1_000_000_000 })

/**
 * Members of every query for a list of rows. Only queries for events have a filter of test accounts: a list of actors
 * takes the filter of its source.
 */
export const rowMembers = {
  limit: optionally(RowCount),
  offset: optionally(RowCount),
  modifiers: optionally(Members),
  response: optionally(t.Unknown()),
  tags: optionally(t.Unknown()),
  version: optionally(t.Number()),
}
