/** Schemas of event and property definitions. */
import { t } from 'elysia'
import { Moment, NullableMoment, NullableText, NullableYes, PageQuery, Whole } from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const DESCRIPTION_LENGTH_MAX = 4000
const TAGS_MAX = 100

const YesOrNo = t.Optional(t.UnionEnum(['true', 'false']))

const ListQuery = {
  ...PageQuery.properties,
  /** Words that a name must contain, in any case. */
  search: t.Optional(t.String()),
  exclude_hidden: YesOrNo,
  verified: YesOrNo,
  /** A JSON list: names with any of these tags. */
  tags: t.Optional(t.String()),
}

export const EventDefinitionsQuery = t.Object({
  ...ListQuery,
  event_type: t.Optional(t.UnionEnum(['all', 'event', 'event_custom', 'event_posthog'])),
  ordering: t.Optional(
    t.UnionEnum(['name', '-name', 'created_at', '-created_at', 'last_seen_at', '-last_seen_at']),
  ),
})

export const EventByNameQuery = t.Object({ name: t.String() })

export const PropertyDefinitionsQuery = t.Object({
  ...ListQuery,
  type: t.Optional(t.Union([t.Literal('event'), t.Literal('person'), t.Literal('group')])),
  /** The index of the group type, for properties of groups. */
  group_type_index: t.Optional(t.String()),
  /** Names joined by commas: only these. */
  properties: t.Optional(t.String()),
  /** A JSON list of names to exclude. */
  excluded_properties: t.Optional(t.String()),
  /** Excludes names that begin with `$`. */
  exclude_core_properties: YesOrNo,
  is_numerical: YesOrNo,
  is_feature_flag: YesOrNo,
  /** A JSON list of event names: properties seen on them come first, and say so. */
  event_names: t.Optional(t.String()),
  /** Only properties seen on these events. */
  filter_by_event_names: YesOrNo,
  /** Counts the values that a property's type cannot hold; for at most twenty properties. */
  check_types: YesOrNo,
})

export const PropertyDefinitionQuery = t.Object({ check_types: YesOrNo })

const shared_members = {
  description: t.Optional(t.Nullable(t.String({ maxLength: DESCRIPTION_LENGTH_MAX }))),
  tags: t.Optional(t.Array(t.String({ maxLength: 255 }), { maxItems: TAGS_MAX })),
  hidden: t.Optional(t.Boolean()),
  verified: t.Optional(t.Boolean()),
}

/** Body of PATCH …/event_definitions/; `owner` is the id of a member. */
export const EventDefinitionBody = t.Object(
  { ...shared_members, owner: t.Optional(t.Nullable(Whole)) },
  { additionalProperties: true },
)

/** Body of PATCH …/property_definitions/. */
export const PropertyDefinitionBody = t.Object(
  {
    ...shared_members,
    /** The type with which values are read from now on, also those stored; null detects it from the next value. */
    property_type: t.Optional(
      t.Nullable(t.UnionEnum(['DateTime', 'String', 'Numeric', 'Boolean'])),
    ),
  },
  { additionalProperties: true },
)

const item = {
  id: t.String({ format: 'uuid' }),
  name: t.String(),
  description: NullableText,
  tags: t.Array(t.String()),
  hidden: t.Boolean(),
  verified: t.Boolean(),
  verified_at: NullableMoment,
  verified_by: NullableUser,
  updated_by: NullableUser,
}

export const EventDefinitionItem = t.Object({
  ...item,
  owner: NullableUser,
  created_at: Moment,
  updated_at: Moment,
  last_seen_at: Moment,
  last_updated_at: Moment,
})

export const PropertyDefinitionItem = t.Object({
  ...item,
  /** The kind of its owner. */
  type: t.UnionEnum(['event', 'person', 'group']),
  is_numerical: t.Boolean(),
  property_type: NullableText,
  created_at: Moment,
  updated_at: NullableMoment,
  is_seen_on_filtered_events: NullableYes,
  /** With `check_types`, for properties that are not read as texts: the values of thirty days, of persons or groups all. */
  type_check: t.Nullable(
    t.Object({
      value_count: t.Number(),
      /** Values that read NULL because the type cannot hold them. */
      unreadable_count: t.Number(),
      /** The first and the last of them in order. */
      examples: t.Array(t.String()),
      /** A type that holds every value. */
      suggested_type: t.String(),
    }),
  ),
})
