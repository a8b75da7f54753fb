/** The statistical method in words, returned with every answer. */

import type { StatsSettings } from './settings.ts'
import { PEOPLE_MIN } from './statistics/variant-figures.ts'

/** The bounds beyond which the best variant is significant, for the Bayesian method. */
export const BAYESIAN_BOUNDS = {
  exposures_min: 100,
  probability_min: 0.9,
  /** Absolute for shares, otherwise relative to the mean of the best variant. */
  expected_loss_max: 0.01,
} as const

/** Prior and likelihood by metric model. */
const BAYESIAN_MODELS = {
  funnel: 'Beta(1, 1) prior, binomial likelihood: the share of people who convert',
  count: 'Gamma(1, 0) prior, Poisson likelihood: events per person',
  sum: 'flat prior, normal likelihood of the mean (central limit theorem): sum per person',
  mean: 'flat prior, normal likelihood of the mean (central limit theorem): figure per person',
  ratio:
    'flat prior, normal likelihood of the ratio of two means (delta method): numerator over denominator',
  retention:
    'Beta(1, 1) prior, binomial likelihood: of the people who began, the share that came back',
} as const

/** Test by metric model. */
const TEST_MODELS = {
  funnel: 'the share of people who convert, with the variance p (1 − p)',
  count: 'events per person, with the variance of the sample',
  sum: 'sum per person, with the variance of the sample',
  mean: 'figure per person, with the variance of the sample',
  ratio: 'numerator over denominator, with the variance of the delta method',
  retention: 'of the people who began, the share that came back, with the variance p (1 − p)',
} as const

const EXPOSURE =
  'first $feature_flag_called of a person, or what exposure_criteria name; people who were shown several variants are left out, or count in the first'

/** The description of an experiment's method. */
export function methodOf(settings: StatsSettings) {
  const { method, level, difference, lookback_days, sequential_people } = settings
  const common = {
    name: method,
    library: 'jstat',
    difference,
    variant_exposures_min: PEOPLE_MIN,
    cuped_lookback_days: lookback_days,
    exposure: EXPOSURE,
  }
  if (method === 'bayesian') {
    return {
      ...common,
      ...BAYESIAN_BOUNDS,
      models: { ...BAYESIAN_MODELS },
      test: null,
      credible_level: level,
    }
  }
  const test =
    sequential_people === null
      ? "Welch's two-sided t test"
      : `two-sided asymptotic confidence sequence, sharpest at ${sequential_people} people`
  return { ...common, models: { ...TEST_MODELS }, test, confidence_level: level }
}
