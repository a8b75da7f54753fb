/** What is believed of one variant after what was seen of it: posterior distributions (Bayesian), by kind of metric. */
import { jStat } from 'jstat'
import { type FigureSums, type MetricSums, meanSample, ratioSample } from './samples.ts'

/** A belief about a figure. */
export type Posterior = {
  readonly mean: number
  readonly deviation: number
  /** The probability that the figure is at most `x`. */
  readonly cdf: (x: number) => number
  /** The figure lies within with probability `level`, and as often below as above. */
  readonly interval: (level: number) => readonly [low: number, high: number]
}

/** A share of people who did it. Prior: every share is as likely (Beta(1, 1)). */
export function sharePosterior(successes: number, people: number): Posterior {
  const alpha = 1 + successes
  const beta = 1 + Math.max(0, people - successes)
  const all = alpha + beta
  return {
    mean: alpha / all,
    deviation: Math.sqrt((alpha * beta) / (all * all * (all + 1))),
    cdf: (x) => jStat.beta.cdf(Math.min(Math.max(x, 0), 1), alpha, beta),
    interval: (level) => quantiles(level, (p) => jStat.beta.inv(p, alpha, beta)),
  }
}

/** A number of events per person. Prior: one event more than were seen (Gamma(1, 0)). */
export function ratePosterior(events: number, people: number): Posterior {
  const shape = events + 1
  const rate = Math.max(1, people)
  const scale = 1 / rate
  return {
    mean: shape / rate,
    deviation: Math.sqrt(shape) / rate,
    cdf: (x) => (x <= 0 ? 0 : jStat.gamma.cdf(x, shape, scale)),
    interval: (level) => quantiles(level, (p) => jStat.gamma.inv(p, shape, scale)),
  }
}

/** A mean per person of whatever distribution, by the central limit theorem; the prior says nothing (flat). */
export function meanPosterior(sum: number, sum_of_squares: number, people: number): Posterior {
  return samplePosterior(meanSample(sum, sum_of_squares, people) ?? UNSEEN)
}

/** The mean of one figure over the mean of another of the same people; the prior is flat. Null where that is nothing. */
export function ratioPosterior(sums: FigureSums): Posterior | null {
  const sample = ratioSample(sums)
  return sample === null ? null : samplePosterior(sample)
}

/** The mean of a sample, by the central limit theorem; the prior is flat. */
export function samplePosterior({ people, mean, variance }: MetricSums): Posterior {
  return normalPosterior(mean, variance / people)
}

/** Nobody was seen. */
const UNSEEN: MetricSums = { people: 1, mean: 0, variance: 0 }

function normalPosterior(mean: number, variance: number): Posterior {
  // A deviation of nothing is no distribution; of few people nothing is known for certain.
  const tiny = Math.max(Math.abs(mean), 1) * 1e-9
  const deviation = Math.max(Math.sqrt(variance), tiny)
  return {
    mean,
    deviation,
    cdf: (x) => jStat.normal.cdf(x, mean, deviation),
    interval: (level) => quantiles(level, (p) => jStat.normal.inv(p, mean, deviation)),
  }
}

function quantiles(level: number, inverse: (p: number) => number): readonly [number, number] {
  return [inverse((1 - level) / 2), inverse((1 + level) / 2)]
}

/** What posteriors say beside one another; lists are in the order of the posteriors. */
export type Comparison = {
  /** The probability that this one is the best of all. */
  readonly best: readonly number[]
  /** What is lost on average by choosing this one: how much the best of all is above it. */
  readonly loss: readonly number[]
  /** The probability that this one is above the first. */
  readonly beats_first: readonly number[]
}

/** Points looked at around each posterior, and how many deviations around it. */
const POINTS = 256
const REACH = 7

/** Compares posteriors by integrating over them, without chance: the same figures give the same answer. */
export function compare(posteriors: readonly Posterior[]): Comparison {
  const points = pointsOf(posteriors)
  const below = posteriors.map(({ cdf }) => points.map(cdf))
  const best = posteriors.map(() => 0)
  const beats_first = posteriors.map(() => 0)
  let mean_of_best = points[0] ?? 0
  for (let at = 1; at < points.length; at += 1) {
    const width = (points[at] ?? 0) - (points[at - 1] ?? 0)
    const middle = below.map((values) => ((values[at] ?? 0) + (values[at - 1] ?? 0)) / 2)
    const all = middle.reduce((product, one) => product * one, 1)
    mean_of_best += (1 - all) * width
    below.forEach((values, index) => {
      const mass = (values[at] ?? 0) - (values[at - 1] ?? 0)
      const others = middle.reduce((rest, one, other) => (other === index ? rest : rest * one), 1)
      best[index] = (best[index] ?? 0) + mass * others
      beats_first[index] = (beats_first[index] ?? 0) + mass * (middle[0] ?? 0)
    })
  }
  const sum = best.reduce((total, one) => total + one, 0) || 1
  return {
    best: best.map((one) => one / sum),
    loss: posteriors.map(({ mean }) => Math.max(0, mean_of_best - mean)),
    beats_first,
  }
}

/** Points that lie close where any of the posteriors has its weight. */
function pointsOf(posteriors: readonly Posterior[]): readonly number[] {
  const points = posteriors.flatMap(({ mean, deviation }) =>
    Array.from(
      { length: POINTS + 1 },
      (_, index) => mean + (index / POINTS - 0.5) * 2 * REACH * deviation,
    ),
  )
  return [...new Set(points)].toSorted((a, b) => a - b)
}
