/** MATHS: how a series' events become numbers, per bucket and breakdown value. */
import type { Interval, Series } from '../../contract/insights/parts.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { call, constant, field } from '../../hogql/syntax/nodes.ts'
import { expr } from '../../hogql/template.ts'
import { actorOf } from '../members/actor.ts'
import { readExpression } from '../members/expression.ts'
import type { SeriesAt } from '../members/series.ts'

/** The figure that a series has per bucket. */
type SeriesMath =
  /** An aggregate of the events. */
  | { readonly kind: 'events'; readonly value: Expr; readonly is_scaled: boolean }
  /** Unique actors. */
  | { readonly kind: 'actors' }
  /** Unique actors within the days before the end of each bucket. */
  | { readonly kind: 'recent_actors'; readonly days: number }
  /** An aggregate of the number of events per actor. */
  | { readonly kind: 'per_actor'; readonly aggregate: SeriesAggregate }
  /** An aggregate of a session property, once per session. */
  | { readonly kind: 'per_session'; readonly of: Expr; readonly aggregate: SeriesAggregate }
  /** Actors whose first event it is: of the kind (`event`), or of the kind with its properties (`match`). */
  | { readonly kind: 'first_time'; readonly first: 'event' | 'match' }

/** An aggregate of numbers. */
export type SeriesAggregate = (of: Expr) => Expr

const quantile =
  (level: number): SeriesAggregate =>
  (of) => ({ ...call('quantile', [of]), params: [constant(level)] })

/** Aggregates of properties and of counts per actor. */
const AGGREGATES: ReadonlyMap<string, SeriesAggregate> = new Map([
  ['avg', (of: Expr) => call('avg', [of])],
  ['sum', (of: Expr) => call('sum', [of])],
  ['min', (of: Expr) => call('min', [of])],
  ['max', (of: Expr) => call('max', [of])],
  ['median', quantile(0.5)],
  ['p75', quantile(0.75)],
  ['p90', quantile(0.9)],
  ['p95', quantile(0.95)],
  ['p99', quantile(0.99)],
])

/** Maths that need nothing but their name. */
const MATHS: Readonly<Record<string, SeriesMath>> = {
  total: { kind: 'events', value: call('count', []), is_scaled: true },
  dau: { kind: 'actors' },
  unique_group: { kind: 'actors' },
  weekly_active: { kind: 'recent_actors', days: 7 },
  monthly_active: { kind: 'recent_actors', days: 30 },
  unique_session: {
    kind: 'events',
    // All events without a session count as one session.
    value: expr`count(distinct ifNull($session_id, ''))`,
    is_scaled: true,
  },
  first_time_for_user: { kind: 'first_time', first: 'event' },
  first_matching_event_for_user: { kind: 'first_time', first: 'match' },
}

const PER_ACTOR = /^(.+)_count_per_actor$/

/** The math of a series. Refuses unknown maths, and those that lack their property or expression. */
export function mathOf({ series, index }: SeriesAt, interval: Interval): SeriesMath {
  const name = series.math ?? 'total'
  const attr = `query__series__${index}__math`
  const known = Object.hasOwn(MATHS, name) ? MATHS[name] : undefined
  if (known?.kind === 'recent_actors' && isAsLong(interval, known.days)) return { kind: 'actors' }
  if (known !== undefined) return known
  if (name === 'hogql') {
    const text = requireMember(series.math_hogql, `${attr}_hogql`)
    return { kind: 'events', value: readExpression(text, `${attr}_hogql`), is_scaled: false }
  }
  const per_actor = PER_ACTOR.exec(name)?.[1]
  const aggregate = AGGREGATES.get(per_actor ?? name)
  if (aggregate === undefined) {
    const detail = `Unknown math: ${JSON.stringify(name.slice(0, 100))}`
    throw refuseMember(detail, attr)
  }
  if (per_actor !== undefined) return { kind: 'per_actor', aggregate }
  return propertyMath(series, aggregate, requireMember(series.math_property, `${attr}_property`))
}

/** Buckets as long as the window: each counts its own actors. */
function isAsLong(interval: Interval, days: number): boolean {
  return interval === 'month' || (interval === 'week' && days <= 7)
}

function propertyMath(series: Series, aggregate: SeriesAggregate, property: string): SeriesMath {
  const factor = series.math_multiplier ?? 1
  const times = (of: Expr): Expr => (factor === 1 ? of : expr`${of} * ${constant(factor)}`)
  const is_session = series.math_property_type === 'session_properties'
  if (property === '$session_duration' || is_session) {
    return {
      kind: 'per_session',
      of: times(expr`toFloat(${field(['session', property])})`),
      aggregate,
    }
  }
  return {
    kind: 'events',
    value: expr`ifNull(${aggregate(times(numberOf(series, property)))}, 0)`,
    is_scaled: series.math === 'sum',
  }
}

/** The fields with the numeric properties of each type. */
const OWNERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['event_properties', ['properties']],
  ['person_properties', ['person', 'properties']],
])

function numberOf(series: Series, property: string): Expr {
  if (property === '$time') return expr`toFloat(toUnixTimestamp(timestamp))`
  const type = series.math_property_type ?? 'event_properties'
  const group = `group_${series.math_group_type_index ?? 0}`
  const owner = type === 'group_properties' ? [group, 'properties'] : OWNERS.get(type)
  return expr`toFloat(${field([...(owner ?? ['properties']), property])})`
}

/** The maths that count groups where the series names a group type. */
const ACTIVE_MATHS: ReadonlySet<string> = new Set(['dau', 'weekly_active', 'monthly_active'])

/** The group type a series counts; null for persons. */
export function groupTypeOf({ series: { math, math_group_type_index } }: SeriesAt): number | null {
  if (math === 'unique_group') return math_group_type_index ?? 0
  return ACTIVE_MATHS.has(math ?? '') ? (math_group_type_index ?? null) : null
}

/** The actor of a series' events. */
export function actorOfSeries(series: SeriesAt): Expr {
  return actorOf(groupTypeOf(series))
}

/** Whether numbers of a sample are scaled up: counts and sums are, averages and the like are not. */
export function isScaled(math: SeriesMath): boolean {
  if (math.kind === 'events') return math.is_scaled
  return math.kind !== 'per_actor' && math.kind !== 'per_session'
}

function requireMember(value: string | null | undefined, attr: string): string {
  if (value !== null && value !== undefined && value !== '') return value
  throw refuseMember('This field is required.', attr)
}
