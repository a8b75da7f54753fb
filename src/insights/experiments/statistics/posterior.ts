/** Posterior distributions of one variant's figure (Bayesian), by metric model. */
import { jStat } from 'jstat'
import { type FigureSums, type MetricSums, meanSample, ratioSample } from './samples.ts'

/** A posterior distribution. */
export type Posterior = {
  readonly mean: number
  readonly deviation: number
  /** Cumulative distribution function. */
  readonly cdf: (x: number) => number
  /** The equal-tailed credible interval of probability `level`. */
  readonly interval: (level: number) => readonly [low: number, high: number]
}

/** Share of actors: Beta(1 + successes, 1 + failures); the prior Beta(1, 1) is uniform. */
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

/** Events per actor: Gamma with prior Gamma(1, 0), one event more than observed. */
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

/** Mean per actor of any distribution, by the central limit theorem; flat prior. */
export function meanPosterior(sum: number, sum_of_squares: number, people: number): Posterior {
  return samplePosterior(meanSample(sum, sum_of_squares, people) ?? EMPTY_SAMPLE)
}

/** Ratio of two means of the same actors, flat prior. Null without a denominator. */
export function ratioPosterior(sums: FigureSums): Posterior | null {
  const sample = ratioSample(sums)
  return sample === null ? null : samplePosterior(sample)
}

/** Mean of a sample, by the central limit theorem; flat prior. */
export function samplePosterior({ people, mean, variance }: MetricSums): Posterior {
  return normalPosterior(mean, variance / people)
}

/** The sample of no actors. */
const EMPTY_SAMPLE: MetricSums = { people: 1, mean: 0, variance: 0 }

function normalPosterior(mean: number, variance: number): Posterior {
  // A deviation of zero is no distribution, so a tiny one is used.
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

/** Posteriors compared; lists are in the order of the posteriors. */
export type Comparison = {
  /** Probability of being the best of all. */
  readonly best: readonly number[]
  /** Expected loss of choosing this one: how much the best of all exceeds it on average. */
  readonly loss: readonly number[]
  /** Probability of exceeding the first one. */
  readonly beats_first: readonly number[]
}

/** Grid points around each posterior, and how many deviations they span. */
const GRID_POINTS = 256
const GRID_DEVIATIONS = 7

/** Compares posteriors by numerical integration, which is deterministic: equal figures give equal answers. */
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

/** Grid points, dense where any of the posteriors has its weight. */
function pointsOf(posteriors: readonly Posterior[]): readonly number[] {
  const points = posteriors.flatMap(({ mean, deviation }) =>
    Array.from(
      { length: GRID_POINTS + 1 },
      (_, index) => mean + (index / GRID_POINTS - 0.5) * 2 * GRID_DEVIATIONS * deviation,
    ),
  )
  return [...new Set(points)].toSorted((a, b) => a - b)
}
