/**
 * Bayesian comparison of a metric's variants: posteriors, probabilities of being best, and the
 * significance code.
 */
import { jStat } from 'jstat'
import { BAYESIAN_BOUNDS } from '../method.ts'
import type { ExperimentMetric } from '../metric.ts'
import {
  type Comparison,
  compare,
  meanPosterior,
  type Posterior,
  ratePosterior,
  ratioPosterior,
  samplePosterior,
  sharePosterior,
} from './posterior.ts'
import type { MetricSums } from './samples.ts'
import { isShare, type VariantFigures } from './variant-figures.ts'

type ComparisonVerdict = 'high_loss' | 'low_win_probability' | 'not_enough_exposure' | 'significant'

/** Computes each variant's posterior; `samples` are the figures after CUPED adjustment. */
export function comparePosteriors(
  model: ExperimentMetric['model'],
  figures: readonly VariantFigures[],
  samples: readonly (MetricSums | null)[],
  level: number,
) {
  const posteriors = figures.map((one, index) => {
    const sample = one.covariate === null ? null : samples[index]
    return sample === null || sample === undefined
      ? posteriorOf(model, one)
      : samplePosterior(sample)
  })
  const { best, loss, beats_first } = compareAll(posteriors)
  const leader = best.indexOf(Math.max(...best))
  return {
    leader,
    significance_code: significanceCodeOf(model, figures, { posteriors, best, loss, leader }),
    expected_loss: loss[leader] ?? null,
    members: figures.map((_one, index) => ({
      mean: posteriors[index]?.mean ?? null,
      credible_interval: boundsOf(posteriors[index], level),
      probability: best[index] ?? null,
      expected_loss: loss[index] ?? null,
      chance_to_beat_baseline: index === 0 ? null : (beats_first[index] ?? null),
      difference: index === 0 ? null : differenceOf(posteriors[0], posteriors[index], level),
    })),
  } as const
}

function boundsOf(posterior: Posterior | null | undefined, level: number): number[] | null {
  return posterior === null || posterior === undefined ? null : [...posterior.interval(level)]
}

/** Compares nothing when a posterior is missing. */
function compareAll(posteriors: readonly (Posterior | null)[]): Comparison {
  const present = posteriors.filter((one) => one !== null)
  return compare(present.length === posteriors.length ? present : [])
}

function posteriorOf(model: ExperimentMetric['model'], figures: VariantFigures): Posterior | null {
  const { people, total, sum_of_squares } = figures
  switch (model) {
    case 'funnel':
    case 'retention':
      return sharePosterior(total, people)
    case 'count':
      return ratePosterior(total, people)
    case 'mean':
    case 'sum':
      return meanPosterior(total, sum_of_squares, people)
    case 'ratio':
      return ratioPosterior(figures)
  }
}

/** The difference from the baseline and its interval, by the normal approximation of both. */
function differenceOf(
  base: Posterior | null | undefined,
  own: Posterior | null | undefined,
  level: number,
) {
  if (base === null || own === null || base === undefined || own === undefined) return null
  const absolute = own.mean - base.mean
  const deviations = jStat.normal.inv((1 + level) / 2, 0, 1)
  const reach = deviations * Math.hypot(own.deviation, base.deviation)
  const relative = base.mean === 0 ? null : absolute / base.mean
  return {
    absolute,
    relative,
    credible_interval: [absolute - reach, absolute + reach],
    relative_credible_interval: relative === null ? null : relativeInterval(base, own, deviations),
  }
}

/** The interval of variant / base − 1 by the delta method, which includes the baseline's uncertainty. */
function relativeInterval(base: Posterior, own: Posterior, deviations: number): number[] {
  const ratio = own.mean / base.mean
  const reach = Math.abs(
    (deviations * Math.hypot(own.deviation, ratio * base.deviation)) / base.mean,
  )
  return [ratio - 1 - reach, ratio - 1 + reach]
}

type PosteriorComparison = {
  readonly posteriors: readonly (Posterior | null)[]
  readonly best: readonly number[]
  readonly loss: readonly number[]
  readonly leader: number
}

/** Whether the leading variant is significant, or why not. */
function significanceCodeOf(
  model: ExperimentMetric['model'],
  figures: readonly VariantFigures[],
  { posteriors, best, loss, leader }: PosteriorComparison,
): ComparisonVerdict {
  if (figures.some(({ people }) => people < BAYESIAN_BOUNDS.exposures_min))
    return 'not_enough_exposure'
  if (posteriors.includes(null)) return 'not_enough_exposure'
  if ((best[leader] ?? 0) < BAYESIAN_BOUNDS.probability_min) return 'low_win_probability'
  const unit = isShare(model) ? 1 : Math.abs(posteriors[leader]?.mean ?? 0)
  return (loss[leader] ?? 0) > BAYESIAN_BOUNDS.expected_loss_max * unit
    ? 'high_loss'
    : 'significant'
}
