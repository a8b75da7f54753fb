/** What came of an experiment: figures by variant, what is believed of them, and whether that is enough to decide. */
import type { Metric } from './metric.ts'
import {
  compare,
  meanPosterior,
  type Posterior,
  ratePosterior,
  sharePosterior,
} from './posterior.ts'

/** How results are worked out, told with every answer. */
export const METHOD = {
  name: 'bayesian',
  library: 'jstat',
  /** Prior and likelihood by model of metric. */
  models: {
    funnel: 'Beta(1, 1) prior, binomial likelihood: the share of people who convert',
    count: 'Gamma(1, 0) prior, Poisson likelihood: events per person',
    sum: 'flat prior, normal likelihood of the mean (central limit theorem): sum per person',
  },
  credible_level: 0.95,
  exposures_min: 100,
  probability_min: 0.9,
  /** Absolute for shares, else relative to the mean of the best variant. */
  expected_loss_max: 0.01,
  exposure:
    'first $feature_flag_called of a person; people who were shown several variants are left out',
} as const

/** Figures of one variant, as the rows of a metric's tree have them. */
export type Figures = {
  readonly key: string
  readonly people: number
  /** People who converted, or the sum over people. */
  readonly total: number
  readonly sum_of_squares: number
}

type Verdict = 'high_loss' | 'low_win_probability' | 'not_enough_exposure' | 'significant'

/** The figures of the variants, those that nobody was shown among them. */
export function figuresOf(
  rows: readonly (readonly unknown[])[],
  variants: readonly string[],
): readonly Figures[] {
  const known = new Map(rows.map(([key, ...figures]) => [String(key), figures.map(Number)]))
  return variants.map((key) => {
    const [people = 0, total = 0, sum_of_squares = 0] = known.get(key) ?? []
    return { key, people, total, sum_of_squares }
  })
}

/** The result of one metric. The first of the figures is what the others are held against. */
export function resultOf({ name, uuid, model }: Metric, figures: readonly Figures[]): object {
  const posteriors = figures.map((one) => posteriorOf(model, one))
  const { best, loss, beats_first } = compare(posteriors)
  const leader = best.indexOf(Math.max(...best))
  const significance_code = judge(model, figures, { posteriors, best, loss, leader })
  return {
    name,
    uuid,
    model,
    baseline: figures[0]?.key ?? null,
    leader: figures[leader]?.key ?? null,
    significant: significance_code === 'significant',
    significance_code,
    expected_loss: loss[leader] ?? null,
    variants: figures.map((one, index) => ({
      key: one.key,
      exposures: one.people,
      ...countsOf(model, one),
      mean: posteriors[index]?.mean ?? null,
      credible_interval: posteriors[index]?.interval(METHOD.credible_level) ?? null,
      probability: best[index] ?? null,
      expected_loss: loss[index] ?? null,
      ...(index === 0
        ? { chance_to_beat_baseline: null, difference: null }
        : {
            chance_to_beat_baseline: beats_first[index] ?? null,
            difference: differenceOf(posteriors[0], posteriors[index]),
          }),
    })),
  }
}

function posteriorOf(model: Metric['model'], figures: Figures): Posterior {
  const { people, total, sum_of_squares } = figures
  switch (model) {
    case 'funnel':
      return sharePosterior(total, people)
    case 'count':
      return ratePosterior(total, people)
    case 'sum':
      return meanPosterior(total, sum_of_squares, people)
  }
}

function countsOf(model: Metric['model'], { people, total }: Figures): object {
  return model === 'funnel'
    ? { count: total, success_count: total, failure_count: people - total }
    : { count: total, success_count: null, failure_count: null }
}

/** How many deviations from the mean hold 95 % of a normal distribution. */
const NORMAL_95 = 1.959963984540054

/** How far a variant is from the baseline, and within which bounds; by the normal approximation of both. */
function differenceOf(base: Posterior | undefined, own: Posterior | undefined): object | null {
  if (base === undefined || own === undefined) return null
  const absolute = own.mean - base.mean
  const deviation = Math.hypot(own.deviation, base.deviation)
  const reach = NORMAL_95 * deviation
  return {
    absolute,
    relative: base.mean === 0 ? null : absolute / base.mean,
    credible_interval: [absolute - reach, absolute + reach],
  }
}

type Believed = {
  readonly posteriors: readonly Posterior[]
  readonly best: readonly number[]
  readonly loss: readonly number[]
  readonly leader: number
}

/** Whether the leader may be called the winner, or why not. */
function judge(
  model: Metric['model'],
  figures: readonly Figures[],
  { posteriors, best, loss, leader }: Believed,
): Verdict {
  if (figures.some(({ people }) => people < METHOD.exposures_min)) return 'not_enough_exposure'
  if ((best[leader] ?? 0) < METHOD.probability_min) return 'low_win_probability'
  const unit = model === 'funnel' ? 1 : Math.abs(posteriors[leader]?.mean ?? 0)
  return (loss[leader] ?? 0) > METHOD.expected_loss_max * unit ? 'high_loss' : 'significant'
}
