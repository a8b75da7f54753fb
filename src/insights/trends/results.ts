/** Lines of trends as results: with days, labels and breakdown values. */

import { bucketsOf } from '../dates/buckets.ts'
import { resolvedRange } from '../dates/date-range.ts'
import { breakdownLabel, OTHER_VALUES } from '../members/breakdown.ts'
import { actionOf, seriesLabel } from '../members/series.ts'
import { type TrendsPlan, trendsBreakdowns } from './plan.ts'
import { sumOf, type TrendsLine } from './values.ts'

/** One line of an answer. */
export type TrendsResult = {
  readonly action: object | null
  readonly order?: number
  readonly label: string
  readonly count: number
  readonly data: readonly number[]
  readonly labels?: readonly string[]
  readonly days: readonly string[]
  readonly filter: object
  readonly aggregated_value?: number
  readonly breakdown_value?: unknown
  readonly compare?: true
  readonly compare_label?: 'current' | 'previous'
}

/** A line's result, with the figures that formulas need. */
export type AnsweredLine = {
  readonly plan: TrendsPlan
  readonly line: TrendsLine
  readonly result: TrendsResult
}

/** The result of a line. */
export function resultOf(plan: TrendsPlan, line: TrendsLine): TrendsResult {
  const buckets = bucketsOf(plan.range)
  const { series, context, is_total, compare_label } = plan
  return {
    action: actionMember(plan),
    order: series.index,
    label: labelOf(plan, line, seriesLabel(series.series, context)),
    ...numbersOf(plan, line),
    ...(is_total
      ? { days: [] }
      : {
          labels: buckets.map(({ label }, index) =>
            compare_label === null ? label : `${plan.range.interval} ${index}`,
          ),
          days: buckets.map(({ day }) => day),
        }),
    filter: filterOf(plan),
    ...splitMembers(plan, line),
    ...(compare_label === null ? {} : { compare: true, compare_label }),
  }
}

/** The numbers of a line: a list over the buckets with its sum, or one number. */
function numbersOf(
  { is_total }: TrendsPlan,
  { data, total }: TrendsLine,
): Pick<TrendsResult, 'aggregated_value' | 'count' | 'data'> {
  return is_total ? { data: [], count: 0, aggregated_value: total } : { data, count: total }
}

function actionMember({ series, context, range }: TrendsPlan): object {
  const { custom_name, math, math_property, math_hogql, math_group_type_index } = series.series
  return {
    ...actionOf(series, context),
    days: bucketsOf(range).map(({ day }) => day),
    custom_name: custom_name ?? null,
    math: math ?? null,
    math_property: math_property ?? null,
    math_hogql: math_hogql ?? null,
    math_group_type_index: math_group_type_index ?? null,
    properties: {},
  }
}

/** The label of a line: its breakdown value, and its series where there are several. */
function labelOf(plan: TrendsPlan, line: TrendsLine, name: string): string {
  const split = splitLabel(plan, line)
  if (split === null) return name
  return plan.query.series.length > 1 ? `${name} - ${split}` : split
}

/** The label of a line's value; null without a breakdown. */
function splitLabel({ cohort, context }: TrendsPlan, { values }: TrendsLine): string | null {
  if (cohort === 'all') return 'all users'
  if (cohort !== null) {
    return context.cohorts().find(({ id }) => id === cohort)?.name ?? `cohort ${cohort}`
  }
  return values.length === 0 ? null : breakdownLabel(values)
}

/** The member `breakdown_value`; absent without a breakdown. */
function splitMembers({ cohort, query }: TrendsPlan, { values }: TrendsLine): object {
  if (cohort !== null) return { breakdown_value: cohort }
  if (values.length === 0) return {}
  const breakdowns = trendsBreakdowns(query)
  const is_multiple = breakdowns?.kind === 'values' && breakdowns.is_multiple
  return { breakdown_value: is_multiple ? values : values[0] }
}

/** Whether a line is all values beyond the limit. */
export function isOther({ values }: TrendsLine): boolean {
  return values.includes(OTHER_VALUES)
}

/** The query in the members of older clients. */
function filterOf({ query, range }: TrendsPlan): object {
  const members = {
    insight: 'TRENDS',
    properties: query.properties,
    filter_test_accounts: query.filterTestAccounts,
    ...resolvedRange(range),
    entity_type: 'events',
    sampling_factor: query.samplingFactor,
    aggregation_group_type_index: query.aggregation_group_type_index,
    interval: range.interval,
    ...query.trendsFilter,
    ...query.breakdownFilter,
  }
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  )
}

/** The result of a formula over lines of the same period and value. */
export function formulaResult(
  { plan, line, result }: AnsweredLine,
  label: string,
  data: readonly number[],
): TrendsResult {
  const { order: _, ...members } = result
  const total = plan.is_total ? (data[0] ?? 0) : sumOf(data)
  return { ...members, action: null, label, ...numbersOf(plan, { ...line, data, total }) }
}
