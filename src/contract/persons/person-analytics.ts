/** Schemas of person analytics: parameters, and lists of persons behind a number. */
import { t } from 'elysia'
import { Moment, NullableText, Whole } from '../common.ts'
import { FormatQuery, PersonItem } from './persons.ts'

const Text = t.Optional(t.String())

/** Parameters of every analysis; those with JSON are legacy filters. */
const INSIGHT = {
  actions: Text,
  aggregation_group_type_index: Text,
  date_from: Text,
  date_to: Text,
  events: Text,
  filter_test_accounts: Text,
  insight: Text,
  interval: Text,
  limit: Text,
  offset: Text,
  properties: Text,
  sampling_factor: Text,
  search: Text,
}

/** The event or action that is asked for. */
const ENTITY = { entity_id: Text, entity_math: Text, entity_order: Text, entity_type: Text }

const BREAKDOWN = { breakdown: Text, breakdown_type: Text }

/** ANALYSES: the parameters of each endpoint; a request without any gets an empty answer. */
export const ANALYSES = {
  correlation: t.Object({
    ...INSIGHT,
    funnel_correlation_event_exclude_property_names: Text,
    funnel_correlation_event_names: Text,
    funnel_correlation_exclude_names: Text,
    funnel_correlation_names: Text,
    funnel_correlation_person_converted: Text,
    funnel_correlation_person_entity: Text,
    funnel_correlation_person_limit: Text,
    funnel_correlation_person_offset: Text,
    funnel_correlation_property_values: Text,
    funnel_correlation_type: Text,
    funnel_order_type: Text,
    funnel_window_days: Text,
    funnel_window_interval: Text,
    funnel_window_interval_unit: Text,
  }),
  funnel: t.Object({
    ...INSIGHT,
    ...BREAKDOWN,
    drop_off: Text,
    entrance_period_start: Text,
    funnel_custom_steps: Text,
    funnel_order_type: Text,
    funnel_step: Text,
    funnel_step_breakdown: Text,
    funnel_viz_type: Text,
    funnel_window_days: Text,
    funnel_window_interval: Text,
    funnel_window_interval_unit: Text,
  }),
  lifecycle: t.Object({ ...INSIGHT, lifecycle_type: Text, target_date: Text }),
  stickiness: t.Object({
    ...INSIGHT,
    ...ENTITY,
    shown_as: Text,
    stickiness_days: Text,
  }),
  trends: t.Object({ ...INSIGHT, ...BREAKDOWN, ...ENTITY, breakdown_value: Text }),
} as const

export type Analysis = keyof typeof ANALYSES

/** Query parameters of one endpoint. */
export const analysisQuery = (analysis: Analysis) =>
  t.Object({ ...FormatQuery.properties, ...ANALYSES[analysis].properties })

/** The persons behind a number; lists of correlations keep their legacy members. */
export const PeopleBehind = t.Object({
  results: t.Array(t.Object({ people: t.Array(PersonItem), count: Whole })),
  next: NullableText,
  initial: t.Optional(t.String()),
  missing_persons: t.Optional(Whole),
  is_cached: t.Optional(t.Boolean()),
  last_refresh: t.Optional(Moment),
})
