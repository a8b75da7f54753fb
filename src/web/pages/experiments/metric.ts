/** The metrics of an experiment: as the API stores them, in words, and with what the page edits. */
import { isCondition, type PropertyCondition } from '../../parts/filters/conditions.ts'
import { eventTitle, propertyTitle } from '../../parts/names.ts'

/** Events of a name (null for any), or a saved action, and how they are counted. */
export type MetricNode = {
  readonly kind: 'EventsNode' | 'ActionsNode'
  readonly event?: string | null
  readonly id?: number
  readonly name?: string
  readonly custom_name?: string
  readonly math?: string
  readonly math_property?: string
  readonly properties?: readonly PropertyCondition[]
}

export type MetricMembers = Readonly<Record<string, unknown>>

/** METRIC_KINDS: the kinds of metrics that the page makes. */
export const METRIC_KINDS = [
  { value: 'funnel', text: 'Conversion: the share of persons who do it' },
  { value: 'mean', text: 'Average: a number per person' },
  { value: 'ratio', text: 'Ratio: one number over another' },
] as const

export type MetricKind = (typeof METRIC_KINDS)[number]['value']

/** MEASURES: what is counted per person. */
export const MEASURES = [
  { value: 'total', text: 'Number of events', has_property: false },
  { value: 'sum', text: 'Sum of a property', has_property: true },
  { value: 'avg', text: 'Average of a property', has_property: true },
  { value: 'min', text: 'Minimum of a property', has_property: true },
  { value: 'max', text: 'Maximum of a property', has_property: true },
  { value: 'unique_session', text: 'Number of sessions', has_property: false },
  { value: 'dau', text: 'Did it at all', has_property: false },
] as const

/** A metric with the events that the page edits; null for one of another kind, which stays as it is. */
export type EditedMetric = {
  readonly kind: MetricKind
  /** The steps of a funnel, the numerator and denominator of a ratio, otherwise the one event. */
  readonly nodes: readonly MetricNode[]
}

/** The first metric of a kind; its event is chosen by the reader. */
export const NEW_METRIC: MetricMembers = {
  kind: 'ExperimentMetric',
  metric_type: 'funnel',
  series: [],
}

/** Reads the editable members. */
export function readMetric(metric: unknown): EditedMetric | null {
  const {
    kind: stored_kind,
    metric_type,
    series,
    source,
    numerator,
    denominator,
  } = membersOf(metric)
  if (stored_kind !== 'ExperimentMetric') return null
  const kind = METRIC_KINDS.find(({ value }) => value === metric_type)?.value
  if (kind === undefined) return null
  const nodes: unknown =
    kind === 'funnel' ? series : kind === 'mean' ? [source] : [numerator, denominator]
  if (!Array.isArray(nodes)) return null
  const read = nodes.filter((node) => node !== undefined && node !== null)
  return read.every(isNode) ? { kind, nodes: read } : null
}

function isNode(node: unknown): node is MetricNode {
  const { kind, event, id, properties, math } = membersOf(node)
  const is_named =
    kind === 'EventsNode'
      ? event === undefined || event === null || typeof event === 'string'
      : kind === 'ActionsNode' && typeof id === 'number'
  const has_conditions =
    properties === undefined || (Array.isArray(properties) && properties.every(isCondition))
  const is_measured = math === undefined || MEASURES.some(({ value }) => value === math)
  return is_named && has_conditions && is_measured
}

/** The metric with other events. */
export function withNodes(
  metric: MetricMembers,
  kind: MetricKind,
  nodes: readonly MetricNode[],
): MetricMembers {
  const [first, second] = nodes
  switch (kind) {
    case 'funnel':
      return { ...metric, metric_type: kind, series: nodes }
    case 'mean':
      return { ...metric, metric_type: kind, source: first }
    case 'ratio':
      return { ...metric, metric_type: kind, numerator: first, denominator: second }
  }
}

/** The metric as one of another kind, of the same events. */
export function withKind(
  metric: MetricMembers,
  { nodes }: EditedMetric,
  kind: MetricKind,
): MetricMembers {
  const { series: _series, source: _source, numerator: _top, denominator: _under, ...rest } = metric
  const kept = kind === 'funnel' ? nodes.map(withoutMath) : nodes.slice(0, kind === 'mean' ? 1 : 2)
  return withNodes(rest, kind, kept)
}

function withoutMath({ math: _math, math_property: _property, ...rest }: MetricNode): MetricNode {
  return rest
}

/** Whether the server can compute it: all its events are chosen, and the properties that it counts. */
export function isWhole(metric: unknown): boolean {
  const edited = readMetric(metric)
  if (edited === null) return true
  const { kind, nodes } = edited
  const has_properties = nodes.every(
    ({ math, math_property }) =>
      kind === 'funnel' || !needsProperty(math) || Boolean(math_property),
  )
  return nodes.length >= (kind === 'ratio' ? 2 : 1) && has_properties
}

/** Whether a measure needs a property. */
export const needsProperty = (math: string | undefined): boolean =>
  MEASURES.some(({ value, has_property }) => value === math && has_property)

/** The metric's own name, or what it measures. */
export function metricTitle(metric: unknown): string {
  const { name } = membersOf(metric)
  return typeof name === 'string' && name !== '' ? name : metricText(metric)
}

/** The events that a metric measures: `Page view → signed_up`, `Sum of revenue of upgraded_plan per person`. */
export function metricText(metric: unknown): string {
  const members = membersOf(metric)
  const { metric_type: type, series, source, numerator, denominator } = members
  switch (type) {
    case 'funnel': {
      const steps = Array.isArray(series) ? series.map((node: unknown) => nodeTitle(node)) : []
      return steps.length === 0 ? 'New metric' : steps.join(' → ')
    }
    case 'mean':
      return source === undefined ? 'New metric' : `${measureText(source)} per person`
    case 'ratio':
      return numerator === undefined || denominator === undefined
        ? 'New metric'
        : `${measureText(numerator)} per ${measureText(denominator)}`
    case 'retention':
      return retentionText(members)
    default:
      return 'A metric of an older form'
  }
}

function retentionText(metric: MetricMembers): string {
  const { start_event, completion_event } = metric
  const { retention_window_start: from, retention_window_end: to, retention_window_unit } = metric
  const unit = `${textOf(retention_window_unit)}s`
  return `${nodeTitle(start_event)}, then ${nodeTitle(completion_event)} after ${textOf(from)} to ${textOf(to)} ${unit}`
}

function measureText(node: unknown): string {
  const { math = 'total', math_property } = membersOf(node)
  const title = nodeTitle(node)
  if (math === 'total') return title
  if (math === 'dau') return `Persons with ${title}`
  if (math === 'unique_session') return `Sessions with ${title}`
  const measure = MEASURES.find(({ value }) => value === math)?.text ?? textOf(math)
  const property = typeof math_property === 'string' ? propertyTitle(math_property) : 'a property'
  return `${measure.replace('a property', property)} of ${title}`
}

/** The event's name, that of the action, or the one that was given to them. */
export function nodeTitle(node: unknown): string {
  const { kind, event, id, name, custom_name } = membersOf(node)
  if (typeof custom_name === 'string' && custom_name !== '') return custom_name
  if (kind === 'ActionsNode') return typeof name === 'string' ? name : `Action ${textOf(id)}`
  return eventTitle(typeof event === 'string' ? event : null)
}

export function membersOf(value: unknown): MetricMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as MetricMembers)
    : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}
