/** Schemas of experiment results. */
import { type Static, t } from 'elysia'
import { AnyJson, Moment, NullableMoment, NullableText, Whole } from '../common.ts'

export const ExposuresAnswer = t.Object({
  /** Persons by variant. */
  total_exposures: t.Record(t.String(), Whole),
  date_range: t.Object({ date_from: Moment, date_to: Moment }),
})

const Interval = t.Nullable(t.Array(t.Number(), { minItems: 2, maxItems: 2 }))

const VariantResult = t.Object({
  key: t.String(),
  exposures: Whole,
  /** Persons who converted, or the sum over persons; for a ratio its numerator. */
  count: t.Number(),
  /** The denominator of a ratio. */
  denominator_count: t.Nullable(t.Number()),
  success_count: t.Nullable(Whole),
  failure_count: t.Nullable(Whole),
  mean: t.Nullable(t.Number()),
  credible_interval: Interval,
  /** The probability that this variant is the best of all. */
  probability: t.Nullable(t.Number()),
  expected_loss: t.Nullable(t.Number()),
  chance_to_beat_baseline: t.Nullable(t.Number()),
  /** The p-value of the difference from the baseline; frequentist tests only. */
  p_value: t.Nullable(t.Number()),
  /** The interval of the difference from the baseline; frequentist tests only. */
  confidence_interval: Interval,
  /** Reasons why the variant is not compared with the baseline. */
  validation_failures: t.Array(
    t.UnionEnum(['baseline-mean-is-zero', 'not-enough-exposures', 'not-enough-metric-data']),
  ),
  difference: t.Nullable(
    t.Object({
      absolute: t.Number(),
      relative: t.Nullable(t.Number()),
      credible_interval: Interval,
      relative_credible_interval: Interval,
    }),
  ),
})

/** The result of one metric. */
const MetricResult = t.Object({
  name: NullableText,
  uuid: NullableText,
  model: t.UnionEnum(['count', 'funnel', 'mean', 'ratio', 'retention', 'sum']),
  baseline: NullableText,
  leader: NullableText,
  significant: t.Boolean(),
  significance_code: t.UnionEnum([
    'high_loss',
    'high_p_value',
    'low_win_probability',
    'not_enough_exposure',
    'significant',
  ]),
  expected_loss: t.Nullable(t.Number()),
  variants: t.Array(VariantResult),
})
export type MetricResult = Static<typeof MetricResult>

/** The result of one metric, or the refusal of its query. */
const MetricOutcome = t.Union([
  MetricResult,
  t.Object({ name: NullableText, uuid: NullableText, error: t.String() }),
])

export const ResultsAnswer = t.Object({
  /** Persons by variant. */
  exposures: t.Record(t.String(), Whole),
  date_range: t.Object({ date_from: Moment, date_to: Moment }),
  metrics: t.Array(MetricOutcome),
  secondary_metrics: t.Array(MetricOutcome),
  /** The statistical method. */
  method: t.Object({
    name: t.UnionEnum(['bayesian', 'frequentist']),
    library: t.String(),
    models: t.Record(t.String(), t.String()),
    /** The test that compares variants with the baseline; frequentist tests only. */
    test: NullableText,
    credible_level: t.Optional(t.Number()),
    confidence_level: t.Optional(t.Number()),
    difference: t.UnionEnum(['absolute', 'relative']),
    cuped_lookback_days: t.Nullable(Whole),
    variant_exposures_min: Whole,
    exposures_min: t.Optional(Whole),
    probability_min: t.Optional(t.Number()),
    expected_loss_max: t.Optional(t.Number()),
    exposure: t.String(),
  }),
})

/** The metric of a timeseries. */
export const TimeseriesQuery = t.Object({
  metric_uuid: t.String(),
  /** The fingerprint that the client read; results are always those of the present metric. */
  fingerprint: t.Optional(t.String()),
})

/** The results at the end of each day. */
export const TimeseriesAnswer = t.Object({
  experiment_id: Whole,
  metric_uuid: t.String(),
  status: t.UnionEnum(['completed', 'failed', 'partial', 'pending']),
  /** By day; null for days beyond the limit. */
  timeseries: t.Record(t.String(), AnyJson),
  errors: t.Nullable(t.Record(t.String(), t.String())),
  computed_at: NullableMoment,
  created_at: Moment,
  updated_at: Moment,
  recalculation_status: NullableText,
  recalculation_created_at: NullableMoment,
})

/** Events to check: JSON lists of `{"id": …}`. */
export const ImplementationQuery = t.Object({
  events: t.Optional(t.String()),
  actions: t.Optional(t.String()),
})

/** True when none of the events carries the variant. */
export const ImplementationAnswer = t.Object({ result: t.Boolean() })
