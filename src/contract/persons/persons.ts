/** Schemas of persons and of correlation requests. */
import { t } from 'elysia'
import { AnyJson, Moment, PageQuery, Whole } from '../common.ts'

/** Query parameter of all of them. */
export const FormatQuery = t.Object({
  format: t.Optional(t.Union([t.Literal('csv'), t.Literal('json')])),
})

/** Body of POST …/persons/funnel/correlation/; the type of `properties` is not documented. */
export const CorrelationBody = t.Object(
  { properties: t.Optional(AnyJson) },
  { additionalProperties: true },
)

/** Body of POST …/persons/funnel/: legacy filters, in which lists are JSON lists. */
export const FunnelPeopleBody = t.Object({}, { additionalProperties: true })

export const ValuesQuery = t.Object({
  ...FormatQuery.properties,
  key: t.Optional(t.String()),
  value: t.Optional(t.String()),
})

/** The values of a property and how often each occurs. */
export const ValueList = t.Array(t.Object({ name: AnyJson, count: Whole }))

export const PersonsQuery = t.Object({
  ...PageQuery.properties,
  ...FormatQuery.properties,
  email: t.Optional(t.String()),
  distinct_id: t.Optional(t.String()),
  search: t.Optional(t.String()),
  /** Only members of this cohort. */
  cohort: t.Optional(Whole),
  /** Property filters as JSON: a list, a group, or `{"age__gt": 5}`. */
  properties: t.Optional(t.String()),
})

/** A person in a list. */
export const PersonItem = t.Object({
  type: t.Literal('person'),
  id: t.String({ format: 'uuid' }),
  uuid: t.String({ format: 'uuid' }),
  name: t.String(),
  distinct_ids: t.Array(t.String()),
  properties: t.Record(t.String(), AnyJson),
  created_at: Moment,
  is_identified: t.Boolean(),
  matched_recordings: t.Array(AnyJson),
  /** The person's count of the queried events; null when the query counts none. */
  value_at_data_point: t.Nullable(t.Number()),
})
