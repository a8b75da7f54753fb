/** Definitions of events and properties on the wire (wire §4.10). */
import { t } from 'elysia'
import { Moment, NullableText, PageQuery } from './common.ts'

export const EventDefinitionsQuery = t.Object({
  ...PageQuery.properties,
  search: t.Optional(t.String()),
})

export const PropertyDefinitionsQuery = t.Object({
  ...PageQuery.properties,
  search: t.Optional(t.String()),
  type: t.Optional(t.Union([t.Literal('event'), t.Literal('person'), t.Literal('group')])),
  /** Of properties of groups: which type of groups. */
  group_type_index: t.Optional(t.String()),
  /** Names joined by commas: these alone. */
  properties: t.Optional(t.String()),
})

export const EventDefinitionItem = t.Object({
  id: t.String({ format: 'uuid' }),
  name: t.String(),
  owner: t.Null(),
  description: NullableText,
  created_at: Moment,
  updated_at: Moment,
  last_seen_at: Moment,
  tags: t.Array(t.String()),
  verified: t.Boolean(),
})

export const PropertyDefinitionItem = t.Object({
  id: t.String({ format: 'uuid' }),
  name: t.String(),
  is_numerical: t.Boolean(),
  property_type: NullableText,
  tags: t.Array(t.String()),
  is_seen_on_filtered_events: t.Null(),
})
