/** What bodies about feature flags look like on the wire (wire §3.8). */
import { t } from 'elysia'

const NAME_LENGTH_MAX = 4000
const TAG_LENGTH_MAX = 255
const TAGS_MAX = 100

const Texts = t.Array(t.String({ minLength: 1, maxLength: TAG_LENGTH_MAX }), { maxItems: TAGS_MAX })

/** Everything that may be said of a flag; what is not listed is ignored, since clients send back what they were given. */
const members = {
  name: t.Optional(t.String({ maxLength: NAME_LENGTH_MAX })),
  filters: t.Optional(t.Object({}, { additionalProperties: true })),
  active: t.Optional(t.Boolean()),
  deleted: t.Optional(t.Boolean()),
  ensure_experience_continuity: t.Optional(t.Nullable(t.Boolean())),
  rollout_percentage: t.Optional(t.Nullable(t.Number({ minimum: 0, maximum: 100 }))),
  evaluation_runtime: t.Optional(t.Nullable(t.UnionEnum(['all', 'client', 'server']))),
  bucketing_identifier: t.Optional(t.Nullable(t.UnionEnum(['distinct_id', 'device_id']))),
  evaluation_contexts: t.Optional(t.Nullable(Texts)),
  evaluation_tags: t.Optional(t.Nullable(Texts)),
  is_remote_configuration: t.Optional(t.Nullable(t.Boolean())),
  has_enriched_analytics: t.Optional(t.Nullable(t.Boolean())),
  rollback_conditions: t.Optional(t.Unknown()),
  performed_rollback: t.Optional(t.Nullable(t.Boolean())),
  analytics_dashboards: t.Optional(t.Nullable(t.Array(t.Number()))),
  usage_dashboard: t.Optional(t.Nullable(t.Number())),
  tags: t.Optional(t.Nullable(Texts)),
  creation_context: t.Optional(t.Nullable(t.String())),
}

/** Body of POST …/feature_flags/ and of PUT. */
export const NewFlag = t.Object(
  { key: t.String({ minLength: 1 }), ...members },
  { additionalProperties: true },
)

/** Body of PATCH …/feature_flags/{id}/. */
export const FlagChange = t.Object(
  { key: t.Optional(t.String({ minLength: 1 })), ...members },
  { additionalProperties: true },
)

/** Body of …/feature_flags/user_blast_radius/. */
export const BlastQuestion = t.Object(
  {
    condition: t.Object(
      { properties: t.Optional(t.Array(t.Unknown())) },
      { additionalProperties: true },
    ),
    group_type_index: t.Optional(t.Nullable(t.Number({ minimum: 0, maximum: 4, multipleOf: 1 }))),
  },
  { additionalProperties: true },
)

const ProjectId = t.Number({ minimum: 1, multipleOf: 1 })

/** Body of …/organizations/{id}/feature_flags/copy_flags/. */
export const FlagCopy = t.Object(
  {
    feature_flag_key: t.String({ minLength: 1 }),
    from_project: ProjectId,
    target_project_ids: t.Array(ProjectId, { minItems: 1, maxItems: 100 }),
  },
  { additionalProperties: true },
)
