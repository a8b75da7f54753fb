/** What experiments and holdouts look like on the wire (wire §4.10). */
import { type Static, t } from 'elysia'
import { AnyJson, Moment, NullableMoment, NullableText, pageOfItems, Whole } from './common.ts'
import { LinkedFlag } from './flags.ts'
import { NullableUser } from './user-basic.ts'

const NAME_LENGTH_MAX = 400
const AnyObject = t.Object({}, { additionalProperties: true })
const AnyList = t.Array(t.Unknown())
const SentMoment = t.Optional(t.Nullable(t.String()))

const members = {
  description: t.Optional(t.Nullable(t.String())),
  type: t.Optional(t.Nullable(t.UnionEnum(['web', 'product']))),
  start_date: SentMoment,
  end_date: SentMoment,
  parameters: t.Optional(t.Nullable(AnyObject)),
  filters: t.Optional(t.Nullable(AnyObject)),
  metrics: t.Optional(t.Nullable(AnyList)),
  secondary_metrics: t.Optional(t.Nullable(AnyList)),
  metrics_secondary: t.Optional(t.Nullable(AnyList)),
  variants: t.Optional(t.Nullable(AnyObject)),
  holdout_id: t.Optional(t.Nullable(Whole)),
  exposure_cohort: t.Optional(t.Nullable(Whole)),
  exposure_criteria: t.Optional(t.Nullable(AnyObject)),
  stats_config: t.Optional(t.Nullable(AnyObject)),
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

/** A holdout as it is shown. */
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

/** An experiment as it is shown. */
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
  filters: AnyJson,
  metrics: t.Array(AnyJson),
  metrics_secondary: t.Array(AnyJson),
  secondary_metrics: t.Array(AnyJson),
  variants: AnyJson,
  archived: t.Boolean(),
  deleted: t.Boolean(),
  created_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
})
export const ExperimentPage = pageOfItems(ExperimentAnswer)

export const ExposuresAnswer = t.Object({
  /** People by variant. */
  total_exposures: t.Record(t.String(), Whole),
  date_range: t.Object({ date_from: Moment, date_to: Moment }),
})

const Interval = t.Nullable(t.Array(t.Number(), { minItems: 2, maxItems: 2 }))

const VariantResult = t.Object({
  key: t.String(),
  exposures: Whole,
  /** People who converted, or the sum over people; of a ratio what is divided. */
  count: t.Number(),
  /** Of a ratio what it is divided by. */
  denominator_count: t.Nullable(t.Number()),
  success_count: t.Nullable(Whole),
  failure_count: t.Nullable(Whole),
  mean: t.Nullable(t.Number()),
  credible_interval: Interval,
  /** That this variant is the best of all. */
  probability: t.Nullable(t.Number()),
  expected_loss: t.Nullable(t.Number()),
  chance_to_beat_baseline: t.Nullable(t.Number()),
  difference: t.Nullable(
    t.Object({
      absolute: t.Number(),
      relative: t.Nullable(t.Number()),
      credible_interval: Interval,
      relative_credible_interval: Interval,
    }),
  ),
})

/** What came of one metric. */
const MetricResult = t.Object({
  name: NullableText,
  uuid: NullableText,
  model: t.UnionEnum(['count', 'funnel', 'mean', 'ratio', 'retention', 'sum']),
  baseline: NullableText,
  leader: NullableText,
  significant: t.Boolean(),
  significance_code: t.UnionEnum([
    'high_loss',
    'low_win_probability',
    'not_enough_exposure',
    'significant',
  ]),
  expected_loss: t.Nullable(t.Number()),
  variants: t.Array(VariantResult),
})
export type MetricResult = Static<typeof MetricResult>

/** What came of one metric, or why that cannot be worked out. */
const MetricOutcome = t.Union([
  MetricResult,
  t.Object({ name: NullableText, uuid: NullableText, error: t.String() }),
])

export const ResultsAnswer = t.Object({
  /** People by variant. */
  exposures: t.Record(t.String(), Whole),
  date_range: t.Object({ date_from: Moment, date_to: Moment }),
  metrics: t.Array(MetricOutcome),
  secondary_metrics: t.Array(MetricOutcome),
  /** How all of this is worked out. */
  method: t.Object({
    name: t.String(),
    library: t.String(),
    models: t.Record(t.String(), t.String()),
    credible_level: t.Number(),
    exposures_min: Whole,
    probability_min: t.Number(),
    expected_loss_max: t.Number(),
    exposure: t.String(),
  }),
})
