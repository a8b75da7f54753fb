/** Values of breakdowns as answers have them. */

const EMPTY_VALUE = '$$_posthog_breakdown_null_$$'
const OTHER_VALUE = '$$_posthog_breakdown_other_$$'

/** A breakdown's value as a label. */
export function breakdownText(value: unknown): string {
  if (Array.isArray(value)) return value.map(breakdownText).join(' · ')
  if (value === EMPTY_VALUE || value === '' || value === null) return '(none)'
  if (value === OTHER_VALUE) return 'Other'
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** Whether it stands for all values beyond the limit. */
export function isOther(value: unknown): boolean {
  return Array.isArray(value) ? value.some(isOther) : value === OTHER_VALUE
}

/** Whether it stands for events without the property. */
export function isEmptyValue(value: unknown): boolean {
  return value === EMPTY_VALUE || value === ''
}
