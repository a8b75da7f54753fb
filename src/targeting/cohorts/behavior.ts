/** Conditions on what people did, as cohorts have them: read from the filter tree, put into a question about events. */
import { parseDateBound } from '../../flags/date.ts'
import { asText, isRecord } from '../../flags/value.ts'

/** One thing that people did or did not do. */
export type Behavior = {
  /** HogQL with `{after}` for the person the page before ended with; answers person ids in order. */
  readonly query: string
  readonly values: Readonly<Record<string, unknown>>
  /** What stands for `{filters}`: property filters on the event. */
  readonly properties: readonly unknown[]
  /** The actions that the question names. */
  readonly action_ids: readonly number[]
}

/** People in one answer. */
export const PEOPLE_PER_PAGE = 10_000

/** A condition that cannot be worked out; what it lacks is for people. */
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

/** What is asked of the events of one person: the question over `did` and, in sequences, `then_did`. */
type BehaviorWindow = {
  /** Since when events matter; null for all of them. */
  readonly since: string | null
  readonly having: string
  /** What has to come after it, and how soon. */
  readonly next?: { readonly event: unknown; readonly type: unknown; readonly within: string }
}

/** How each kind of behaviour is asked about. */
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
  performed_event_regularly: (leaf) => regularly(leaf),
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
    const [since, recently] = [sinceOf(leaf), recentlyOf(leaf)]
    return { since, having: `countIf(timestamp > ${recently}) = 0` }
  },
  restarted_performing_event: (leaf) => {
    const [since, recently] = [sinceOf(leaf), recentlyOf(leaf)]
    const paused = `countIf(timestamp > ${since} and timestamp <= ${recently}) = 0`
    const having = `min(timestamp) <= ${since} and ${paused} and countIf(timestamp > ${recently}) > 0`
    return { since: null, having }
  },
}

/** Reads one leaf of a cohort's filters. Throws UnknownBehavior for what events cannot tell. */
export function readBehavior(leaf: BehaviorLeaf): Behavior {
  const kind = asText(leaf['value'])
  const read = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined
  if (read === undefined) throw new UnknownBehavior(`${kind} cannot be asked about.`)
  const { since, having, next } = read(leaf)
  const properties = filtersOf(leaf)
  const narrowed = properties.length === 0 ? '' : ' and {filters}'
  const did = `(${eventCondition(leaf['event_type'], leaf['key'], 'event')}${narrowed})`
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
from (${next === undefined ? rows : followed(rows, next.within)})
where did
group by person${having === '' ? '' : `\nhaving ${having}`}
order by person
limit ${PEOPLE_PER_PAGE}`,
    values: {
      event: asText(leaf['key']),
      ...(next === undefined ? {} : { then_event: asText(next.event) }),
      ...momentsOf(leaf),
    },
    properties,
    action_ids: [
      ...actionIds(leaf['event_type'], leaf['key']),
      ...actionIds(next?.type, next?.event),
    ],
  }
}

/** Whether anything in a cohort's filters is about what people did. */
export function hasBehavior(node: unknown): boolean {
  if (!isRecord(node)) return false
  if (Array.isArray(node['values'])) return node['values'].some(hasBehavior)
  return node['type'] === 'behavioral' || hasBehavior(node['properties'])
}

/** Of the rows those after which, soon enough, the other thing was done. */
function followed(rows: string, within: string): string {
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

/** So often in at least so many of the periods back from now. */
function regularly(leaf: BehaviorLeaf): BehaviorWindow {
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

/** The id of the action that a leaf asks about, if it asks about one. */
function actionIds(type: unknown, key: unknown): readonly number[] {
  if (type === undefined || type === null || type === 'events') return []
  const id = Number(key)
  if (type === 'actions' && Number.isSafeInteger(id) && id > 0) return [id]
  throw new UnknownBehavior(`Only events and actions can be asked about, not ${asText(type)}.`)
}

function filtersOf(leaf: BehaviorLeaf): readonly unknown[] {
  const filters = leaf['event_filters'] ?? []
  if (Array.isArray(filters) && filters.every(isRecord)) return filters
  throw new UnknownBehavior('Properties of the event must be a list of filters.')
}

/** Since when: a date, relative or not, or so long ago. */
function sinceOf(leaf: BehaviorLeaf): string {
  const said = leaf['explicit_datetime']
  if (said === undefined || said === null) {
    return `now() - ${spanOf(leaf['time_value'] ?? 30, leaf['time_interval'] ?? 'day')}`
  }
  return momentText(said, 'since')
}

/** Until when, where that is said. */
function upperBound(leaf: BehaviorLeaf): string {
  const said = leaf['explicit_datetime_to']
  if (said === undefined || said === null) return ''
  return `\n    and timestamp <= ${momentText(said, 'until')}`
}

function momentText(said: unknown, name: string): string {
  const bound = parseDateBound(said)
  if (bound === null) throw new UnknownBehavior('The time cannot be understood.')
  if (bound.kind === 'moment') return `toDateTime({${name}})`
  const { amount, unit } = bound.date
  return `now() - ${spanOf(amount, UNITS[unit])}`
}

/** What stands for `{since}` and `{until}`. */
function momentsOf(leaf: BehaviorLeaf): Readonly<Record<string, string>> {
  const bounds = { since: leaf['explicit_datetime'], until: leaf['explicit_datetime_to'] }
  return Object.fromEntries(
    Object.entries(bounds).flatMap(([name, said]) => {
      const bound = parseDateBound(said)
      return bound?.kind === 'moment' ? [[name, new Date(bound.ms).toISOString()]] : []
    }),
  )
}

/** Since when something is recent, of behaviours that ask for a pause. */
function recentlyOf(leaf: BehaviorLeaf): string {
  return `now() - ${spanOf(leaf['seq_time_value'], leaf['seq_time_interval'])}`
}

function spanOf(value: unknown, unit: unknown): string {
  const interval = INTERVALS.get(asText(unit ?? 'day'))
  const amount = Number(value)
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
  const count = Number(leaf['operator_value'])
  if (comparison === undefined || !Number.isSafeInteger(count) || count < 0) {
    throw new UnknownBehavior('How often cannot be understood.')
  }
  return `${comparison} ${count}`
}

function countOf(value: unknown, most: number): number {
  const count = Number(value)
  if (Number.isInteger(count) && count >= 1 && count <= most) return count
  throw new UnknownBehavior('How often cannot be understood.')
}
