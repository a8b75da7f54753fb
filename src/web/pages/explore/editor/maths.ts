/** MATHS: how a series is counted. */
import type { ListedGroupType } from '../../../api/definitions.ts'
import { propertyTitle } from '../../../parts/names.ts'
import type { SeriesNode } from '../explore-query.ts'

type MathOption = {
  readonly value: string
  readonly text: string
  /** It aggregates a number among the event's properties. */
  readonly has_property?: boolean
  readonly group: string
}

/** MATHS: in the order of the list. Adding one means adding a line. */
const MATHS: readonly MathOption[] = [
  { value: 'total', text: 'Total count', group: 'Count' },
  { value: 'dau', text: 'Unique persons', group: 'Count' },
  { value: 'weekly_active', text: 'Weekly active persons', group: 'Count' },
  { value: 'monthly_active', text: 'Monthly active persons', group: 'Count' },
  { value: 'unique_session', text: 'Unique sessions', group: 'Count' },
  { value: 'first_time_for_user', text: 'First time for the person', group: 'Count' },
  { value: 'sum', text: 'Sum of', has_property: true, group: 'Property' },
  { value: 'avg', text: 'Average of', has_property: true, group: 'Property' },
  { value: 'median', text: 'Median of', has_property: true, group: 'Property' },
  { value: 'min', text: 'Minimum of', has_property: true, group: 'Property' },
  { value: 'max', text: 'Maximum of', has_property: true, group: 'Property' },
  { value: 'p90', text: '90th percentile of', has_property: true, group: 'Property' },
  { value: 'p95', text: '95th percentile of', has_property: true, group: 'Property' },
  { value: 'p99', text: '99th percentile of', has_property: true, group: 'Property' },
  { value: 'avg_count_per_actor', text: 'Average per person', group: 'Per person' },
  { value: 'median_count_per_actor', text: 'Median per person', group: 'Per person' },
  { value: 'max_count_per_actor', text: 'Maximum per person', group: 'Per person' },
]

/** All maths, with one line per type of group. */
export function mathOptions(groups: readonly ListedGroupType[]): readonly MathOption[] {
  const unique = groups.map(({ group_type, group_type_index }) => ({
    value: `unique_group:${group_type_index}`,
    text: `Unique groups: ${group_type}`,
    group: 'Count',
  }))
  return [
    ...MATHS.filter(({ group }) => group === 'Count'),
    ...unique,
    ...MATHS.filter(({ group }) => group !== 'Count'),
  ]
}

/** The option of a series' math. */
export function mathValue({ math, math_group_type_index }: SeriesNode): string {
  return math === 'unique_group' ? `unique_group:${math_group_type_index ?? 0}` : (math ?? 'total')
}

/** The math of a series within a name: `unique persons`, `sum of price`. */
export function mathText(node: SeriesNode): string {
  const { math, math_property } = node
  if (math === 'unique_group') return 'unique groups'
  const { text = math ?? '', has_property } =
    MATHS.find(({ value }) => value === mathValue(node)) ?? {}
  const name = text.charAt(0).toLowerCase() + text.slice(1)
  return has_property ? `${name} ${propertyTitle(math_property ?? '')}` : name
}

/** The series with another math. */
export function withMath(node: SeriesNode, value: string): SeriesNode {
  const {
    math: _math,
    math_property,
    math_group_type_index: _index,
    math_hogql: _hogql,
    ...rest
  } = node
  const [math = 'total', index] = value.split(':')
  const has_property = needsProperty(value)
  return {
    ...rest,
    ...(math !== 'total' && { math }),
    ...(index !== undefined && { math_group_type_index: Number(index) }),
    ...(has_property && math_property !== undefined && { math_property }),
  }
}

/** Whether a math needs a property. */
export function needsProperty(value: string): boolean {
  return MATHS.some((one) => one.value === value && one.has_property === true)
}
