/** The rule of an alert, as people choose it and as a sentence. */
import type { AlertFields } from '../../api/types/alert-fields.ts'
import { formatNumber, formatPercent } from '../../parts/format.ts'

/** RULES: the conditions that an alert's dialog offers. A line adds one. */
export const RULES = [
  { name: 'above', text: 'is above', condition: 'absolute_value', bound: 'upper' },
  { name: 'below', text: 'is below', condition: 'absolute_value', bound: 'lower' },
  { name: 'rises', text: 'rises by more than', condition: 'relative_increase', bound: 'upper' },
  { name: 'falls', text: 'falls by more than', condition: 'relative_decrease', bound: 'upper' },
] as const

export type RuleChoice = (typeof RULES)[number]

/** The rule of an alert; the first one for those that only the API can make. */
export function ruleOf({ condition, threshold }: AlertFields): RuleChoice {
  const { lower = null, upper = null } = threshold.configuration.bounds
  const bound = upper === null && lower !== null ? 'lower' : 'upper'
  return RULES.find((rule) => rule.condition === condition.type && rule.bound === bound) ?? RULES[0]
}

const EVERY = { hourly: 'hour', daily: 'day', weekly: 'week', monthly: 'month' } as const

/** `is above 100, checked every day`. */
export function ruleText(alert: AlertFields): string {
  const { type, bounds } = alert.threshold.configuration
  const { text, bound } = ruleOf(alert)
  const value = bounds[bound] ?? 0
  const threshold = type === 'percentage' ? formatPercent(value) : formatNumber(value)
  return `${text} ${threshold}, checked every ${EVERY[alert.calculation_interval]}`
}
