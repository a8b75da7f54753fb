/** Judges the series of an insight by the threshold of an alert. Pure: the same points give the same verdict. */

/** ALERT_CONDITIONS: the figures that an alert can compare with its bounds. A line adds one, with its case in `comparedOf`. */
const ALERT_CONDITIONS = ['absolute_value', 'relative_increase', 'relative_decrease'] as const
export type AlertCondition = (typeof ALERT_CONDITIONS)[number]

export type AlertThreshold = {
  /** Of changes: `percentage` compares shares of the value before, 0.5 for half of it. */
  readonly type: 'absolute' | 'percentage'
  readonly bounds: { readonly lower?: number | null; readonly upper?: number | null }
}

export type AlertRule = {
  readonly condition: AlertCondition
  readonly threshold: AlertThreshold
}

/** One value of the insight, and the value before it; null where there is none. */
export type AlertPoint = { readonly value: number; readonly before: number | null }

export type AlertVerdict = {
  /** The compared number: the value, or its change; null when there is no value before it. */
  readonly compared: number | null
  readonly is_breached: boolean
  /** Events that are still on their way could end the breach: they only add to values. */
  readonly is_by_lack: boolean
}

/** Compares a point with the bounds. A bound itself is no breach. */
export function judgePoint({ condition, threshold }: AlertRule, point: AlertPoint): AlertVerdict {
  const compared = comparedOf(condition, threshold, point)
  const { lower = null, upper = null } = threshold.bounds
  const is_below = compared !== null && lower !== null && compared < lower
  const is_above = compared !== null && upper !== null && compared > upper
  const is_by_lack = condition === 'relative_decrease' ? is_above : is_below
  return { compared, is_breached: is_below || is_above, is_by_lack }
}

function comparedOf(
  condition: AlertCondition,
  { type }: AlertThreshold,
  { value, before }: AlertPoint,
): number | null {
  if (condition === 'absolute_value') return value
  if (before === null) return null
  const change = condition === 'relative_increase' ? value - before : before - value
  if (type === 'absolute') return change
  // A rise from 0 is greater than any share; from 0 to 0 is no change.
  if (before === 0) return change === 0 ? 0 : Math.sign(change) * Number.MAX_SAFE_INTEGER
  return change / before
}
