/** Legacy actor queries, converted to sources of an ActorsQuery. */

import { refuseMember } from '../../errors.ts'
import { isObject } from '../../json.ts'
import {
  commonOf,
  countOf,
  entityOf,
  type LegacyParameters,
  legacyBoolean,
  legacyJson,
  legacyText,
  listOf,
  seriesOf,
} from './legacy-filters.ts'

/** The default interval. */
const INTERVAL = 'day'

/**
 * Actors with a lifecycle status on a day. Refuses (naming the parameter) a missing day, status or
 * series.
 */
export function legacyLifecycle(input: LegacyParameters): object {
  const day = requireText(input, 'target_date', 'Must include specified date')
  const status = requireText(input, 'lifecycle_type', 'Must include lifecycle type')
  const [first] = seriesOf(input)
  if (first === undefined) throw refuseMember('Name an event or an action.', 'events')
  const source = { kind: 'LifecycleQuery', series: [first], ...steps(input), ...commonOf(input) }
  return { kind: 'InsightActorsQuery', source, day, status }
}

/** Actors active in a number of intervals. Refuses a missing series. */
export function legacyStickiness(input: LegacyParameters): object {
  const series = [targetOf(input)]
  const { samplingFactor, ...common } = commonOf(input)
  const source = { kind: 'StickinessQuery', series, ...steps(input), ...common, samplingFactor }
  return { kind: 'StickinessActorsQuery', source, day: countOf(input, 'stickiness_days') }
}

const NO_ENTITY = 'An entity id and the entity type must be provided to determine an entity'

/** The event or action given by id and type; with its filters where it is also among `events`. */
export function targetOf(input: LegacyParameters) {
  const id = requireText(input, 'entity_id', NO_ENTITY)
  const type = requireText(input, 'entity_type', NO_ENTITY)
  if (type !== 'events' && type !== 'actions') throw refuseMember(NO_ENTITY, 'entity_type')
  const math = legacyText(input, 'entity_math')
  const order = countOf(input, 'entity_order')
  const same = listOf(input, type).find(
    (entity) =>
      isObject(entity) &&
      legacyText(entity, 'id') === id &&
      (order === null || entity['order'] === undefined || entity['order'] === order),
  )
  return entityOf(
    { ...(isObject(same) ? same : { id }), type, ...(math === null ? {} : { math }) },
    type,
  )
}

const FUNNEL_DEFAULTS = { window: 14, unit: 'day' } as const

/** A funnel of events and actions. Refuses one without steps. */
export function legacyFunnel(input: LegacyParameters): object {
  const series = seriesOf(input)
  if (series.length === 0) throw refuseMember('Name the events or actions of the funnel.', 'events')
  const days = countOf(input, 'funnel_window_days')
  return {
    kind: 'FunnelsQuery',
    series,
    ...commonOf(input),
    funnelsFilter: {
      funnelWindowInterval:
        countOf(input, 'funnel_window_interval') ?? days ?? FUNNEL_DEFAULTS.window,
      funnelWindowIntervalUnit:
        legacyText(input, 'funnel_window_interval_unit') ?? FUNNEL_DEFAULTS.unit,
      funnelOrderType: legacyText(input, 'funnel_order_type') ?? 'ordered',
    },
  }
}

/** Actors behind one correlation of a funnel. Refuses a correlation without event and properties. */
export function legacyCorrelation(input: LegacyParameters): object {
  const entity = legacyJson(input, 'funnel_correlation_person_entity')
  const values = listOf(input, 'funnel_correlation_property_values')
  if (entity === null && values.length === 0) {
    throw refuseMember('No entity for persons specified', 'funnel_correlation_person_entity')
  }
  const names = (name: string) =>
    listOf(input, name).map((one) => (typeof one === 'number' ? String(one) : one))
  return {
    kind: 'FunnelCorrelationActorsQuery',
    source: {
      kind: 'FunnelCorrelationQuery',
      source: { kind: 'FunnelsActorsQuery', source: legacyFunnel(input), funnelStep: 1 },
      funnelCorrelationType: legacyText(input, 'funnel_correlation_type') ?? 'events',
      funnelCorrelationNames: names('funnel_correlation_names'),
      funnelCorrelationExcludeNames: names('funnel_correlation_exclude_names'),
      funnelCorrelationEventNames: names('funnel_correlation_event_names'),
      funnelCorrelationExcludeEventNames: names('funnel_correlation_exclude_event_names'),
      funnelCorrelationEventExcludePropertyNames: names(
        'funnel_correlation_event_exclude_property_names',
      ),
    },
    funnelCorrelationPersonConverted: convertedOf(input),
    funnelCorrelationPersonEntity:
      entity === null ? null : entityOf(entity, 'funnel_correlation_person_entity'),
    funnelCorrelationPropertyValues: values.length === 0 ? null : values,
  }
}

/** Converted, dropped, or null for both. */
function convertedOf(input: LegacyParameters): boolean | null {
  const name = 'funnel_correlation_person_converted'
  return input[name] === undefined || input[name] === null ? null : legacyBoolean(input, name)
}

const steps = (input: LegacyParameters) => ({ interval: legacyText(input, 'interval') ?? INTERVAL })

function requireText(input: LegacyParameters, name: string, detail: string): string {
  const text = legacyText(input, name)
  if (text === null) throw refuseMember(detail, name)
  return text
}
