/** Schemas of annotations. */
import { t } from 'elysia'
import { Moment, NullableMoment, NullableText, PageQuery, pageOfItems, Whole } from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const CONTENT_LENGTH_MAX = 8192

const SCOPES = ['dashboard_item', 'dashboard', 'project', 'organization'] as const
const CREATION_TYPES = ['USR', 'GIT'] as const

/** Body of POST …/annotations/ and of PATCH. */
export const AnnotationBody = t.Object(
  {
    content: t.Optional(t.Nullable(t.String({ maxLength: CONTENT_LENGTH_MAX }))),
    date_marker: t.Optional(t.Nullable(t.String())),
    creation_type: t.Optional(t.UnionEnum(CREATION_TYPES)),
    scope: t.Optional(t.UnionEnum(SCOPES)),
    /** The insight that shows it. */
    dashboard_item: t.Optional(t.Nullable(Whole)),
    dashboard_id: t.Optional(t.Nullable(Whole)),
    deleted: t.Optional(t.Boolean()),
  },
  { additionalProperties: true },
)

export const AnnotationsQuery = t.Object({
  ...PageQuery.properties,
  search: t.Optional(t.String()),
  scope: t.Optional(t.UnionEnum(SCOPES)),
})

export const AnnotationAnswer = t.Object({
  id: Whole,
  content: NullableText,
  date_marker: NullableMoment,
  creation_type: t.UnionEnum(CREATION_TYPES),
  scope: t.UnionEnum(SCOPES),
  dashboard_item: t.Nullable(Whole),
  insight_short_id: NullableText,
  insight_name: NullableText,
  insight_derived_name: NullableText,
  dashboard_id: t.Nullable(Whole),
  dashboard_name: NullableText,
  deleted: t.Boolean(),
  created_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
})
export const AnnotationPage = pageOfItems(AnnotationAnswer)
