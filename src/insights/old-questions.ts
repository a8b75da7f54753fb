/** Questions for people as they were asked before there were kinds, as sources of today's ActorsQuery (wire §6). */
import { Refusal } from '../errors.ts'
import {
  commonOf,
  countOf,
  entityOf,
  isMembers,
  jsonOf,
  listOf,
  type Parameters,
  seriesOf,
  textOf,
  truthOf,
} from './old-filters.ts'

/** Steps of time where nobody says. */
const INTERVAL = 'day'

/** Whoever had a status of a lifecycle on a day. Refuses (naming the parameter) where a day, a status or events are missing. */
export function oldLifecycle(sent: Parameters): object {
  const day = required(sent, 'target_date', 'Must include specified date')
  const status = required(sent, 'lifecycle_type', 'Must include lifecycle type')
  const [first] = seriesOf(sent)
  if (first === undefined) throw missing('events', 'Name an event or an action.')
  const source = { kind: 'LifecycleQuery', series: [first], ...steps(sent), ...commonOf(sent) }
  return { kind: 'InsightActorsQuery', source, day, status }
}

/** Whoever did it in a number of steps of time. Refuses where what they did is missing. */
export function oldStickiness(sent: Parameters): object {
  const series = [targetOf(sent)]
  const { samplingFactor, ...common } = commonOf(sent)
  const source = { kind: 'StickinessQuery', series, ...steps(sent), ...common, samplingFactor }
  return { kind: 'StickinessActorsQuery', source, day: countOf(sent, 'stickiness_days') }
}

const NO_ENTITY = 'An entity id and the entity type must be provided to determine an entity'

/** The event or action named by id and type; where it stands among `events` too, with what is asked of it there. */
function targetOf(sent: Parameters) {
  const id = required(sent, 'entity_id', NO_ENTITY)
  const type = required(sent, 'entity_type', NO_ENTITY)
  if (type !== 'events' && type !== 'actions') throw missing('entity_type', NO_ENTITY)
  const math = textOf(sent, 'entity_math')
  const order = countOf(sent, 'entity_order')
  const same = listOf(sent, type).find(
    (entity) =>
      isMembers(entity) &&
      String(entity['id']) === id &&
      (order === null || entity['order'] === undefined || entity['order'] === order),
  )
  return entityOf(
    { ...(isMembers(same) ? same : { id }), type, ...(math === null ? {} : { math }) },
    type,
  )
}

const FUNNEL_DEFAULTS = { window: 14, unit: 'day' } as const

/** A funnel of events and actions. Refuses one without steps. */
export function oldFunnel(sent: Parameters): object {
  const series = seriesOf(sent)
  if (series.length === 0) throw missing('events', 'Name the events or actions of the funnel.')
  const days = countOf(sent, 'funnel_window_days')
  return {
    kind: 'FunnelsQuery',
    series,
    ...commonOf(sent),
    funnelsFilter: {
      funnelWindowInterval:
        countOf(sent, 'funnel_window_interval') ?? days ?? FUNNEL_DEFAULTS.window,
      funnelWindowIntervalUnit: textOf(sent, 'funnel_window_interval_unit') ?? FUNNEL_DEFAULTS.unit,
      funnelOrderType: textOf(sent, 'funnel_order_type') ?? 'ordered',
    },
  }
}

/** Whoever is behind one correlation of a funnel. Refuses where neither an event nor properties say which one. */
export function oldCorrelation(sent: Parameters): object {
  const entity = jsonOf(sent, 'funnel_correlation_person_entity')
  const values = listOf(sent, 'funnel_correlation_property_values')
  if (entity === null && values.length === 0) {
    throw missing('funnel_correlation_person_entity', 'No entity for persons specified')
  }
  const names = (name: string) => listOf(sent, name).map(String)
  return {
    kind: 'FunnelCorrelationActorsQuery',
    source: {
      kind: 'FunnelCorrelationQuery',
      source: { kind: 'FunnelsActorsQuery', source: oldFunnel(sent), funnelStep: 1 },
      funnelCorrelationType: textOf(sent, 'funnel_correlation_type') ?? 'events',
      funnelCorrelationNames: names('funnel_correlation_names'),
      funnelCorrelationExcludeNames: names('funnel_correlation_exclude_names'),
      funnelCorrelationEventNames: names('funnel_correlation_event_names'),
      funnelCorrelationEventExcludePropertyNames: names(
        'funnel_correlation_event_exclude_property_names',
      ),
    },
    funnelCorrelationPersonConverted: convertedOf(sent),
    funnelCorrelationPersonEntity:
      entity === null ? null : entityOf(entity, 'funnel_correlation_person_entity'),
    funnelCorrelationPropertyValues: values.length === 0 ? null : values,
  }
}

/** Those who converted, those who did not, or where nobody says both. */
function convertedOf(sent: Parameters): boolean | null {
  const name = 'funnel_correlation_person_converted'
  return sent[name] === undefined || sent[name] === null ? null : truthOf(sent, name)
}

const steps = (sent: Parameters) => ({ interval: textOf(sent, 'interval') ?? INTERVAL })

function required(sent: Parameters, name: string, detail: string): string {
  const text = textOf(sent, name)
  if (text === null) throw missing(name, detail)
  return text
}

function missing(attr: string, detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr })
}
