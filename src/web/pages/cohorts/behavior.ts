/** Conditions on the events of a person: done or not done, how often, within which time. */
import { formatBack } from '../../parts/format.ts'
import { eventTitle } from '../../parts/names.ts'
import { propertyText } from '../flags/release-text.ts'

/** A condition that the page can edit; the API has more kinds, which are shown as they are. */
export type DoneCondition = {
  readonly type: 'behavioral'
  readonly value: 'performed_event' | 'performed_event_multiple'
  readonly event_type: 'events'
  /** The event's name. */
  readonly key: string
  readonly time_value: number
  readonly time_interval: 'day' | 'hour' | 'month' | 'week'
  /** The least number of times, of `performed_event_multiple`. */
  readonly operator?: 'gte'
  readonly operator_value?: number
  /** True for persons who did not do it. */
  readonly negation?: boolean
}

type DoneInput = {
  readonly event: string
  readonly is_not: boolean
  readonly times: number
  readonly days: number
}

/** The condition that the form describes. */
export function doneCondition({ event, is_not, times, days }: DoneInput): DoneCondition {
  return {
    type: 'behavioral',
    event_type: 'events',
    key: event,
    time_value: days,
    time_interval: 'day',
    ...(times > 1
      ? { value: 'performed_event_multiple', operator: 'gte', operator_value: times }
      : { value: 'performed_event' }),
    ...(is_not && { negation: true }),
  }
}

/** `Did Page view at least 3 times in the last 30 days`; null for what is no condition on events. */
export function doneText(condition: unknown): string | null {
  const { type, value, key, operator, operator_value, negation, event_filters } = Object(
    condition,
  ) as Readonly<Record<string, unknown>>
  if (type !== 'behavioral') return null
  const did = negation === true ? 'Did not do' : 'Did'
  const event = typeof key === 'string' ? eventTitle(key) : `action ${String(key)}`
  const filters: readonly unknown[] = Array.isArray(event_filters) ? event_filters : []
  const where = filters.map((filter) => propertyText(filter)).join(' and ')
  const done = `${did} ${event}${where === '' ? '' : ` where ${where}`}`
  const within = timeText(Object(condition))
  if (value === 'performed_event') return done + within
  if (value === 'performed_event_multiple') {
    const how = COUNT_TEXTS[String(operator)] ?? 'exactly'
    return `${done} ${how} ${unitText(operator_value, 'time')}${within}`
  }
  return `${done} (${String(value).replaceAll('_', ' ')})${within}`
}

/** ` in the last 30 days`, also of the `-30d` that the API takes in its place, and ` from 2026-11-01 to 2026-11-14` of dates. */
function timeText(condition: Readonly<Record<string, unknown>>): string {
  const { explicit_datetime: from, explicit_datetime_to: to, time_value, time_interval } = condition
  const until = typeof to === 'string' ? ` to ${to}` : ''
  if (typeof from === 'string') {
    const back = formatBack(from)
    return back === null ? ` from ${from}${until}` : ` in the last ${back}${until}`
  }
  if (time_value === undefined) return until
  return ` in the last ${unitText(time_value, time_interval)}${until}`
}

const COUNT_TEXTS: Readonly<Record<string, string>> = {
  gte: 'at least',
  gt: 'more than',
  lte: 'at most',
  lt: 'fewer than',
}

function unitText(count: unknown, unit: unknown): string {
  const name = typeof unit === 'string' ? unit : 'day'
  return `${String(count)} ${name}${Number(count) === 1 ? '' : 's'}`
}
