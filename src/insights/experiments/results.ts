/** Results of an experiment's metric: figures by variant, statistics, and whether they are significant. */
import type { MetricResult } from '../../contract/targeting/experiment-results.ts'
import type { ExperimentMetric } from './metric.ts'
import type { StatsSettings } from './settings.ts'
import { comparePosteriors } from './statistics/bayesian.ts'
import {
  adjustForCovariate,
  effectOf,
  type MeasuredSample,
  type MetricSums,
} from './statistics/samples.ts'
import { type SignificanceResult, testSignificance } from './statistics/significance.ts'
import { isShare, PEOPLE_MIN, sampleOf, type VariantFigures } from './statistics/variant-figures.ts'

type NamedMetric = Pick<ExperimentMetric, 'model' | 'name' | 'uuid'>

/** The result of one metric. The first of the figures is the baseline. */
export function resultOf(
  { name, uuid, model }: NamedMetric,
  figures: readonly VariantFigures[],
  settings: StatsSettings,
): MetricResult {
  const verdicts = figures.map((_one, index) => verdictOf(model, figures, index, settings))
  const samples = samplesOf(model, figures)
  const summary =
    settings.method === 'bayesian'
      ? comparePosteriors(model, figures, samples, settings.level)
      : testSummaryOf(figures, samples, verdicts)
  return {
    name,
    uuid,
    model,
    baseline: figures[0]?.key ?? null,
    leader: figures[summary.leader]?.key ?? null,
    significant: summary.significance_code === 'significant',
    significance_code: summary.significance_code,
    expected_loss: summary.expected_loss,
    variants: figures.map((one, index) => ({
      key: one.key,
      exposures: one.people,
      ...countsOf(model, one),
      ...NO_BAYESIAN_MEMBERS,
      mean: samples[index]?.mean ?? null,
      difference: index === 0 ? null : differenceOf(samples[0], samples[index]),
      ...summary.members[index],
      p_value: verdicts[index]?.judgement?.p_value ?? null,
      confidence_interval:
        settings.method === 'frequentist' ? intervalOf(verdicts[index]?.judgement) : null,
      validation_failures: [...(verdicts[index]?.failures ?? [])],
    })),
  }
}

/** One variant's comparison with the baseline, or why there is none. */
export type ResultVerdict = {
  readonly judgement: SignificanceResult | null
  readonly failures: readonly ResultFailure[]
}

type ResultFailure = 'baseline-mean-is-zero' | 'not-enough-exposures' | 'not-enough-metric-data'

/** Minimum persons of a share who converted, and who did not: with fewer, it is not approximately normal. */
const OUTCOMES_MIN = 5

/** Compares one variant with the first. The first, and samples that are too small, have no comparison. */
export function verdictOf(
  model: ExperimentMetric['model'],
  figures: readonly VariantFigures[],
  index: number,
  settings: StatsSettings,
): ResultVerdict {
  const [first] = figures
  const variant_figures = figures[index]
  if (first === undefined || variant_figures === undefined) return { judgement: null, failures: [] }
  const failures = failuresOf(model, variant_figures, index === 0)
  if (index === 0 || failures.length > 0 || failuresOf(model, first, true).length > 0) {
    return { judgement: null, failures }
  }
  const pair = [first, variant_figures].flatMap((one) => measuredOf(model, one) ?? [])
  const [base_sample, own_sample] = adjustForCovariate(pair)
  if (base_sample === undefined || own_sample === undefined) return { judgement: null, failures }
  const scale = pair[0]?.sample.mean ?? 0
  const effect = effectOf({ base: base_sample, own: own_sample, scale }, settings.difference)
  return { judgement: effect === null ? null : testSignificance(effect, settings), failures }
}

function failuresOf(
  model: ExperimentMetric['model'],
  { people, total, denominator_total }: VariantFigures,
  is_baseline: boolean,
): readonly ResultFailure[] {
  const is_little =
    (isShare(model) && Math.min(total, people - total) < OUTCOMES_MIN) ||
    (model === 'ratio' && denominator_total === 0)
  return [
    ...(people < PEOPLE_MIN ? (['not-enough-exposures'] as const) : []),
    ...(is_little ? (['not-enough-metric-data'] as const) : []),
    ...(is_baseline && total === 0 ? (['baseline-mean-is-zero'] as const) : []),
  ]
}

function measuredOf(
  model: ExperimentMetric['model'],
  figures: VariantFigures,
): MeasuredSample | null {
  const sample = sampleOf(model, figures)
  return sample === null ? null : { sample, covariate: figures.covariate }
}

/** The variants' samples after CUPED adjustment; null where there is no sample. */
function samplesOf(
  model: ExperimentMetric['model'],
  figures: readonly VariantFigures[],
): readonly (MetricSums | null)[] {
  const measured = figures.map((one) => measuredOf(model, one))
  const adjusted_samples = adjustForCovariate(measured.filter((one) => one !== null)).values()
  return measured.map((one) => (one === null ? null : (adjusted_samples.next().value ?? null)))
}

/** Over all variants: whether any is significant, and which leads. */
function testSummaryOf(
  figures: readonly VariantFigures[],
  samples: readonly (MetricSums | null)[],
  verdicts: readonly ResultVerdict[],
) {
  const means = samples.map((one) => one?.mean ?? Number.NEGATIVE_INFINITY)
  const is_any_significant = verdicts.some(({ judgement }) => judgement?.significant === true)
  const is_judged = verdicts.some(({ judgement }) => judgement !== null)
  return {
    leader: samples.includes(null) ? -1 : means.indexOf(Math.max(...means)),
    significance_code: is_any_significant
      ? 'significant'
      : is_judged
        ? 'high_p_value'
        : 'not_enough_exposure',
    expected_loss: null,
    members: figures.map(() => ({})),
  } as const
}

/** Members that only the Bayesian method fills. */
const NO_BAYESIAN_MEMBERS = {
  credible_interval: null,
  probability: null,
  expected_loss: null,
  chance_to_beat_baseline: null,
} as const

function differenceOf(base: MetricSums | null | undefined, variant: MetricSums | null | undefined) {
  if (!base || !variant) return null
  const absolute = variant.mean - base.mean
  const relative = base.mean === 0 ? null : absolute / base.mean
  return { absolute, relative, credible_interval: null, relative_credible_interval: null }
}

function intervalOf(judgement: SignificanceResult | null | undefined): number[] | null {
  return judgement === null || judgement === undefined ? null : [...judgement.interval]
}

function countsOf(
  model: ExperimentMetric['model'],
  { people, total, denominator_total }: VariantFigures,
) {
  const is_share = isShare(model)
  return {
    count: total,
    denominator_count: model === 'ratio' ? denominator_total : null,
    success_count: is_share ? total : null,
    failure_count: is_share ? people - total : null,
  }
}
