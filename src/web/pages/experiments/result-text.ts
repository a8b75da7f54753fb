/** Results of experiments in words: states, verdicts, changes, chances. All statistics are the server's. */
import type { ComparedVariant, MetricAnswer } from '../../api/types/metric-answer.ts'
import type { ShownExperiment, ShownStatus } from '../../api/types/shown-experiment.ts'
import { formatNumber, formatPercent } from '../../parts/format.ts'

const STATUS_TEXTS: Readonly<Record<ShownStatus, string>> = {
  draft: 'Draft',
  running: 'Running',
  paused: 'Paused',
  stopped: 'Ended',
}

/** CONCLUSIONS: what an experiment may end with. */
export const CONCLUSIONS = [
  { value: 'won', text: 'Won' },
  { value: 'lost', text: 'Lost' },
  { value: 'inconclusive', text: 'Inconclusive' },
  { value: 'stopped_early', text: 'Stopped early' },
  { value: 'invalid', text: 'Invalid' },
] as const

/** `won` → `Won`; '' without a conclusion. */
export const conclusionText = (conclusion: string | null): string =>
  CONCLUSIONS.find(({ value }) => value === conclusion)?.text ?? conclusion ?? ''

const DAY_MS = 86_400_000

/** `Running, 12 days`; `Ended after 14 days`. */
export function statusText(
  { status, start_date, end_date }: Pick<ShownExperiment, 'end_date' | 'start_date' | 'status'>,
  now: Date,
): string {
  const text = STATUS_TEXTS[status] ?? status
  if (start_date === null) return text
  const until = end_date === null ? now.getTime() : Date.parse(end_date)
  const days = Math.max(0, Math.floor((until - Date.parse(start_date)) / DAY_MS))
  const time = days === 0 ? 'less than a day' : `${formatNumber(days)} day${days === 1 ? '' : 's'}`
  return end_date === null ? `${text}, ${time}` : `${text} after ${time}`
}

const NOT_SIGNIFICANT = 'Not significant'

/** A comparison in words, and whether it is good, bad or neither. */
type Verdict = { readonly text: string; readonly look: 'bad' | 'good' | 'open' }

/**
 * `Significantly higher`; why there is no comparison, where there is none. By the Bayesian method a chance beyond the
 * level is significant for the server also where the interval of that level has both signs: that is only probable.
 */
export function verdictOf(
  variant: ComparedVariant,
  { baseline, method }: MetricAnswer,
  goal: unknown,
): Verdict {
  const interval = intervalOf(variant)
  if (interval === null || variant.significant === null) {
    const [own] = variant.validation_failures
    const [of_baseline] = baseline?.validation_failures ?? []
    return { text: failureText(own, of_baseline, method.variant_exposures_min), look: 'open' }
  }
  if (!variant.significant) return { text: NOT_SIGNIFICANT, look: 'open' }
  const is_higher = changeOf(interval) > 0
  const [low, high] = interval
  if (low <= 0 && high >= 0)
    return { text: is_higher ? 'Probably higher' : 'Probably lower', look: 'open' }
  return {
    text: is_higher ? 'Significantly higher' : 'Significantly lower',
    look: is_higher === (goal !== 'decrease') ? 'good' : 'bad',
  }
}

function failureText(
  own: string | undefined,
  of_baseline: string | undefined,
  exposures_min: number,
): string {
  switch (own ?? of_baseline) {
    case 'not-enough-exposures':
      return `Too early: fewer than ${formatNumber(exposures_min)} persons${own === undefined ? ' in the baseline' : ''}`
    case 'not-enough-metric-data':
      return `Too early: too little data${own === undefined ? ' in the baseline' : ''}`
    case 'baseline-mean-is-zero':
      return 'The baseline has no such events'
    case undefined:
    default:
      return 'Cannot be compared yet'
  }
}

/** The result of a metric in a word or two, for lists. */
export function resultWord(answer: MetricAnswer, goal: unknown): string {
  const compared = answer.variant_results.filter((variant) => intervalOf(variant) !== null)
  const verdicts = compared.map((variant) => verdictOf(variant, answer, goal))
  const best =
    verdicts.find(({ look }) => look === 'good') ??
    verdicts.find(({ look }) => look === 'bad') ??
    verdicts.find(({ text }) => text !== NOT_SIGNIFICANT) ??
    verdicts[0]
  return best?.text ?? 'Too early'
}

/** The interval of the difference by the experiment's method. */
export const intervalOf = ({
  credible_interval,
  confidence_interval,
}: ComparedVariant): readonly [low: number, high: number] | null =>
  credible_interval ?? confidence_interval ?? null

/** The change that an interval is around: both methods put it in the middle. */
export const changeOf = ([low, high]: readonly [number, number]): number => (low + high) / 2

type ShownFigures = MetricAnswer['results'][number]

/** The observed figure: a share as percent, any other per person. `mean` would be drawn towards a prior. */
export function valueText(figures: ShownFigures): string {
  const { exposures, count, denominator_count, success_count } = figures
  const of = denominator_count ?? exposures
  if (of === 0) return '–'
  return success_count === null ? formatNumber(count / of) : formatPercent(count / of)
}

/** `12 of 97 persons`. */
export function countText(figures: ShownFigures): string {
  const { exposures, count, denominator_count, success_count } = figures
  if (denominator_count !== null)
    return `${formatNumber(count)} of ${formatNumber(denominator_count)}`
  const persons = `${formatNumber(exposures)} ${exposures === 1 ? 'person' : 'persons'}`
  return success_count === null ? persons : `${formatNumber(count)} of ${persons}`
}

/** A change with its sign, as a share of the baseline or as it is: `+12.3%`, `−0.4`. */
export function changeText(change: number, difference: 'absolute' | 'relative'): string {
  const sign = change > 0 ? '+' : change < 0 ? '−' : ''
  const size = Math.abs(change)
  return sign + (difference === 'relative' ? formatPercent(size) : formatNumber(size))
}

/** `99.8%`, but never a certainty that rounding makes. */
export function chanceText(chance: number | null | undefined): string {
  if (chance === null || chance === undefined) return '–'
  if (chance > 0.999) return '> 99.9%'
  if (chance < 0.001) return '< 0.1%'
  return formatPercent(chance)
}

/** `0.154`. */
export function pValueText(p_value: number | null | undefined): string {
  if (p_value === null || p_value === undefined) return '–'
  return p_value < 0.001 ? '< 0.001' : p_value.toFixed(3)
}

/** `95%`, `99.9%`: the level as it is set, which no rounding makes a certainty. */
export const levelText = ({ credible_level, confidence_level }: MetricAnswer['method']): string =>
  `${Number(((credible_level ?? confidence_level ?? 0) * 100).toPrecision(10))}%`
