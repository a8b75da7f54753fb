/** Whether a variant differs from the baseline: by a two-sided test, or by how probable it is that it is better. */
import { jStat } from 'jstat'
import type { EffectSize } from './samples.ts'
import type { StatsSettings } from './settings.ts'

/** What is said of one variant beside the baseline. */
export type SignificanceResult = {
  readonly interval: readonly [low: number, high: number]
  readonly significant: boolean
  /** How often chance alone would part them as far as this; null where that is not asked. */
  readonly p_value: number | null
  /** The probability that the variant is above the baseline; null where that is not asked. */
  readonly chance_to_win: number | null
}

/** Judges how far a variant is from the baseline, in the way that an experiment wants. */
export function testSignificance(effect: EffectSize, settings: StatsSettings): SignificanceResult {
  const { method, sequential_people } = settings
  if (method === 'bayesian') return judgeChance(effect, settings)
  return sequential_people === null
    ? judgeOnce(effect, settings)
    : judgeAnyTime(effect, settings, sequential_people)
}

/** Welch's two-sided t test: variances need not be alike. */
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
 * A test that holds however often it is looked at: an asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy,
 * Ramdas 2021), sharpest at about so many people.
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

/** What is believed of the difference where nothing was before: a normal distribution around what was seen. */
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
