/** Schemas of experiments and holdouts. */
import { t } from 'elysia'
import {
  AnyJson,
  Moment,
  NullableMoment,
  NullableText,
  PageQuery,
  pageOfItems,
  Whole,
} from '../common.ts'
import { NullableUser } from '../user-basic.ts'
import { FlagAnswer, LinkedFlag } from './flags.ts'

const NAME_LENGTH_MAX = 400
const AnyObject = t.Object({}, { additionalProperties: true })
const AnyList = t.Array(t.Unknown())
const SentMoment = t.Optional(t.Nullable(t.String()))

const CONCLUSIONS = ['won', 'lost', 'inconclusive', 'stopped_early', 'invalid'] as const
const Conclusion = t.Optional(t.Nullable(t.UnionEnum(CONCLUSIONS)))
const Comment = t.Optional(t.Nullable(t.String()))
const Uuids = t.Optional(t.Nullable(t.Array(t.String())))

/** A link to a saved metric, as primary or secondary. */
const SavedMetricLink = t.Object(
  {
    id: Whole,
    metadata: t.Optional(
      t.Nullable(
        t.Object({ type: t.UnionEnum(['primary', 'secondary']) }, { additionalProperties: true }),
      ),
    ),
  },
  { additionalProperties: true },
)

const members = {
  description: t.Optional(t.Nullable(t.String())),
  type: t.Optional(t.Nullable(t.UnionEnum(['web', 'product']))),
  start_date: SentMoment,
  end_date: SentMoment,
  parameters: t.Optional(t.Nullable(AnyObject)),
  /** Settings of the flag, `{ filters: { multivariate, groups, … } }`; one that was answered is ignored. */
  feature_flag: t.Optional(t.Nullable(AnyObject)),
  /** Newer names of members of `parameters`; each replaces the member there. */
  running_time_calculation: t.Optional(t.Nullable(AnyObject)),
  excluded_variants: t.Optional(t.Nullable(t.Array(t.String()))),
  filters: t.Optional(t.Nullable(AnyObject)),
  metrics: t.Optional(t.Nullable(AnyList)),
  secondary_metrics: t.Optional(t.Nullable(AnyList)),
  metrics_secondary: t.Optional(t.Nullable(AnyList)),
  variants: t.Optional(t.Nullable(AnyObject)),
  holdout_id: t.Optional(t.Nullable(Whole)),
  exposure_cohort: t.Optional(t.Nullable(Whole)),
  exposure_criteria: t.Optional(t.Nullable(AnyObject)),
  stats_config: t.Optional(t.Nullable(AnyObject)),
  saved_metrics_ids: t.Optional(t.Nullable(t.Array(SavedMetricLink))),
  primary_metrics_ordered_uuids: Uuids,
  secondary_metrics_ordered_uuids: Uuids,
  scheduling_config: t.Optional(t.Nullable(AnyObject)),
  only_count_matured_users: t.Optional(t.Nullable(t.Boolean())),
  conclusion: Conclusion,
  conclusion_comment: Comment,
  /** Lets the flag follow `parameters` after the start too. */
  update_feature_flag_params: t.Optional(t.Boolean()),
  archived: t.Optional(t.Boolean()),
  deleted: t.Optional(t.Nullable(t.Boolean())),
}

/** Body of POST …/experiments/. */
export const NewExperiment = t.Object(
  {
    name: t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
    feature_flag_key: t.String({ minLength: 1 }),
    ...members,
  },
  { additionalProperties: true },
)

/** Body of PATCH …/experiments/{id}/. */
export const ExperimentChange = t.Object(
  {
    name: t.Optional(t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })),
    feature_flag_key: t.Optional(t.String()),
    ...members,
  },
  { additionalProperties: true },
)

/** Body of POST …/experiments/{id}/end/. */
export const ExperimentEnd = t.Object(
  { conclusion: Conclusion, conclusion_comment: Comment },
  { additionalProperties: true },
)

/** Body of POST …/experiments/{id}/ship_variant/. */
export const VariantShipment = t.Object(
  {
    variant_key: t.String({ minLength: 1 }),
    /** To all persons, whatever the flag's conditions. */
    release_to_everyone: t.Optional(t.Boolean()),
    conclusion: Conclusion,
    conclusion_comment: Comment,
  },
  { additionalProperties: true },
)

const copied = {
  name: t.Optional(t.String({ maxLength: NAME_LENGTH_MAX })),
  feature_flag_key: t.Optional(t.String()),
}

/** Body of POST …/experiments/{id}/duplicate/. */
export const ExperimentCopy = t.Object(copied, { additionalProperties: true })

/** Body of POST …/experiments/{id}/copy_to_project/. */
export const ExperimentTransfer = t.Object(
  { target_team_id: Whole, ...copied },
  { additionalProperties: true },
)

/** The state of an experiment. */
const Status = t.UnionEnum(['draft', 'running', 'paused', 'stopped'])

/** Filters and order of a list of experiments. */
export const ExperimentsQuery = t.Object({
  ...PageQuery.properties,
  /** `complete` is a synonym of `stopped`. */
  status: t.Optional(t.UnionEnum(['draft', 'running', 'paused', 'stopped', 'complete', 'all'])),
  archived: t.Optional(t.UnionEnum(['true', 'false'])),
  search: t.Optional(t.String()),
  created_by_id: t.Optional(Whole),
  feature_flag_id: t.Optional(Whole),
  event: t.Optional(t.String()),
  /** A field, with `-` before it for the greatest first. */
  order: t.Optional(t.String()),
})

/** Filters and order of a list of flags available to experiments. */
export const EligibleFlagsQuery = t.Object({
  ...PageQuery.properties,
  search: t.Optional(t.String()),
  active: t.Optional(t.UnionEnum(['true', 'false'])),
  created_by_id: t.Optional(Whole),
  evaluation_runtime: t.Optional(t.String()),
  has_evaluation_contexts: t.Optional(t.UnionEnum(['true', 'false'])),
  order: t.Optional(t.String()),
})

export const EligibleFlags = t.Object({ results: t.Array(FlagAnswer), count: Whole })

/** Counts of experiments in a project. */
export const ExperimentStats = t.Object({
  launched_last_30d: Whole,
  launched_previous_30d: Whole,
  percent_change: t.Number(),
  active_experiments: Whole,
  completed_last_30d: Whole,
})

/** Body of POST …/experiment_holdouts/. */
export const NewHoldout = t.Object(
  {
    name: t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
    description: t.Optional(t.Nullable(t.String())),
    filters: t.Array(AnyObject),
  },
  { additionalProperties: true },
)

/** Body of PATCH …/experiment_holdouts/{id}/. */
export const HoldoutChange = t.Object(
  {
    name: t.Optional(t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })),
    description: t.Optional(t.Nullable(t.String())),
    filters: t.Optional(t.Array(AnyObject)),
  },
  { additionalProperties: true },
)

/** A holdout as the API returns it. */
export const HoldoutAnswer = t.Object({
  id: Whole,
  name: t.String(),
  description: NullableText,
  filters: AnyJson,
  created_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
})
export const HoldoutPage = pageOfItems(HoldoutAnswer)

/** An experiment as the API returns it. */
export const ExperimentAnswer = t.Object({
  id: Whole,
  name: t.String(),
  description: NullableText,
  type: t.String(),
  start_date: NullableMoment,
  end_date: NullableMoment,
  feature_flag_key: t.String(),
  feature_flag: LinkedFlag,
  holdout_id: t.Nullable(Whole),
  holdout: t.Nullable(
    t.Object({
      id: Whole,
      project_id: Whole,
      name: t.String(),
      description: NullableText,
      filters: AnyJson,
      created_by: t.Nullable(Whole),
      created_at: Moment,
      updated_at: Moment,
    }),
  ),
  exposure_cohort: t.Nullable(Whole),
  exposure_criteria: AnyJson,
  stats_config: AnyJson,
  parameters: AnyJson,
  running_time_calculation: AnyJson,
  excluded_variants: AnyJson,
  filters: AnyJson,
  metrics: t.Array(AnyJson),
  metrics_secondary: t.Array(AnyJson),
  secondary_metrics: t.Array(AnyJson),
  saved_metrics: t.Array(
    t.Object({
      id: Whole,
      experiment: Whole,
      saved_metric: Whole,
      metadata: AnyJson,
      created_at: Moment,
      name: t.String(),
      query: AnyJson,
    }),
  ),
  /** The same metrics in the form in which they are sent. */
  saved_metrics_ids: t.Array(t.Object({ id: Whole, metadata: AnyJson })),
  primary_metrics_ordered_uuids: AnyJson,
  secondary_metrics_ordered_uuids: AnyJson,
  scheduling_config: AnyJson,
  only_count_matured_users: t.Boolean(),
  conclusion: t.Nullable(t.UnionEnum(CONCLUSIONS)),
  conclusion_comment: NullableText,
  status: Status,
  variants: AnyJson,
  archived: t.Boolean(),
  deleted: t.Boolean(),
  created_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
})
export const ExperimentPage = pageOfItems(ExperimentAnswer)
