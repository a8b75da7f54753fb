/** Significance of a variant's difference: a two-sided test, or the probability of being better. */
import { jStat } from 'jstat'
import type { StatsSettings } from '../settings.ts'
import type { EffectSize } from './samples.ts'

/** The comparison of one variant with the baseline. */
export type SignificanceResult = {
  readonly interval: readonly [low: number, high: number]
  readonly significant: boolean
  /** p-value; null for the Bayesian method. */
  readonly p_value: number | null
  /** Probability that the variant exceeds the baseline; null for tests. */
  readonly chance_to_win: number | null
}

/** Tests an effect by the experiment's method. */
export function testSignificance(effect: EffectSize, settings: StatsSettings): SignificanceResult {
  const { method, sequential_people } = settings
  if (method === 'bayesian') return judgeChance(effect, settings)
  return sequential_people === null
    ? judgeOnce(effect, settings)
    : judgeAnyTime(effect, settings, sequential_people)
}

/** Welch's two-sided t test, which allows unequal variances. */
function judgeOnce(
  { estimate, deviation, degrees }: EffectSize,
  { level }: StatsSettings,
): SignificanceResult {
  const p_value = Math.min(1, 2 * jStat.studentt.cdf(-Math.abs(estimate / deviation), degrees))
  const reach = deviation * jStat.studentt.inv((1 + level) / 2, degrees)
  return {
    interval: [estimate - reach, estimate + reach],
    significant: p_value < 1 - level,
    p_value,
    chance_to_win: null,
  }
}

/**
 * A sequential test, valid at every look: an asymptotic confidence sequence (Waudby-Smith, Arbour,
 * Sinha, Kennedy, Ramdas 2021), tightest at about `sequential_people` actors.
 */
function judgeAnyTime(
  { estimate, deviation, people }: EffectSize,
  { level }: StatsSettings,
  sharpest_at: number,
): SignificanceResult {
  const alpha = 1 - level
  const rho_squared = (-2 * Math.log(alpha) + Math.log(1 - 2 * Math.log(alpha))) / sharpest_at
  const grown = people * rho_squared + 1
  const spread = (2 * grown) / (people * rho_squared)
  const reach = deviation * Math.sqrt(spread * Math.log(Math.sqrt(grown) / alpha))
  const p_value = Math.min(1, Math.sqrt(grown) * Math.exp(-((estimate / deviation) ** 2) / spread))
  return {
    interval: [estimate - reach, estimate + reach],
    significant: p_value < alpha,
    p_value,
    chance_to_win: null,
  }
}

/** The posterior of the difference with a flat prior: a normal distribution around the observed one. */
function judgeChance(
  { estimate, deviation }: EffectSize,
  { level }: StatsSettings,
): SignificanceResult {
  const chance_to_win = jStat.normal.cdf(estimate / deviation, 0, 1)
  const reach = deviation * jStat.normal.inv((1 + level) / 2, 0, 1)
  return {
    interval: [estimate - reach, estimate + reach],
    significant: chance_to_win > level || chance_to_win < 1 - level,
    p_value: null,
    chance_to_win,
  }
}
