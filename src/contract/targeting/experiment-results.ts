/** What comes of experiments, as it goes over the wire. */
import { type Static, t } from 'elysia'
import { AnyJson, Moment, NullableMoment, NullableText, Whole } from '../common.ts'

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
  /** How often chance alone would part the variant from the baseline as far; of tests only. */
  p_value: t.Nullable(t.Number()),
  /** Bounds of how far the variant is from the baseline; of tests only. */
  confidence_interval: Interval,
  /** Why the variant is not held against the baseline. */
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
    'high_p_value',
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
    name: t.UnionEnum(['bayesian', 'frequentist']),
    library: t.String(),
    models: t.Record(t.String(), t.String()),
    /** What a variant is held against the baseline with; of tests only. */
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

/** Which metric of an experiment is asked about. */
export const TimeseriesQuery = t.Object({
  metric_uuid: t.String(),
  /** Of the metric as it was read; a result is always that of the metric as it is. */
  fingerprint: t.Optional(t.String()),
})

/** What was known of a metric at the end of each day. */
export const TimeseriesAnswer = t.Object({
  experiment_id: Whole,
  metric_uuid: t.String(),
  status: t.UnionEnum(['completed', 'failed', 'partial', 'pending']),
  /** By day; null for days that are too long ago to be asked about. */
  timeseries: t.Record(t.String(), AnyJson),
  errors: t.Nullable(t.Record(t.String(), t.String())),
  computed_at: NullableMoment,
  created_at: Moment,
  updated_at: Moment,
  recalculation_status: NullableText,
  recalculation_created_at: NullableMoment,
})

/** Which events are looked for: JSON lists of `{"id": …}`. */
export const ImplementationQuery = t.Object({
  events: t.Optional(t.String()),
  actions: t.Optional(t.String()),
})

/** True when none of the events says which variant was shown. */
export const ImplementationAnswer = t.Object({ result: t.Boolean() })
