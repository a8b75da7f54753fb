/** Conditions on the events of a person: done or not done, how often, within which time. */
import { eventTitle } from '../../parts/names.ts'

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
  /** Not done so. */
  readonly negation?: boolean
}

type DoneInput = {
  readonly event: string
  readonly is_not: boolean
  readonly times: number
  readonly days: number
}

/** The condition of what an editor has. */
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
  const { type, value, key, operator, operator_value, time_value, time_interval, negation } =
    Object(condition) as Readonly<Record<string, unknown>>
  if (type !== 'behavioral') return null
  const did = negation === true ? 'Did not do' : 'Did'
  const event = typeof key === 'string' ? eventTitle(key) : `action ${String(key)}`
  const within =
    time_value === undefined ? '' : ` in the last ${unitText(time_value, time_interval)}`
  if (value === 'performed_event') return `${did} ${event}${within}`
  if (value === 'performed_event_multiple') {
    const how = COUNT_TEXTS[String(operator)] ?? 'exactly'
    return `${did} ${event} ${how} ${unitText(operator_value, 'time')}${within}`
  }
  return `${did} ${event} (${String(value).replaceAll('_', ' ')})${within}`
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
