/** Samples (frequentist): mean and variance of a figure per variant, CUPED, and effect sizes of pairs. */
import type { StatsSettings } from '../settings.ts'

/** A figure over actors: mean and variance per actor. */
export type MetricSums = {
  readonly people: number
  readonly mean: number
  /** Variance per actor; the mean's is this divided by `people`. */
  readonly variance: number
}

/** Sums over actors of two figures: each, its squares, and the products. */
export type FigureSums = {
  readonly people: number
  readonly total: number
  readonly sum_of_squares: number
  readonly denominator_total: number
  readonly denominator_sum_of_squares: number
  readonly product_total: number
}

/** A share of actors who converted. */
export function shareSample(successes: number, people: number): MetricSums | null {
  if (people === 0) return null
  const mean = successes / people
  return { people, mean, variance: mean * (1 - mean) }
}

/** A mean per actor of any distribution. */
export function meanSample(sum: number, sum_of_squares: number, people: number): MetricSums | null {
  if (people === 0) return null
  const mean = sum / people
  return { people, mean, variance: sampleVariance(sum_of_squares / people - mean * mean, people) }
}

/**
 * The ratio of two means of the same actors, by the delta method: approximately normal with
 * variance (var x − 2 R cov(x, y) + R² var y) / mean(y)². Null when the denominator is zero.
 */
export function ratioSample(sums: FigureSums): MetricSums | null {
  const { people, total, denominator_total } = sums
  if (denominator_total === 0 || people === 0) return null
  const below = denominator_total / people
  const mean = total / denominator_total
  // The residuals x − R y have mean 0, so the sum of their squares is the whole variance.
  const squares =
    sums.sum_of_squares -
    2 * mean * sums.product_total +
    mean * mean * sums.denominator_sum_of_squares
  return { people, mean, variance: sampleVariance(squares / people, people) / (below * below) }
}

/** The sample variance (Bessel's correction) from the population variance. */
function sampleVariance(variance: number, people: number): number {
  return (Math.max(0, variance) * people) / Math.max(1, people - 1)
}

/** The same actors' figure before exposure. */
export type Covariate = {
  readonly total: number
  readonly sum_of_squares: number
  /** Sum of the products of the figure after and the one before. */
  readonly product_total: number
}

/** A sample with its covariate. */
export type MeasuredSample = { readonly sample: MetricSums; readonly covariate: Covariate | null }

/**
 * CUPED (Deng, Xu, Kohavi, Walker 2013): subtracts theta × (the figure before − its mean over all)
 * from each figure. Theta is cov(after, before) / var(before) over all actors; without any activity
 * before, nothing is subtracted.
 */
export function adjustForCovariate(measured: readonly MeasuredSample[]): readonly MetricSums[] {
  const sum = (of: (sample: MetricSums, before: Covariate) => number): number =>
    measured.reduce(
      (total, { sample, covariate }) => total + (covariate === null ? 0 : of(sample, covariate)),
      0,
    )
  const people = sum((sample) => sample.people)
  const before = sum((_sample, { total }) => total)
  const after = sum((sample) => sample.mean * sample.people)
  const variance = sum((_sample, { sum_of_squares }) => sum_of_squares) - (before * before) / people
  const covariance = sum((_sample, { product_total }) => product_total) - (before * after) / people
  // A variance this small is a rounding error of equal figures.
  const least = 1e-12 * sum((_sample, { sum_of_squares }) => sum_of_squares)
  const theta = variance <= least ? 0 : covariance / variance
  const mean_before = people === 0 ? 0 : before / people
  return measured.map(({ sample, covariate }) =>
    covariate === null || theta === 0
      ? sample
      : subtractCovariate(sample, covariate, { theta, mean_before }),
  )
}

type Adjustment = { readonly theta: number; readonly mean_before: number }

function subtractCovariate(
  { people, mean, variance }: MetricSums,
  { total, sum_of_squares, product_total }: Covariate,
  { theta, mean_before }: Adjustment,
): MetricSums {
  const before = total / people
  const variance_before = sampleVariance(sum_of_squares / people - before * before, people)
  const covariance = (product_total - people * mean * before) / Math.max(1, people - 1)
  return {
    people,
    mean: mean - theta * (before - mean_before),
    variance: Math.max(0, variance + theta * theta * variance_before - 2 * theta * covariance),
  }
}

/** Two samples to compare; `scale` divides the difference: 1, or the baseline's mean. */
type SamplePair = {
  readonly base: MetricSums
  readonly own: MetricSums
  readonly scale: number
}

/** The difference of two samples, with its standard error. */
export type EffectSize = {
  readonly people: number
  readonly estimate: number
  readonly deviation: number
  /** Degrees of freedom of the t distribution (Welch–Satterthwaite). */
  readonly degrees: number
}

/**
 * The difference of a variant from the baseline, absolute or relative. Null with fewer than two actors, or no variance.
 */
export function effectOf(
  { base, own, scale }: SamplePair,
  difference: StatsSettings['difference'],
): EffectSize | null {
  if (base.people < 2 || own.people < 2) return null
  const [base_variance, own_variance] = [base.variance / base.people, own.variance / own.people]
  const both = base_variance + own_variance
  if (both === 0) return null
  const apart = own.mean - base.mean
  const common = {
    people: base.people + own.people,
    degrees:
      (both * both) /
      (base_variance ** 2 / (base.people - 1) + own_variance ** 2 / (own.people - 1)),
  }
  if (difference === 'absolute') return { ...common, estimate: apart, deviation: Math.sqrt(both) }
  if (Math.abs(scale) < TINY) return null
  // The baseline is uncertain too: delta method for a ratio of independent means.
  const ratio = 1 + apart / scale
  return {
    ...common,
    estimate: apart / scale,
    deviation: Math.sqrt(own_variance + ratio * ratio * base_variance) / Math.abs(scale),
  }
}

const TINY = 1e-10
