/** Lines of trends as clients know them: with their days, labels and what they are about. */
import { breakdownLabel, OTHER_VALUES } from '../breakdown.ts'
import { bucketsOf } from '../buckets.ts'
import { resolvedRange } from '../date-range.ts'
import { actionOf, seriesLabel } from '../series.ts'
import { type Asked, trendsBreakdowns } from './asked.ts'
import { type Line, sumOf } from './values.ts'

/** One line of an answer. */
export type Result = {
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

/** A line as a result, and what formulas need of it. */
export type Answered = { readonly asked: Asked; readonly line: Line; readonly result: Result }

/** A line of the answer. */
export function resultOf(asked: Asked, line: Line): Result {
  const buckets = bucketsOf(asked.range)
  const { series, context, is_total, compare_label } = asked
  return {
    action: actionMember(asked),
    order: series.index,
    label: labelOf(asked, line, seriesLabel(series.series, context)),
    ...numbersOf(asked, line),
    ...(is_total
      ? { days: [] }
      : {
          labels: buckets.map(({ label }, index) =>
            compare_label === null ? label : `${asked.range.interval} ${index}`,
          ),
          days: buckets.map(({ day }) => day),
        }),
    filter: filterOf(asked),
    ...splitMembers(asked, line),
    ...(compare_label === null ? {} : { compare: true, compare_label }),
  }
}

/** The numbers of a line: a list over the steps with its sum, or one number. */
function numbersOf(
  { is_total }: Asked,
  { data, total }: Line,
): Pick<Result, 'aggregated_value' | 'count' | 'data'> {
  return is_total ? { data: [], count: 0, aggregated_value: total } : { data, count: total }
}

function actionMember({ series, context, range }: Asked): object {
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

/** What a line is called: by what it is split by, and by its series where there are several. */
function labelOf(asked: Asked, line: Line, name: string): string {
  const split = splitLabel(asked, line)
  if (split === null) return name
  return asked.question.series.length > 1 ? `${name} - ${split}` : split
}

/** What the value of a line is called; null where nothing is split. */
function splitLabel({ cohort, context }: Asked, { values }: Line): string | null {
  if (cohort === 'all') return 'all users'
  if (cohort !== null) {
    return context.cohorts.find(({ id }) => id === cohort)?.name ?? `cohort ${cohort}`
  }
  return values.length === 0 ? null : breakdownLabel(values)
}

/** The member `breakdown_value`, where something is split. */
function splitMembers({ cohort, question }: Asked, { values }: Line): object {
  if (cohort !== null) return { breakdown_value: cohort }
  if (values.length === 0) return {}
  const breakdowns = trendsBreakdowns(question)
  const is_multiple = breakdowns?.kind === 'values' && breakdowns.is_multiple
  return { breakdown_value: is_multiple ? values : values[0] }
}

/** Whether a line is all values together that are not told apart. */
export function isOther({ values }: Line): boolean {
  return values.includes(OTHER_VALUES)
}

/** The question in the words of older clients. */
function filterOf({ question, range }: Asked): object {
  const members = {
    insight: 'TRENDS',
    properties: question.properties,
    filter_test_accounts: question.filterTestAccounts,
    ...resolvedRange(range),
    entity_type: 'events',
    sampling_factor: question.samplingFactor,
    aggregation_group_type_index: question.aggregation_group_type_index,
    interval: range.interval,
    ...question.trendsFilter,
    ...question.breakdownFilter,
  }
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  )
}

/** A line worked out of others of the same time and value. */
export function formulaResult(
  { asked, line, result }: Answered,
  label: string,
  data: readonly number[],
): Result {
  const { order: _, ...members } = result
  const total = asked.is_total ? (data[0] ?? 0) : sumOf(data)
  return { ...members, action: null, label, ...numbersOf(asked, { ...line, data, total }) }
}
