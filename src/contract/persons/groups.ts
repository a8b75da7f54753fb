/** Schemas of groups and group types. */
import { t } from 'elysia'
import { AnyJson, Moment, NullableText, PageQuery, Whole } from '../common.ts'
import { ActivityQuery } from '../management/project.ts'
import { PersonItem } from './persons.ts'

export const GroupsQuery = t.Object({
  ...PageQuery.properties,
  group_type_index: Whole,
  search: t.Optional(t.String()),
  /** A JSON list of property filters. */
  properties: t.Optional(t.String()),
})

export const GroupQuery = t.Object({ group_type_index: Whole, group_key: t.String() })

/** A page of the changes of a group. */
export const GroupActivityQuery = t.Object({
  page: ActivityQuery.properties.page,
  limit: ActivityQuery.properties.limit,
  ...GroupQuery.properties,
})

export const GroupItem = t.Object({
  group_type_index: Whole,
  group_key: t.String(),
  group_properties: t.Record(t.String(), AnyJson),
  created_at: Moment,
})

export const GroupPage = t.Object({
  next: NullableText,
  previous: NullableText,
  results: t.Array(GroupItem),
})

export const GroupValuesQuery = t.Object({
  group_type_index: Whole,
  key: t.String(),
  value: t.Optional(t.String()),
})

/** Values of a property, the most frequent first. */
export const GroupValueList = t.Array(t.Object({ name: AnyJson, count: Whole }))

/** Without a group type, `id` is that of a person. */
export const RelatedQuery = t.Object({ id: t.String(), group_type_index: t.Optional(Whole) })

/** Persons first, then groups by their types. */
export const RelatedList = t.Array(
  t.Union([
    PersonItem,
    t.Object({
      type: t.Literal('group'),
      id: t.String(),
      group_type_index: Whole,
      group_key: t.String(),
      created_at: Moment,
      properties: t.Record(t.String(), AnyJson),
    }),
  ]),
)

/** The group types of a project, at most five. */
export const GroupTypeList = t.Array(
  t.Object({
    group_type: t.String(),
    group_type_index: Whole,
    name_singular: NullableText,
    name_plural: NullableText,
  }),
)

const GroupTypeName = t.Optional(t.Nullable(t.String({ maxLength: 400 })))

/** Body of PATCH …/groups_types/update_metadata/: types by name, or by index. */
export const GroupTypeNamesBody = t.Array(
  t.Object(
    {
      group_type: t.Optional(t.String()),
      group_type_index: t.Optional(Whole),
      name_singular: GroupTypeName,
      name_plural: GroupTypeName,
    },
    { additionalProperties: true },
  ),
  { maxItems: 100 },
)

/** Properties by the index of the group type. */
export const GroupProperties = t.Record(
  t.String(),
  t.Array(t.Object({ name: t.String(), count: Whole })),
)
