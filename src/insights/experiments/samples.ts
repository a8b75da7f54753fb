/** What was seen of a figure in one variant, and how far two of them are apart: sums become means and variances. */
import type { StatsSettings } from './settings.ts'

/** A figure among people: what it is on average, and how much it is spread from one to the next. */
export type MetricSums = {
  readonly people: number
  readonly mean: number
  /** Of one person's figure; that of the mean is this by `people`. */
  readonly variance: number
}

/** Sums over people of two figures of each: their own, of their squares, and of their products. */
export type FigureSums = {
  readonly people: number
  readonly total: number
  readonly sum_of_squares: number
  readonly denominator_total: number
  readonly denominator_sum_of_squares: number
  readonly product_total: number
}

/** A share of people who did it. */
export function shareSample(successes: number, people: number): MetricSums | null {
  if (people === 0) return null
  const mean = successes / people
  return { people, mean, variance: mean * (1 - mean) }
}

/** A mean per person of whatever distribution. */
export function meanSample(sum: number, sum_of_squares: number, people: number): MetricSums | null {
  if (people === 0) return null
  const mean = sum / people
  return { people, mean, variance: spreadOf(sum_of_squares / people - mean * mean, people) }
}

/**
 * The mean of one figure over the mean of another of the same people, by the delta method: a ratio of means is about
 * as normal as they are, with a variance of (var x − 2 R cov(x, y) + R² var y) / mean(y)². Null where there is nothing
 * to divide by.
 */
export function ratioSample(sums: FigureSums): MetricSums | null {
  const { people, total, denominator_total } = sums
  if (denominator_total === 0 || people === 0) return null
  const below = denominator_total / people
  const mean = total / denominator_total
  // The figures x − R y are 0 on average: their squares are all of their variance.
  const squares =
    sums.sum_of_squares -
    2 * mean * sums.product_total +
    mean * mean * sums.denominator_sum_of_squares
  return { people, mean, variance: spreadOf(squares / people, people) / (below * below) }
}

/** The variance of all, of the variance of those that were seen. */
function spreadOf(variance: number, people: number): number {
  return (Math.max(0, variance) * people) / Math.max(1, people - 1)
}

/** The figure of the same people before they were shown anything, beside what they did after. */
export type Covariate = {
  readonly total: number
  readonly sum_of_squares: number
  /** Of the figure after and the one before, of each person. */
  readonly product_total: number
}

/** A sample, and what is known of its people from before. */
export type MeasuredSample = { readonly sample: MetricSums; readonly covariate: Covariate | null }

/**
 * Samples without what their people were like anyway (CUPED: Deng, Xu, Kohavi, Walker 2013): how far the figure before
 * is from that of all, times theta, is taken off each. Theta is the covariance of after and before over the variance of
 * before, of all people together; where nothing was done before, nothing is taken off.
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
  // What is left of equal figures by rounding is no spread.
  const least = 1e-12 * sum((_sample, { sum_of_squares }) => sum_of_squares)
  const theta = variance <= least ? 0 : covariance / variance
  const mean_before = people === 0 ? 0 : before / people
  return measured.map(({ sample, covariate }) =>
    covariate === null || theta === 0
      ? sample
      : adjusted(sample, covariate, { theta, mean_before }),
  )
}

type Adjustment = { readonly theta: number; readonly mean_before: number }

function adjusted(
  { people, mean, variance }: MetricSums,
  { total, sum_of_squares, product_total }: Covariate,
  { theta, mean_before }: Adjustment,
): MetricSums {
  const before = total / people
  const variance_before = spreadOf(sum_of_squares / people - before * before, people)
  const covariance = (product_total - people * mean * before) / Math.max(1, people - 1)
  return {
    people,
    mean: mean - theta * (before - mean_before),
    variance: Math.max(0, variance + theta * theta * variance_before - 2 * theta * covariance),
  }
}

/** Two samples to compare; `scale` is what a share of the baseline is a share of. */
export type SamplePair = {
  readonly base: MetricSums
  readonly own: MetricSums
  readonly scale: number
}

/** How far one sample is from another. */
export type EffectSize = {
  readonly people: number
  readonly estimate: number
  readonly deviation: number
  /** Of the t distribution that the estimate follows (Welch and Satterthwaite). */
  readonly degrees: number
}

/** How far a variant is from the baseline, itself or as a share of it. Null where that says nothing. */
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
  // The baseline is not known for certain either: the delta method, of a ratio of independent means.
  const ratio = 1 + apart / scale
  return {
    ...common,
    estimate: apart / scale,
    deviation: Math.sqrt(own_variance + ratio * ratio * base_variance) / Math.abs(scale),
  }
}

const TINY = 1e-10
