/** Behavioral conditions of cohorts: a leaf of the filter tree → a HogQL query over events. */

import { parseDateBound } from '../../flags/operators/date.ts'
import { asText } from '../../flags/operators/value.ts'
import { isObject, numberOf } from '../../json.ts'

/** One behavioral condition, as a query for the persons who meet it. */
type Behavior = {
  /** HogQL that returns person ids in order; `{after}` is the last person of the previous page. */
  readonly query: string
  readonly values: Readonly<Record<string, unknown>>
  /** Property filters on the event, for the placeholder `{filters}`. */
  readonly properties: readonly unknown[]
  /** Ids of the actions in the query. */
  readonly action_ids: readonly number[]
}

/** Persons per page of a query. */
export const PEOPLE_PER_PAGE = 10_000

/** A condition that cannot be computed; `message` is shown to callers. */
export class UnknownBehavior extends Error {
  override readonly name = 'UnknownBehavior'
}

type BehaviorLeaf = Readonly<Record<string, unknown>>

const INTERVALS: ReadonlyMap<string, string> = new Map([
  ['minute', 'toIntervalMinute'],
  ['hour', 'toIntervalHour'],
  ['day', 'toIntervalDay'],
  ['week', 'toIntervalWeek'],
  ['month', 'toIntervalMonth'],
  ['year', 'toIntervalYear'],
])

/** Units of relative dates. */
const UNITS = { h: 'hour', d: 'day', w: 'week', m: 'month', y: 'year' } as const

const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ['gte', '>='],
  ['gt', '>'],
  ['lte', '<='],
  ['lt', '<'],
  ['eq', '='],
  ['exact', '='],
])

const TIME_VALUE_MAX = 10_000
const PERIODS_MAX = 100

/** The conditions on one person's events: aggregates over `did` and, in sequences, `then_did`. */
type BehaviorWindow = {
  /** HogQL of the earliest relevant time; null for all events. */
  readonly since: string | null
  readonly having: string
  /** The second event of a sequence, and the longest time until it. */
  readonly next?: { readonly event: unknown; readonly type: unknown; readonly within: string }
}

/** KINDS of behavior: the conditions on events for each `value` of a leaf. */
const KINDS: Readonly<Record<string, (leaf: BehaviorLeaf) => BehaviorWindow>> = {
  performed_event: (leaf) => ({ since: sinceOf(leaf), having: '' }),
  performed_event_multiple: (leaf) => ({
    since: sinceOf(leaf),
    having: `count() ${countCondition(leaf)}`,
  }),
  performed_event_first_time: (leaf) => ({
    since: null,
    having: `min(timestamp) >= ${sinceOf(leaf)}`,
  }),
  performed_event_regularly: (leaf) => regularWindow(leaf),
  performed_event_sequence: (leaf) => ({
    since: sinceOf(leaf),
    having: '',
    next: {
      event: leaf['seq_event'],
      type: leaf['seq_event_type'],
      within: spanOf(leaf['seq_time_value'], leaf['seq_time_interval']),
    },
  }),
  stopped_performing_event: (leaf) => {
    const [since, recently] = [sinceOf(leaf), recentSince(leaf)]
    return { since, having: `countIf(timestamp > ${recently}) = 0` }
  },
  restarted_performing_event: (leaf) => {
    const [since, recently] = [sinceOf(leaf), recentSince(leaf)]
    const paused = `countIf(timestamp > ${since} and timestamp <= ${recently}) = 0`
    const having = `min(timestamp) <= ${since} and ${paused} and countIf(timestamp > ${recently}) > 0`
    return { since: null, having }
  },
}

/** Reads one leaf of a cohort's filters. Throws UnknownBehavior for conditions that events cannot answer. */
export function readBehavior(leaf: BehaviorLeaf): Behavior {
  const kind = asText(leaf['value'])
  const read = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined
  if (read === undefined) throw new UnknownBehavior(`${kind} cannot be asked about.`)
  const { since, having, next } = read(leaf)
  const properties = filtersOf(leaf)
  const and_filters = properties.length === 0 ? '' : ' and {filters}'
  const did = `(${eventCondition(leaf['event_type'], leaf['key'], 'event')}${and_filters})`
  const then_did =
    next === undefined ? 'false' : `(${eventCondition(next.type, next.event, 'then_event')})`
  const until = upperBound(leaf)
  const rows = `
  select toString(person_id) as person, timestamp, ${did} as did, ${then_did} as then_did
  from events
  where toString(person_id) > {after}
    and (${did} or ${then_did})${since === null ? '' : `\n    and timestamp >= ${since}`}${until}`
  return {
    query: `
select person
from (${next === undefined ? rows : onlyFollowed(rows, next.within)})
where did
group by person${having === '' ? '' : `\nhaving ${having}`}
order by person
limit ${PEOPLE_PER_PAGE}`,
    values: {
      event: asText(leaf['key']),
      ...(next === undefined ? {} : { then_event: asText(next.event) }),
      ...placeholderTimes(leaf),
    },
    properties,
    action_ids: [
      ...actionIds(leaf['event_type'], leaf['key']),
      ...actionIds(next?.type, next?.event),
    ],
  }
}

/** Lists the behavioral conditions in a tree of filters, without those that cannot be computed. */
export function listBehaviors(node: unknown): readonly Behavior[] {
  if (!isObject(node)) return []
  if (Array.isArray(node['values'])) return node['values'].flatMap(listBehaviors)
  if (node['type'] !== 'behavioral') return listBehaviors(node['properties'])
  try {
    return [readBehavior(node)]
  } catch (error) {
    if (error instanceof UnknownBehavior) return []
    throw error
  }
}

/** Whether a cohort's filters contain a behavioral condition. */
export function hasBehavior(node: unknown): boolean {
  if (!isObject(node)) return false
  if (Array.isArray(node['values'])) return node['values'].some(hasBehavior)
  return node['type'] === 'behavioral' || hasBehavior(node['properties'])
}

/** Restricts rows to those that the second event follows within the time limit. */
function onlyFollowed(rows: string, within: string): string {
  return `
  select person, timestamp, did and next_at <= timestamp + ${within} as did
  from (
    select person, timestamp, did,
      min(if(then_did, timestamp, null)) over (
        partition by person order by timestamp, did rows between 1 following and unbounded following
      ) as next_at
    from (${rows})
  )`
}

/**
 * Conditions on regular behavior: often enough in at least `min_periods` of the last `total_periods` periods.
 */
function regularWindow(leaf: BehaviorLeaf): BehaviorWindow {
  const total = countOf(leaf['total_periods'], PERIODS_MAX)
  const least = countOf(leaf['min_periods'], PERIODS_MAX)
  const length = countOf(leaf['time_value'], TIME_VALUE_MAX)
  const back = (periods: number): string =>
    `now() - ${spanOf(length * periods, leaf['time_interval'])}`
  const periods = Array.from({ length: total }, (_, index) => {
    const until = index === 0 ? 'now()' : back(index)
    const count = `countIf(timestamp > ${back(index + 1)} and timestamp <= ${until})`
    return `if(${count} ${countCondition(leaf)}, 1, 0)`
  })
  return { since: back(total), having: `${periods.join(' + ')} >= ${least}` }
}

function eventCondition(type: unknown, key: unknown, name: string): string {
  const [action_id] = actionIds(type, key)
  return action_id === undefined ? `event = {${name}}` : `matchesAction(${action_id})`
}

/** Returns the id of the leaf's action; empty for an event. */
function actionIds(type: unknown, key: unknown): readonly number[] {
  if (type === undefined || type === null || type === 'events') return []
  const id = Number(key)
  if (type === 'actions' && Number.isSafeInteger(id) && id > 0) return [id]
  throw new UnknownBehavior(`Only events and actions can be asked about, not ${asText(type)}.`)
}

function filtersOf(leaf: BehaviorLeaf): readonly unknown[] {
  const filters = leaf['event_filters'] ?? []
  if (Array.isArray(filters) && filters.every(isObject)) return filters
  throw new UnknownBehavior('Properties of the event must be a list of filters.')
}

/** HogQL of the start: a date, absolute or relative, or a time span before now. */
function sinceOf(leaf: BehaviorLeaf): string {
  const date = leaf['explicit_datetime']
  if (date === undefined || date === null) {
    return `now() - ${spanOf(leaf['time_value'] ?? 30, leaf['time_interval'] ?? 'day')}`
  }
  return momentText(date, 'since')
}

/** HogQL of the end; '' without one. */
function upperBound(leaf: BehaviorLeaf): string {
  const date = leaf['explicit_datetime_to']
  if (date === undefined || date === null) return ''
  return `\n    and timestamp <= ${momentText(date, 'until')}`
}

function momentText(date: unknown, name: string): string {
  const bound = parseDateBound(date)
  if (bound === null) throw new UnknownBehavior('The time cannot be understood.')
  if (bound.kind === 'moment') return `toDateTime({${name}})`
  const { amount, unit } = bound.date
  return `now() - ${spanOf(amount, UNITS[unit])}`
}

/** Values of the placeholders `{since}` and `{until}`. */
function placeholderTimes(leaf: BehaviorLeaf): Readonly<Record<string, string>> {
  const bounds = { since: leaf['explicit_datetime'], until: leaf['explicit_datetime_to'] }
  return Object.fromEntries(
    Object.entries(bounds).flatMap(([name, date]) => {
      const bound = parseDateBound(date)
      return bound?.kind === 'moment' ? [[name, new Date(bound.ms).toISOString()]] : []
    }),
  )
}

/** HogQL of the time that separates before and after, for behaviors with a pause. */
function recentSince(leaf: BehaviorLeaf): string {
  return `now() - ${spanOf(leaf['seq_time_value'], leaf['seq_time_interval'])}`
}

function spanOf(value: unknown, unit: unknown): string {
  const interval = INTERVALS.get(asText(unit ?? 'day'))
  const amount = numberOf(value)
  if (
    interval === undefined ||
    !Number.isInteger(amount) ||
    amount < 1 ||
    amount > TIME_VALUE_MAX * PERIODS_MAX
  ) {
    throw new UnknownBehavior('The time cannot be understood.')
  }
  return `${interval}(${amount})`
}

function countCondition(leaf: BehaviorLeaf): string {
  const comparison = COMPARISONS.get(asText(leaf['operator'] ?? 'gte'))
  const count = numberOf(leaf['operator_value'])
  if (comparison === undefined || !Number.isSafeInteger(count) || count < 0) {
    throw new UnknownBehavior('How often cannot be understood.')
  }
  return `${comparison} ${count}`
}

function countOf(value: unknown, most: number): number {
  const count = numberOf(value)
  if (Number.isInteger(count) && count >= 1 && count <= most) return count
  throw new UnknownBehavior('How often cannot be understood.')
}
