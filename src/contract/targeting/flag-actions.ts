/** Schemas of actions on one feature flag: test evaluation, status, versions. */
import { t } from 'elysia'
import { AnyJson, Moment, NullableText, Whole } from '../common.ts'
import { DependentFlags } from './flags.ts'

/** Body of …/feature_flags/{id}/test_evaluation/: a person by distinct id or by person id. */
export const FlagTrialBody = t.Object(
  {
    distinct_id: t.Optional(t.Nullable(t.String({ minLength: 1, maxLength: 400 }))),
    person_id: t.Optional(t.Nullable(t.String({ minLength: 1, maxLength: 400 }))),
    groups: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
    /** Only the present is supported. */
    timestamp: t.Optional(t.Nullable(t.String())),
  },
  { additionalProperties: true },
)

const TriedProperty = t.Object({
  key: t.String(),
  operator: t.String(),
  value: AnyJson,
  type: t.String(),
  actual_value: AnyJson,
  matched: t.Boolean(),
  explanation: t.String(),
})

export const FlagTrialAnswer = t.Object({
  flag_key: t.String(),
  result: t.Union([t.Boolean(), t.String()]),
  reason: t.String(),
  reason_description: NullableText,
  condition_index: t.Nullable(Whole),
  payload: AnyJson,
  /** Properties that the flag reads. */
  person_properties: t.Record(t.String(), AnyJson),
  /** Null when the body contains a person id. */
  evaluation_distinct_id: NullableText,
  conditions: t.Array(
    t.Object({
      index: Whole,
      matched: t.Boolean(),
      properties_matched: t.Boolean(),
      explanation: t.String(),
      rollout_percentage: t.Number(),
      rollout_excluded: t.Boolean(),
      variant: NullableText,
      properties: t.Array(TriedProperty),
    }),
  ),
})

export const ActiveDependents = t.Object({
  has_active_dependents: t.Boolean(),
  dependent_flags: DependentFlags,
  warning: t.Optional(t.String()),
})

/** One version of a flag. */
export const FlagVersionAnswer = t.Object({
  id: Whole,
  key: t.String(),
  name: t.String(),
  filters: AnyJson,
  active: t.Boolean(),
  archived: t.Boolean(),
  deleted: t.Boolean(),
  version: Whole,
  ensure_experience_continuity: t.Boolean(),
  has_enriched_analytics: t.Boolean(),
  is_remote_configuration: t.Boolean(),
  has_encrypted_payloads: t.Boolean(),
  evaluation_runtime: NullableText,
  bucketing_identifier: NullableText,
  tags: t.Array(t.String()),
  created_at: Moment,
  created_by: t.Nullable(Whole),
  /** False for the present version. */
  is_historical: t.Boolean(),
  version_timestamp: Moment,
  modified_by: t.Nullable(Whole),
})
