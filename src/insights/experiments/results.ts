/** What came of an experiment: figures by variant, what is believed of them, and whether that is enough to decide. */
import type { MetricResult } from '../../contract/experiments.ts'
import type { Metric } from './metric.ts'
import {
  type Comparison,
  compare,
  meanPosterior,
  type Posterior,
  ratePosterior,
  ratioPosterior,
  type Sums,
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
    mean: 'flat prior, normal likelihood of the mean (central limit theorem): figure per person',
    ratio:
      'flat prior, normal likelihood of the ratio of two means (delta method): numerator over denominator',
    retention:
      'Beta(1, 1) prior, binomial likelihood: of the people who began, the share that came back',
  },
  credible_level: 0.95,
  exposures_min: 100,
  probability_min: 0.9,
  /** Absolute for shares, else relative to the mean of the best variant. */
  expected_loss_max: 0.01,
  exposure:
    'first $feature_flag_called of a person, or what exposure_criteria name; people who were shown several variants are left out, or count in the first',
} as const

/** Figures of one variant, as the rows of a metric's tree have them: people who converted, or sums over people. */
export type Figures = Sums & {
  readonly key: string
  /** People by how far they came in a funnel, from its first step on. */
  readonly by_step: readonly number[]
}

type Verdict = 'high_loss' | 'low_win_probability' | 'not_enough_exposure' | 'significant'

/** The figures of the variants, those that nobody was shown among them. */
export function figuresOf(
  rows: readonly (readonly unknown[])[],
  variants: readonly string[],
): readonly Figures[] {
  const known = new Map(rows.map(([key, ...figures]) => [String(key), figures.map(Number)]))
  return variants.map((key) => {
    const [people = 0, total = 0, sum_of_squares = 0, ...more] = known.get(key) ?? []
    const [denominator_total = 0, denominator_sum_of_squares = 0, product_total = 0] = more
    return {
      key,
      people,
      total,
      sum_of_squares,
      denominator_total,
      denominator_sum_of_squares,
      product_total,
      by_step: more.slice(DENOMINATOR_COLUMNS),
    }
  })
}

/** Columns between the sums of a metric's own figure and people by step. */
const DENOMINATOR_COLUMNS = 3

/** The result of one metric. The first of the figures is what the others are held against. */
export function resultOf(
  { name, uuid, model }: Pick<Metric, 'model' | 'name' | 'uuid'>,
  figures: readonly Figures[],
): MetricResult {
  const posteriors = figures.map((one) => posteriorOf(model, one))
  const { best, loss, beats_first } = compareAll(posteriors)
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
      credible_interval: boundsOf(posteriors[index]),
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

function boundsOf(posterior: Posterior | null | undefined): number[] | null {
  return posterior === null || posterior === undefined
    ? null
    : [...posterior.interval(METHOD.credible_level)]
}

/** Nothing is compared with what is not known. */
function compareAll(posteriors: readonly (Posterior | null)[]): Comparison {
  const known = posteriors.filter((one) => one !== null)
  return compare(known.length === posteriors.length ? known : [])
}

function posteriorOf(model: Metric['model'], figures: Figures): Posterior | null {
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

function countsOf(model: Metric['model'], { people, total, denominator_total }: Figures) {
  const is_share = isShare(model)
  return {
    count: total,
    denominator_count: model === 'ratio' ? denominator_total : null,
    success_count: is_share ? total : null,
    failure_count: is_share ? people - total : null,
  }
}

/** Whether a model's figure is a share of people. */
function isShare(model: Metric['model']): boolean {
  return model === 'funnel' || model === 'retention'
}

/** How many deviations from the mean hold 95 % of a normal distribution. */
const NORMAL_95 = 1.959963984540054

/** How far a variant is from the baseline, and within which bounds; by the normal approximation of both. */
function differenceOf(base: Posterior | null | undefined, own: Posterior | null | undefined) {
  if (base === null || own === null || base === undefined || own === undefined) return null
  const absolute = own.mean - base.mean
  const reach = NORMAL_95 * Math.hypot(own.deviation, base.deviation)
  const relative = base.mean === 0 ? null : absolute / base.mean
  return {
    absolute,
    relative,
    credible_interval: [absolute - reach, absolute + reach],
    relative_credible_interval: relative === null ? null : relativeInterval(base, own),
  }
}

/** Bounds of own / base − 1 by the delta method: the baseline is not known for certain either. */
function relativeInterval(base: Posterior, own: Posterior): number[] {
  const ratio = own.mean / base.mean
  const reach = Math.abs(
    (NORMAL_95 * Math.hypot(own.deviation, ratio * base.deviation)) / base.mean,
  )
  return [ratio - 1 - reach, ratio - 1 + reach]
}

type Believed = {
  readonly posteriors: readonly (Posterior | null)[]
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
  if (posteriors.includes(null)) return 'not_enough_exposure'
  if ((best[leader] ?? 0) < METHOD.probability_min) return 'low_win_probability'
  const unit = isShare(model) ? 1 : Math.abs(posteriors[leader]?.mean ?? 0)
  return (loss[leader] ?? 0) > METHOD.expected_loss_max * unit ? 'high_loss' : 'significant'
}
