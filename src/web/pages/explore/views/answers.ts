/** Values of breakdowns as answers have them. */
import { formatNumber } from '../../../parts/format.ts'

const EMPTY_VALUE = '$$_posthog_breakdown_null_$$'
const OTHER_VALUE = '$$_posthog_breakdown_other_$$'

/** A breakdown whose values are bins of numbers, if it has a count of them. */
type LabelledBreakdown = { readonly histogram_bin_count?: number | null }

/** A breakdown's value as a label; that of a histogram's bin is `0.5 – 33` in place of `[0.5,33]`. */
export function breakdownText(
  value: unknown,
  breakdowns?: readonly LabelledBreakdown[] | null,
): string {
  if (Array.isArray(value)) {
    return value.map((one, at) => breakdownText(one, breakdowns?.slice(at))).join(' · ')
  }
  if (value === EMPTY_VALUE || value === '' || value === null) return '(none)'
  if (value === OTHER_VALUE) return 'Other'
  const ends = breakdowns?.[0]?.histogram_bin_count ? endsOfBin(value) : []
  if (ends.length === 2) return ends.map(formatNumber).join(' – ')
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
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
