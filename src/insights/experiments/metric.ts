/** Parses experiment metrics in every shape that clients have stored over the years. */

import type { Series } from '../../contract/insights/parts.ts'
import { refuseMember } from '../../errors.ts'
import { isObject, numberOf } from '../../json.ts'
import type { SeriesConditions } from '../members/conditions.ts'
import { type Outliers, readOutliers, readThreshold } from './statistics/outliers.ts'

/** A metric that is compared between variants. */
export type ExperimentMetric = {
  readonly name: string | null
  readonly uuid: string | null
  /**
   * `funnel`: actors who take all steps in order after exposure. `count`: events per actor. `sum`:
   * a property summed per actor. `mean`: another figure per actor. `ratio`: the sum of one figure
   * over the sum of another. `retention`: of actors who began, those who came back.
   */
  readonly model: 'count' | 'funnel' | 'mean' | 'ratio' | 'retention' | 'sum'
  /** The steps of a funnel. */
  readonly series: readonly Series[]
  /** Steps may be taken in any order. */
  readonly in_any_order: boolean
  /** Figures per actor: numerator and denominator of a ratio, none of a funnel, one otherwise. */
  readonly measures: readonly MetricMeasure[]
  /** Means only: bounds for outliers. */
  readonly outliers: Outliers | null
  /** Means only: a figure that reaches it counts as 1, otherwise 0. */
  readonly threshold: number | null
  /** Retention only. */
  readonly retention: MetricRetention | null
  /** Seconds after exposure in which events count; null for as long as the experiment runs. */
  readonly window_s: number | null
  /** Conditions on the metric's events and its actors' test accounts. */
  readonly conditions: SeriesConditions
}

/** The start event and the return event of a retention, and the time between them. */
export type MetricRetention = {
  readonly start: Series
  readonly completion: Series
  /** The return window after the start, inclusive, in units. */
  readonly from: number
  readonly to: number
  readonly unit: TimeUnit
  /** Of several starts the last counts; otherwise the first. */
  readonly takes_last: boolean
  /** Seconds after exposure in which a start counts; null for as long as the experiment runs. */
  readonly window_s: number | null
}

/** A figure per actor; 0 without events, where there is nothing to aggregate. */
export type MetricMeasure = {
  readonly series: Series
  readonly math: MeasureMath
  /** The aggregated property; null where events are counted. */
  readonly property: string | null
}

/** Aggregations per actor; `dau` is 1 where there are any events. */
const MEASURES = {
  avg: { needs_property: true, model: 'mean' },
  dau: { needs_property: false, model: 'funnel' },
  max: { needs_property: true, model: 'mean' },
  min: { needs_property: true, model: 'mean' },
  sum: { needs_property: true, model: 'sum' },
  total: { needs_property: false, model: 'count' },
  unique_session: { needs_property: false, model: 'mean' },
} as const
export type MeasureMath = keyof typeof MEASURES

type RawMetric = Readonly<Record<string, unknown>>

const STEPS_MAX = 20
/** Seconds per unit; a month has thirty days. */
export const UNIT_SECONDS = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 7 * 86_400,
  month: 30 * 86_400,
} as const
type TimeUnit = keyof typeof UNIT_SECONDS
/** Maximum units until a return. */
const UNITS_MAX = 10_000

/** Parses a metric. Refuses (`invalid_input`, naming `attr`) invalid ones. */
export function readMetric(raw: unknown, attr: string): ExperimentMetric {
  if (!isObject(raw)) throw refuseMember('A metric must be an object.', attr)
  const identity = { name: textOrNull(raw['name']), uuid: textOrNull(raw['uuid']) }
  switch (raw['kind']) {
    case 'ExperimentMetric':
      return { ...identity, ...readCurrentMetric(raw, attr), conditions: {} }
    case 'ExperimentFunnelsQuery': {
      const query = isObject(raw['funnels_query']) ? raw['funnels_query'] : {}
      const filter = isObject(query['funnelsFilter']) ? query['funnelsFilter'] : {}
      const window_s = readWindow(
        filter['funnelWindowInterval'],
        filter['funnelWindowIntervalUnit'],
      )
      const read = readFunnel(listOf(query['series']), window_s, attr)
      return { ...identity, ...read, conditions: readConditions(query) }
    }
    case 'ExperimentTrendsQuery': {
      const query = isObject(raw['count_query']) ? raw['count_query'] : {}
      const read = readTrend(listOf(query['series'])[0], null, attr)
      return { ...identity, ...read, conditions: readConditions(query) }
    }
    case FILTERS_KIND:
      const filters = isObject(raw['filters']) ? raw['filters'] : {}
      return { ...identity, ...readFilters(filters, attr), conditions: {} }
    default:
      throw refuseMember(
        `Metrics of kind ${JSON.stringify(raw['kind'] ?? null)} are not known.`,
        attr,
      )
  }
}

/** A saved experiment's metrics; without any, those of its old member `filters`. */
export function savedMetrics(metrics: unknown, filters: unknown): readonly unknown[] {
  const saved = listOf(metrics)
  if (saved.length > 0 || !isObject(filters)) return saved
  const names_events = [filters['events'], filters['actions']].some((one) => listOf(one).length > 0)
  return names_events ? [{ kind: FILTERS_KIND, filters }] : []
}

/** Our name for the kind of `filters`, the oldest form, which have none. */
const FILTERS_KIND = 'ExperimentFilters'

function readFilters(filters: RawMetric, attr: string): ReadMetric {
  const nodes = [
    ...listOf(filters['events']).map((one) => nodeOf(one, 'EventsNode')),
    ...listOf(filters['actions']).map((one) => nodeOf(one, 'ActionsNode')),
  ].toSorted((a, b) => a.order - b.order)
  const series = nodes.map(({ node }) => node)
  return filters['insight'] === 'FUNNELS'
    ? readFunnel(series, null, attr)
    : readTrend(series[0], null, attr)
}

type ReadMetric = Omit<ExperimentMetric, 'name' | 'conditions' | 'uuid'>

function readCurrentMetric(raw: RawMetric, attr: string): ReadMetric {
  const window_s = readWindow(raw['conversion_window'], raw['conversion_window_unit'])
  switch (raw['metric_type']) {
    case 'funnel':
      return {
        ...readFunnel(listOf(raw['series']), window_s, attr),
        in_any_order: raw['funnel_order_type'] === 'unordered',
      }
    case 'mean':
      return readMean(raw, window_s, attr)
    case 'ratio':
      return readRatio(raw, window_s, attr)
    case 'retention':
      return readRetention(raw, window_s, attr)
    default: {
      const type = JSON.stringify(raw['metric_type'] ?? null)
      throw refuseMember(`Metrics of type ${type} are not supported.`, attr)
    }
  }
}

function readFunnel(nodes: readonly unknown[], window_s: number | null, attr: string): ReadMetric {
  if (nodes.length === 0 || nodes.length > STEPS_MAX) {
    throw refuseMember(`A funnel has 1 to ${STEPS_MAX} steps.`, attr)
  }
  const series = nodes.map((node) => readSeries(node, attr))
  return { ...METRIC_DEFAULTS, model: 'funnel', series, window_s }
}

function readTrend(node: unknown, window_s: number | null, attr: string): ReadMetric {
  const measure = readMeasure(node, attr)
  const { model } = MEASURES[measure.math]
  return model === 'funnel'
    ? { ...METRIC_DEFAULTS, model, series: [measure.series], window_s }
    : { ...METRIC_DEFAULTS, model, measures: [measure], window_s }
}

/** A mean per actor with outlier bounds; a share where a threshold is set. */
function readMean(raw: RawMetric, window_s: number | null, attr: string): ReadMetric {
  const read = readTrend(raw['source'], window_s, attr)
  const outliers = readOutliers(raw, attr)
  const threshold = readThreshold(raw, attr)
  if (read.measures.length === 0) return read
  return threshold === null ? { ...read, outliers } : { ...read, model: 'mean', threshold }
}

function readRatio(raw: RawMetric, window_s: number | null, attr: string): ReadMetric {
  const measures = [raw['numerator'], raw['denominator']].map((node) => readMeasure(node, attr))
  return { ...METRIC_DEFAULTS, model: 'ratio', measures, window_s }
}

function readRetention(raw: RawMetric, window_s: number | null, attr: string): ReadMetric {
  const { retention_window_unit: unit, start_handling } = raw
  const [from, to] = [raw['retention_window_start'], raw['retention_window_end']]
  if (!isUnits(from) || !isUnits(to) || from > to) {
    throw refuseMember(`A retention window has whole ends from 0 to ${UNITS_MAX}, in order.`, attr)
  }
  if (!isTimeUnit(unit)) throw refuseMember('The unit of a retention window is not known.', attr)
  const start = readSeries(raw['start_event'], attr)
  const completion = readSeries(raw['completion_event'], attr)
  const takes_last = start_handling === 'last_seen'
  const read = { start, completion, from, to, unit, takes_last, window_s }
  return { ...METRIC_DEFAULTS, model: 'retention', retention: read, window_s }
}

function isUnits(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= UNITS_MAX
}

const METRIC_DEFAULTS = {
  series: [],
  in_any_order: false,
  measures: [],
  outliers: null,
  threshold: null,
  retention: null,
} as const

function readMeasure(node: unknown, attr: string): MetricMeasure {
  const series = readSeries(node, attr)
  const math = series.math ?? 'total'
  if (!isMeasureMath(math)) {
    throw refuseMember(`Metrics with math ${JSON.stringify(math)} are not supported.`, attr)
  }
  if (!MEASURES[math].needs_property) return { series, math, property: null }
  const property = series.math_property ?? null
  if (property === null)
    throw refuseMember(`Metrics with math "${math}" need a math_property.`, attr)
  return { series, math, property }
}

function isMeasureMath(math: string): math is MeasureMath {
  return Object.hasOwn(MEASURES, math)
}

/** Parses a node as a series. Refuses (`invalid_input`, naming `attr`) nodes without events. */
export function readSeries(node: unknown, attr: string): Series {
  if (!isObject(node)) throw refuseMember('A metric needs the events that it counts.', attr)
  const { properties, math, math_property } = node
  const common = {
    ...(Array.isArray(properties) ? { properties: properties.filter(isObject) } : {}),
    ...(isObject(properties) ? { properties } : {}),
    ...(typeof math === 'string' ? { math } : {}),
    ...(typeof math_property === 'string' ? { math_property } : {}),
  }
  if (node['kind'] === 'EventsNode') {
    return { kind: 'EventsNode', event: textOrNull(node['event']), ...common }
  }
  const { kind, id } = node
  if (kind === 'ActionsNode' && typeof id === 'number') return { kind, id, ...common }
  throw refuseMember('A metric counts events (EventsNode) or actions (ActionsNode).', attr)
}

/** An entry of old filters as a current node. */
function nodeOf(raw: unknown, kind: string): { readonly node: unknown; readonly order: number } {
  if (!isObject(raw)) return { node: raw, order: 0 }
  const order = typeof raw['order'] === 'number' ? raw['order'] : 0
  return { node: { ...raw, kind, event: raw['id'], id: numberOf(raw['id']) }, order }
}

/** The conditions of an old query on all its events. */
function readConditions({ properties, filterTestAccounts }: RawMetric): SeriesConditions {
  return {
    filterTestAccounts: filterTestAccounts === true,
    ...(Array.isArray(properties) ? { properties: properties.filter(isObject) } : {}),
    ...(isObject(properties) ? { properties } : {}),
  }
}

/** A century: a longer window is the same, because no event is that old. */
const WINDOW_MAX_S = 100 * 365 * 86_400

function readWindow(amount: unknown, unit: unknown): number | null {
  const unit_name = typeof unit === 'string' ? unit : 'day'
  return typeof amount === 'number' && amount > 0 && isTimeUnit(unit_name)
    ? Math.min(Math.round(amount * UNIT_SECONDS[unit_name]), WINDOW_MAX_S)
    : null
}

function isTimeUnit(unit: unknown): unit is TimeUnit {
  return typeof unit === 'string' && Object.hasOwn(UNIT_SECONDS, unit)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
