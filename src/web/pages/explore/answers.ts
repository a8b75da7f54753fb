/** The results of each kind, as the server answers them. */

/** One line of TrendsQuery. */
export type TrendsAnswerLine = {
  readonly label: string
  readonly data: readonly (number | null)[]
  readonly days: readonly string[]
  readonly count: number
  readonly aggregated_value?: number | null
  readonly action?: { readonly order?: number; readonly custom_name?: string | null } | null
  readonly order?: number
  readonly breakdown_value?: string | number | readonly (string | number)[]
  readonly compare_label?: 'current' | 'previous'
}

/** One step of FunnelsQuery. */
export type FunnelStep = {
  readonly name: string | null
  readonly custom_name: string | null
  readonly order: number
  readonly count: number
  readonly average_conversion_time: number | null
  readonly median_conversion_time: number | null
  readonly breakdown_value?: readonly (string | number)[] | string | number
}

/** FunnelsQuery with `time_to_convert`: seconds at which each bin begins, and how many converted within it. */
export type ConversionTimes = {
  readonly bins: readonly (readonly [seconds: number, count: number])[]
  readonly average_conversion_time: number | null
}

/** FunnelsQuery with `trends`: percent per bucket. */
export type FunnelTrend = {
  readonly data: readonly number[]
  readonly days: readonly string[]
  readonly breakdown_value?: readonly (string | number)[] | string | number
}

/** One row of RetentionQuery. */
export type RetentionRow = {
  readonly label: string
  readonly date: string
  readonly values: readonly { readonly count: number; readonly label: string }[]
  readonly breakdown_value?: readonly (string | number)[] | string | number
}

/** One edge of PathsQuery; names begin with the number of their step: `1_/pricing`. */
export type PathFlow = {
  readonly source: string
  readonly target: string
  readonly value: number
  readonly average_conversion_time: number
}

/** One state of LifecycleQuery; dormant counts are negative. */
export type LifecycleLine = {
  readonly status: string
  readonly data: readonly number[]
  readonly days: readonly string[]
}

/** One line of StickinessQuery: how many were active on so many buckets. */
export type StickinessLine = {
  readonly label: string
  readonly data: readonly number[]
  readonly days: readonly number[]
  readonly labels: readonly string[]
  readonly count: number
  readonly compare_label?: 'current' | 'previous'
  readonly action?: { readonly order?: number; readonly custom_name?: string | null } | null
}

const EMPTY_VALUE = '$$_posthog_breakdown_null_$$'
const OTHER_VALUE = '$$_posthog_breakdown_other_$$'

/** A breakdown's value as people read it. */
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
