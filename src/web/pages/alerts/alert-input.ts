/** The form of an alert: the alert as its fields, and the fields as the body of a call. */
import type { AlertFields } from '../../api/types/alert-fields.ts'
import { RULES, type RuleChoice, ruleOf } from './rule-text.ts'

/** The fields as they are typed. */
export type AlertInput = {
  readonly insight: string
  readonly name: string
  readonly rule: RuleChoice['name']
  readonly value: string
  readonly is_share: boolean
  readonly line: string
  readonly calculation_interval: AlertFields['calculation_interval']
  readonly webhook_url: string
  readonly is_ongoing: boolean
}

/** Digits that a double has for certain. */
const DIGITS_MAX = 15

/** The fields of an alert, or of a new one on an insight. */
export function inputOf(alert: AlertFields | null, chosen: number): AlertInput {
  const insight = String(chosen)
  if (alert === null) {
    return {
      insight,
      name: '',
      rule: 'above',
      value: '',
      is_share: true,
      line: '1',
      calculation_interval: 'daily',
      webhook_url: '',
      is_ongoing: false,
    }
  }
  const { type, bounds } = alert.threshold.configuration
  const { name: rule, bound } = ruleOf(alert)
  const bound_value = bounds[bound] ?? 0
  // As people write it: 0.29 × 100 is 28.999999999999996.
  const value =
    type === 'percentage' ? Number((bound_value * 100).toPrecision(DIGITS_MAX)) : bound_value
  return {
    insight,
    name: alert.name,
    rule,
    value: String(value),
    is_share: type === 'percentage',
    line: String(alert.config.series_index + 1),
    calculation_interval: alert.calculation_interval,
    webhook_url: alert.webhook_url ?? '',
    is_ongoing: alert.config.check_ongoing_interval === true,
  }
}

/** A body that makes an alert. */
type AlertBody = AlertFields & { readonly insight: number }

/** The fields as the body of a call. */
export function bodyOf(input: AlertInput): AlertBody {
  const rule = RULES.find(({ name }) => name === input.rule) ?? RULES[0]
  const is_share = rule.condition !== 'absolute_value' && input.is_share
  const value = input.value === '' ? null : Number(input.value) / (is_share ? 100 : 1)
  return {
    insight: Number(input.insight),
    name: input.name,
    condition: { type: rule.condition },
    threshold: {
      configuration: {
        type: is_share ? 'percentage' : 'absolute',
        bounds: { [rule.bound]: value },
      },
    },
    config: {
      type: 'TrendsAlertConfig',
      series_index: Math.max(0, Math.floor(Number(input.line)) - 1),
      check_ongoing_interval: input.is_ongoing,
    },
    calculation_interval: input.calculation_interval,
    webhook_url: input.webhook_url === '' ? null : input.webhook_url,
  }
}

/**
 * The members that differ from those of the alert. The form cannot show everything that the API can set, as two bounds
 * at once: what was not touched stays.
 */
export function changesOf(
  alert: AlertFields,
  insight_id: number,
  input: AlertInput,
): Partial<AlertBody> {
  const before: Readonly<Record<string, unknown>> = bodyOf(inputOf(alert, insight_id))
  const changed = Object.entries(bodyOf(input)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  )
  return Object.fromEntries(changed)
}
