/** Conditions on what people did, as cohorts have them: read from the filter tree, put into a question about events. */
import { isRecord, textOf } from '../flags/value.ts'

/** One thing that people did or did not do. */
export type Behavior = {
  /** HogQL with `{after}` for the person the page before ended with; answers person ids in order. */
  readonly query: string
  readonly values: Readonly<Record<string, unknown>>
}

/** People in one answer. */
export const PEOPLE_PER_PAGE = 10_000

/** A condition that cannot be worked out; what it lacks is for people. */
export class UnknownBehavior extends Error {
  override readonly name = 'UnknownBehavior'
}

const INTERVALS: Readonly<Record<string, string>> = {
  minute: 'toIntervalMinute',
  hour: 'toIntervalHour',
  day: 'toIntervalDay',
  week: 'toIntervalWeek',
  month: 'toIntervalMonth',
  year: 'toIntervalYear',
}

const COMPARISONS: Readonly<Record<string, string>> = {
  gte: '>=',
  gt: '>',
  lte: '<=',
  lt: '<',
  eq: '=',
  exact: '=',
}

const TIME_VALUE_MAX = 10_000

/** Reads one leaf of a cohort's filters. Throws UnknownBehavior for what only other tables could tell. */
export function readBehavior(leaf: Readonly<Record<string, unknown>>): Behavior {
  const { value, key, event_type, time_value, time_interval } = leaf as Record<string, unknown>
  if (event_type !== undefined && event_type !== 'events') {
    throw new UnknownBehavior(`Only events can be asked about, not ${textOf(event_type)}.`)
  }
  if (Array.isArray(leaf['event_filters']) && leaf['event_filters'].length > 0) {
    throw new UnknownBehavior('Properties of the event cannot be asked about.')
  }
  const interval = INTERVALS[textOf(time_interval ?? 'day')]
  const amount = Number(time_value ?? 30)
  if (
    interval === undefined ||
    !Number.isInteger(amount) ||
    amount < 1 ||
    amount > TIME_VALUE_MAX
  ) {
    throw new UnknownBehavior('The time cannot be understood.')
  }
  const having = value === 'performed_event' ? '' : countCondition(leaf)
  const query = `
select toString(person_id) as person
from events
where event = {event}
  and timestamp >= now() - ${interval}(${amount})
  and toString(person_id) > {after}
group by person${having}
order by person
limit ${PEOPLE_PER_PAGE}`
  return { query, values: { event: textOf(key) } }
}

function countCondition(leaf: Readonly<Record<string, unknown>>): string {
  if (leaf['value'] !== 'performed_event_multiple') {
    throw new UnknownBehavior(`${textOf(leaf['value'])} cannot be asked about.`)
  }
  const comparison = COMPARISONS[textOf(leaf['operator'] ?? 'gte')]
  const count = Number(leaf['operator_value'])
  if (comparison === undefined || !Number.isSafeInteger(count) || count < 0) {
    throw new UnknownBehavior('How often cannot be understood.')
  }
  return `\nhaving count() ${comparison} ${count}`
}

/** Whether anything in a cohort's filters is about what people did. */
export function hasBehavior(node: unknown): boolean {
  if (!isRecord(node)) return false
  if (Array.isArray(node['values'])) return node['values'].some(hasBehavior)
  return node['type'] === 'behavioral' || hasBehavior(node['properties'])
}
