/** Legacy filters of the persons behind a funnel or a trend, converted to sources of an ActorsQuery. */
import { NO_VALUE } from '../members/breakdown.ts'
import {
  countOf,
  type LegacyParameters,
  legacyBoolean,
  legacyText,
  listOf,
} from './legacy-filters.ts'
import { legacyInsightQuery } from './legacy-insights.ts'
import { legacyCorrelation, targetOf } from './legacy-queries.ts'

/** Actors of a step of a funnel, or of a period of a funnel over time. */
export function legacyFunnelActors(input: LegacyParameters): object {
  const source = legacyInsightQuery({ ...input, insight: 'FUNNELS', shown_as: '' })
  const breakdown = breakdownOf(input, 'funnel_step_breakdown')
  const common = { kind: 'FunnelsActorsQuery', source, funnelStepBreakdown: breakdown }
  if (legacyText(input, 'funnel_viz_type') === 'trends') {
    return {
      ...common,
      funnelTrendsDropOff: legacyBoolean(input, 'drop_off'),
      funnelTrendsEntrancePeriodStart: legacyText(input, 'entrance_period_start'),
    }
  }
  const [custom_step] = listOf(input, 'funnel_custom_steps')
  return { ...common, funnelStep: stepOf(input) ?? custom_step ?? null }
}

/**
 * Actors of one event or action in the whole range, by how often. Refuses filters that do not name it by `entity_id`
 * and `entity_type`. An empty breakdown value is that of events without one.
 */
export function legacyTrendsActors(input: LegacyParameters): object {
  const series = [targetOf(input)]
  // A number over the whole range counts whole days; the range of an hour or a minute is that of one point.
  const is_point = ['hour', 'minute'].includes(legacyText(input, 'interval') ?? '')
  const explicit_date = is_point || legacyBoolean(input, 'explicit_date')
  const only = { events: [{ id: null }], actions: [], shown_as: '', display: null, explicit_date }
  const query = legacyInsightQuery({ ...input, ...only, insight: 'TRENDS' })
  const trendsFilter = { display: 'ActionsBarValue' }
  const source = { ...query, series, trendsFilter, compareFilter: null }
  const breakdown =
    input['breakdown_value'] === '' ? NO_VALUE : breakdownOf(input, 'breakdown_value')
  return { kind: 'InsightActorsQuery', source, series: 0, breakdown }
}

/** Converts a legacy correlation query: the events or properties that go with converting in a funnel. */
export function legacyCorrelationQuery(input: LegacyParameters): object {
  // The persons of a correlation have the same source; which of them are asked for makes no difference to it.
  const entity = { funnel_correlation_person_entity: '{"id":"","type":"events"}' }
  const { source } = legacyCorrelation({ ...input, ...entity }) as { readonly source: object }
  return source
}

/** A step; negative ones are the persons who dropped off before it. */
function stepOf(input: LegacyParameters): number | null {
  const text = legacyText(input, 'funnel_step')
  if (text?.startsWith('-') !== true) return countOf(input, 'funnel_step')
  const step = countOf({ funnel_step: text.slice(1) }, 'funnel_step')
  return step === null ? null : -step
}

/** A breakdown's value: a list as JSON, or a text. */
function breakdownOf(input: LegacyParameters, name: string): unknown {
  const value = input[name]
  if (Array.isArray(value)) return value
  const text = legacyText(input, name)
  return text?.startsWith('[') === true ? listOf(input, name) : text
}
