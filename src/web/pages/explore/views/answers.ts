/** Values of breakdowns as answers have them. */

import { formatNumber } from '../../../parts/format.ts'
import { countryName } from '../../../parts/names.ts'

const EMPTY_VALUE = '$$_posthog_breakdown_null_$$'
const OTHER_VALUE = '$$_posthog_breakdown_other_$$'

/** A breakdown whose values are bins of numbers, if it has a count of them. */
type LabelledBreakdown = {
  readonly property: string | number
  readonly histogram_bin_count?: number | null
}

/**
 * A breakdown's value as a label: a country's code is its name, a histogram's bin `0.5 – 33` in place of
 * `[0.5,33]`.
 */
export function breakdownText(
  value: unknown,
  breakdowns?: readonly LabelledBreakdown[] | null,
): string {
  if (Array.isArray(value)) {
    return value.map((one, at) => breakdownText(one, breakdowns?.slice(at))).join(' · ')
  }
  if (value === EMPTY_VALUE || value === '' || value === null) return '(none)'
  if (value === OTHER_VALUE) return 'Other'
  const { property, histogram_bin_count } = breakdowns?.[0] ?? {}
  const ends = histogram_bin_count ? endsOfBin(value) : []
  if (ends.length === 2) return ends.map(formatNumber).join(' – ')
  if (typeof value !== 'string') return JSON.stringify(value) ?? ''
  return property === '$geoip_country_code' ? countryName(value) : value
}

/** The ends of a histogram's bin: `[0.5,33]` → 0.5, 33. */
export const endsOfBin = (value: unknown): readonly number[] =>
  String(value).slice(1, -1).split(',').map(Number)

/** Whether it stands for all values beyond the limit. */
export function isOther(value: unknown): boolean {
  return Array.isArray(value) ? value.some(isOther) : value === OTHER_VALUE
}

/** Whether it stands for events without the property. */
export function isEmptyValue(value: unknown): boolean {
  return value === EMPTY_VALUE || value === ''
}
