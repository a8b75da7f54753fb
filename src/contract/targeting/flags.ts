/** Schemas of feature flags. */
import { t } from 'elysia'
import { AnyJson, Moment, NullableText, NullableYes, pageOfItems, Uuid, Whole } from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const NAME_LENGTH_MAX = 4000
const TAG_LENGTH_MAX = 255
const TAGS_MAX = 100
/** Each of them is looked up. */
const DASHBOARDS_MAX = 100

/** Tags and the like. */
export const Texts = t.Array(t.String({ minLength: 1, maxLength: TAG_LENGTH_MAX }), {
  maxItems: TAGS_MAX,
})

/** Members of a flag; unknown ones are ignored, since clients send back whole answers. */
const members = {
  name: t.Optional(t.String({ maxLength: NAME_LENGTH_MAX })),
  filters: t.Optional(t.Object({}, { additionalProperties: true })),
  active: t.Optional(t.Boolean()),
  deleted: t.Optional(t.Boolean()),
  archived: t.Optional(t.Boolean()),
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
  analytics_dashboards: t.Optional(t.Nullable(t.Array(Whole, { maxItems: DASHBOARDS_MAX }))),
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
export const BlastRadiusBody = t.Object(
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
    /** Pending scheduled changes are copied too. */
    copy_schedule: t.Optional(t.Nullable(t.Boolean())),
    disable_copied_flag: t.Optional(t.Nullable(t.Boolean())),
  },
  { additionalProperties: true },
)

const stored = {
  id: Whole,
  key: t.String(),
  name: t.String(),
  filters: AnyJson,
  deleted: t.Boolean(),
  active: t.Boolean(),
  version: Whole,
  ensure_experience_continuity: t.Boolean(),
  has_encrypted_payloads: t.Boolean(),
}

/** A feature flag as the API returns it. */
export const FlagAnswer = t.Object({
  ...stored,
  bucketing_identifier: NullableText,
  evaluation_runtime: NullableText,
  evaluation_contexts: t.Array(t.String()),
  evaluation_tags: t.Array(t.String()),
  is_remote_configuration: t.Boolean(),
  has_enriched_analytics: t.Boolean(),
  rollback_conditions: AnyJson,
  performed_rollback: NullableYes,
  analytics_dashboards: t.Array(Whole),
  usage_dashboard: t.Nullable(Whole),
  tags: t.Array(t.String()),
  creation_context: t.String(),
  archived: t.Boolean(),
  created_by: NullableUser,
  last_modified_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
  can_edit: t.Boolean(),
  user_access_level: t.String(),
  is_used_in_replay_settings: t.Boolean(),
  is_simple_flag: t.Boolean(),
  rollout_percentage: t.Nullable(t.Number()),
  experiment_set: t.Array(Whole),
  surveys: t.Array(t.Object({ id: Uuid, name: t.String() })),
  features: t.Array(t.Object({ id: Uuid, name: t.String(), stage: t.String() })),
  status: t.UnionEnum(['ACTIVE', 'ARCHIVED', 'DELETED', 'INACTIVE', 'STALE']),
  /** Whether SDKs can evaluate the flag locally, and the reason if not. */
  local_evaluation: t.Nullable(t.Object({ is_local: t.Boolean(), reasons: t.Array(t.String()) })),
})
export const FlagPage = pageOfItems(FlagAnswer)

/** A flag inside the objects that link to it. */
export const LinkedFlag = t.Nullable(t.Object({ ...stored, team_id: Whole }))

const FlagValue = t.Union([t.Boolean(), t.String()])

export const MyFlags = t.Array(t.Object({ feature_flag: FlagAnswer, value: FlagValue }))

/** Flag keys, repeated or with commas; all flags by default. */
const FlagKeysAsked = t.Optional(t.String())

/** Groups as a JSON object: group type to group key. */
export const MyFlagsQuery = t.Object({ groups: t.Optional(t.String()), flag_keys: FlagKeysAsked })

export const ReasonsQuery = t.Object({
  distinct_id: t.String(),
  /** A JSON object: group type to group key. */
  groups: t.Optional(t.String()),
  flag_keys: FlagKeysAsked,
})

/** By flag key. */
export const ReasonsAnswer = t.Record(
  t.String(),
  t.Object({
    value: FlagValue,
    evaluation: t.Object({
      reason: t.String(),
      condition_index: t.Nullable(Whole),
      description: t.Optional(NullableText),
    }),
  }),
)

/** The same numbers under every name that clients have used. */
export const BlastAnswer = t.Object({
  users_affected: Whole,
  total_users: Whole,
  affected: Whole,
  total: Whole,
})

export const FlagStatusAnswer = t.Object({
  status: t.String(),
  reason: t.String(),
  /** Whether the reason describes the rollout itself. */
  reason_states_rollout: t.Boolean(),
  rollout: t.Object({
    is_fully_rolled_out: t.Boolean(),
    has_targeting_conditions: t.Boolean(),
    max_rollout_percentage: t.Nullable(t.Number()),
    is_multivariate: t.Boolean(),
  }),
})

export const CopiesAnswer = t.Object({
  success: t.Array(t.Object({ ...FlagAnswer.properties, team_id: Whole })),
  failed: t.Array(t.Object({ project_id: Whole, error_message: t.String() })),
})

/** The flags with one key in all projects of an organization. */
export const FlagsOfKey = t.Array(
  t.Object({
    flag_id: Whole,
    team_id: Whole,
    created_by: NullableUser,
    filters: AnyJson,
    created_at: Moment,
    active: t.Boolean(),
  }),
)

export const DefinitionsQuery = t.Object({
  token: t.Optional(t.String()),
  /** May be sent without a value. */
  send_cohorts: t.Optional(t.String()),
})

/** Definitions for local evaluation. */
export const DefinitionsAnswer = t.Object({
  flags: t.Array(
    t.Object({
      id: Whole,
      team_id: Whole,
      key: t.String(),
      name: t.Optional(t.String()),
      filters: AnyJson,
      deleted: t.Boolean(),
      active: t.Boolean(),
      version: Whole,
      ensure_experience_continuity: t.Boolean(),
      bucketing_identifier: NullableText,
      evaluation_runtime: NullableText,
      evaluation_contexts: t.Array(t.String()),
      evaluation_tags: t.Array(t.String()),
    }),
  ),
  group_type_mapping: t.Record(t.String(), t.String()),
  cohorts: t.Record(t.String(), AnyJson),
})

/** JSON text in JSON, as SDKs expect; null without a payload. */
export const PayloadAnswer = NullableText

/** Answer of POST …/feature_flags/{id}/dashboard/. */
export const FlagDashboardAnswer = t.Object({ success: t.Literal(true), dashboard_id: Whole })

/** Flags that depend on another flag's value. */
export const DependentFlags = t.Array(t.Object({ id: Whole, key: t.String(), name: t.String() }))
