/** What clients send to the routes of the management API that take bodies: one of each, with most of its members. */

const series = [
  {
    kind: 'EventsNode',
    event: 'open',
    math: 'sum',
    math_property: 'n',
    math_property_type: 'event_properties',
    math_group_type_index: null,
    properties: [{ key: 'plan', value: ['pro'], operator: 'exact', type: 'event' }],
  },
]
const trends = {
  kind: 'TrendsQuery',
  series,
  interval: 'day',
  dateRange: { date_from: '-7d' },
  breakdownFilter: { breakdown: 'plan', breakdown_type: 'event' },
  trendsFilter: { display: 'ActionsLineGraph' },
}
const hogql = {
  kind: 'HogQLQuery',
  query:
    'select event, count() from events where {filters} and event != {variables.plan} group by event',
  values: { a: 1 },
  filters: { dateRange: { date_from: '-7d' }, properties: [{ key: 'plan', value: 'pro' }] },
  variables: { a: { code_name: 'plan', value: 'x', variableId: 'a', isNull: false } },
}
const did = {
  type: 'behavioral',
  key: 'open',
  event_type: 'events',
  time_value: 30,
  time_interval: 'day',
}
const whoever = (...values: readonly object[]) => ({
  properties: { type: 'OR', values: [{ type: 'AND', values }] },
})
const groups = [
  {
    properties: [
      { key: 'plan', type: 'person', value: ['pro'], operator: 'exact' },
      { key: 'id', type: 'cohort', value: 1, operator: 'in' },
      { key: 'seen', type: 'person', value: '-7d', operator: 'is_date_before' },
      { key: 'name', type: 'person', value: '^a+$', operator: 'regex' },
      { key: 'other', type: 'flag', value: true, operator: 'flag_evaluates_to' },
    ],
    rollout_percentage: 50,
    variant: 'control',
  },
]
const variants = [
  { key: 'control', rollout_percentage: 50 },
  { key: 'test', name: 'Test', rollout_percentage: 50 },
]
const flag = {
  key: 'fresh',
  name: 'A flag',
  active: true,
  filters: {
    groups,
    multivariate: { variants },
    payloads: { control: '{"a":1}' },
    super_groups: null,
    aggregation_group_type_index: null,
  },
  tags: ['a'],
  evaluation_contexts: ['web'],
  analytics_dashboards: [1],
  ensure_experience_continuity: false,
}
const metric = {
  kind: 'ExperimentMetric',
  metric_type: 'funnel',
  name: 'Bought',
  uuid: 'c0ffee00-0000-4000-8000-000000000000',
  series: [{ kind: 'EventsNode', event: 'buy' }],
  conversion_window: 1,
  conversion_window_unit: 'day',
}
const key = { label: 'made', scopes: ['query:read'], scoped_teams: null, expires_at: null }

/** By the name of the family, or of what is done, as the path ends. */
export const GOOD_BODIES: Readonly<Record<string, object>> = {
  query: { query: trends, refresh: 'blocking', filters_override: { date_from: '-1d' } },
  query_hogql: { query: hogql, variables_override: { a: { code_name: 'plan', value: 'y' } } },
  actions: {
    name: 'act',
    description: 'all of it',
    tags: ['a'],
    pinned_at: null,
    steps: [
      {
        event: '$autocapture',
        selector: 'div.a > a[href="/x"]:nth-child(2)',
        tag_name: 'a',
        text: 'Buy',
        text_matching: 'regex',
        href: '/x',
        href_matching: 'contains',
        url: '/a',
        url_matching: 'exact',
        properties: [{ key: 'plan', value: ['pro'], operator: 'exact', type: 'event' }],
      },
    ],
  },
  alerts: {
    name: 'Sales',
    insight: 1,
    condition: { type: 'absolute_value' },
    threshold: { configuration: { type: 'absolute', bounds: { lower: 1, upper: 5 } } },
    config: { type: 'TrendsAlertConfig', series_index: 0, check_ongoing_interval: false },
    calculation_interval: 'hourly',
    enabled: true,
    snoozed_until: null,
    webhook_url: 'https://hooks.example.com/x',
  },
  subscriptions: {
    dashboard: 1,
    title: 'Every morning',
    target_type: 'webhook',
    target_value: 'https://hooks.example.com/x',
    frequency: 'monthly',
    interval: 1,
    start_date: '2026-05-01T08:00:00Z',
  },
  annotations: {
    content: 'v2',
    date_marker: '2026-05-01T10:00:00Z',
    scope: 'project',
    dashboard_item: 1,
    dashboard_id: 1,
  },
  cohorts: {
    name: 'people',
    description: 'some',
    is_static: false,
    filters: whoever(
      { key: 'plan', type: 'person', value: ['pro'], operator: 'exact', negation: false },
      { ...did, value: 'performed_event_multiple', operator: 'gte', operator_value: 2 },
      { key: 'id', type: 'cohort', value: 1 },
    ),
  },
  cohorts_sequence: {
    name: 'in a row',
    filters: whoever({
      ...did,
      value: 'performed_event_sequence',
      seq_event: 'buy',
      seq_event_type: 'events',
      seq_time_value: 3,
      seq_time_interval: 'day',
    }),
  },
  cohorts_query: {
    name: 'asked',
    is_static: true,
    query: { kind: 'HogQLQuery', query: 'select id from persons' },
  },
  cohorts_groups: { name: 'old', groups: [{ properties: [{ key: 'plan', value: 'pro' }] }] },
  persons_of_cohort: { person_ids: ['a'], distinct_ids: ['ann'], person_id: 'a' },
  dashboards: {
    name: 'board',
    pinned: true,
    tags: ['a'],
    filters: { date_from: '-7d', properties: [{ key: 'plan', value: 'pro', type: 'event' }] },
    variables: { a: { code_name: 'plan', value: 'x' } },
    restriction_level: 21,
    tiles: [{ id: 1, layouts: { sm: { x: 0 } }, color: 'blue', text: { body: 'a' } }],
  },
  early_access_feature: { name: 'soon', stage: 'beta', feature_flag_id: 1, description: 'a' },
  experiments: {
    name: 'try',
    feature_flag_key: 'tried',
    description: 'a',
    start_date: '2026-01-01T00:00:00Z',
    parameters: {
      feature_flag_variants: variants,
      minimum_detectable_effect: 30,
      recommended_sample_size: 10,
    },
    filters: {},
    metrics: [metric],
    secondary_metrics: [metric],
    exposure_criteria: {
      filterTestAccounts: true,
      exposure_config: { kind: 'ExperimentEventExposureConfig', event: 'a', properties: [] },
    },
    stats_config: {
      version: 2,
      method: 'frequentist',
      frequentist: { alpha: 0.1, difference_type: 'RELATIVE', sequential_testing_enabled: true },
      cuped: { enabled: true, lookback_days: 14 },
      baseline_variant_key: 'control',
    },
    saved_metrics_ids: [{ id: 1, metadata: { type: 'secondary' } }],
    only_count_matured_users: true,
    scheduling_config: { timeseries: true },
    conclusion: 'won',
    conclusion_comment: 'a',
    holdout_id: 1,
    exposure_cohort: 1,
    archived: false,
  },
  end: { conclusion: 'won', conclusion_comment: 'a' },
  ship_variant: { variant_key: 'test', release_to_everyone: false, conclusion: 'won' },
  duplicate: { name: 'again', feature_flag_key: 'again' },
  copy_to_project: { target_team_id: 1, name: 'there', feature_flag_key: 'there' },
  experiment_saved_metrics: {
    name: 'shared',
    description: 'a',
    query: {
      kind: 'ExperimentMetric',
      metric_type: 'mean',
      source: { kind: 'EventsNode', event: 'buy', math: 'sum', math_property: 'price' },
      lower_bound_percentile: 0.1,
      upper_bound_percentile: 0.9,
      ignore_zeros: true,
    },
    tags: ['a'],
  },
  experiment_holdouts: { name: 'held', filters: [{ properties: [], rollout_percentage: 5 }] },
  web_experiments: {
    name: 'web',
    variants: {
      control: { transforms: [], rollout_percentage: 50 },
      test: { transforms: [{ selector: 'h1', text: 'b' }], rollout_percentage: 50 },
    },
  },
  surveys: {
    name: 'ask',
    type: 'popover',
    description: 'a',
    schedule: 'recurring',
    linked_flag_id: 1,
    targeting_flag_id: 1,
    targeting_flag_filters: { groups },
    questions: [
      { type: 'rating', question: 'How?', scale: 5, display: 'emoji', branching: { type: 'end' } },
      { type: 'single_choice', question: 'Which?', choices: ['a', 'b'] },
    ],
    conditions: { url: '/a', events: { values: [{ name: 'open' }] }, actions: { values: [] } },
    appearance: { backgroundColor: '#fff' },
    start_date: '2026-01-01T00:00:00Z',
    responses_limit: 5,
    iteration_count: 2,
    iteration_frequency_days: 7,
  },
  feature_flags: flag,
  user_blast_radius: { condition: groups[0] ?? {}, group_type_index: null },
  copy_flags: { feature_flag_key: 'one', from_project: 1, target_project_ids: [1] },
  insights: {
    name: 'graph',
    query: { kind: 'InsightVizNode', source: trends },
    tags: ['a'],
    favorited: true,
    saved: true,
    dashboards: [1],
  },
  insights_old: {
    name: 'old',
    filters: {
      insight: 'FUNNELS',
      shown_as: null,
      events: [{ id: 'open', type: 'events', order: 0, math: 'dau', properties: [] }],
      actions: [{ id: 1, type: 'actions', order: 1 }],
      date_from: '-7d',
      interval: 'day',
      breakdown: 'plan',
      breakdown_type: 'event',
      properties: { type: 'AND', values: [{ type: 'AND', values: [{ key: 'a', value: 'b' }] }] },
      funnel_window_days: 3,
      exclusions: [{ id: 'x', funnel_from_step: 0, funnel_to_step: 1 }],
    },
  },
  trend: { events: [{ id: 'open' }], date_from: '-7d' },
  funnel: { events: [{ id: 'open' }, { id: 'buy', order: 1 }] },
  retention: { period: 'Day', target_entity: { id: 'open', type: 'events' } },
  path: { include_event_types: ['custom_event'], start_point: 'open' },
  viewed: { insight_ids: [1] },
  reorder_tiles: { tile_order: [1, 2] },
  event_definitions: { description: 'a', tags: ['a'], owner: null, verified: true },
  property_definitions: { description: 'a', tags: ['a'], property_type: 'String' },
  insight_variables: { name: 'Plan', type: 'List', default_value: 'a', values: ['a', 'b'] },
  projects: {
    name: 'renamed',
    app_urls: ['https://a.example'],
    timezone: 'Asia/Tokyo',
    test_account_filters: [{ key: 'email', value: '@a.example', operator: 'not_icontains' }],
    path_cleaning_filters: [{ alias: 'a', regex: '^/a/\\d+$' }],
    data_attributes: ['data-a'],
    correlation_config: { excluded_event_names: ['a'] },
    session_recording_linked_flag: { id: 1, key: 'one', variant: 'a' },
    session_recording_sample_rate: '0.5',
    survey_config: { appearance: {} },
    week_start_day: 1,
    primary_dashboard: 1,
    modifiers: { personsOnEventsMode: 'person_id_override_properties_on_events' },
    autocapture_web_vitals_allowed_metrics: ['CLS'],
    person_display_name_properties: ['email'],
  },
  access_controls: { access_level: 'member', organization_member: null },
  global_access_controls: { resource: 'query', access_level: 'viewer', organization_member: null },
  product_intent: { product_type: 'surveys', intent_context: 'a', metadata: { a: 1 } },
  generate_demo_data: { persons: 1, days: 1, seed: 'a', end_at: '2026-01-01T00:00:00Z' },
  organizations: { name: 'Ours' },
  members: { level: 8 },
  invites: { level: 1, target_email: 'a@a.example', first_name: 'Ann' },
  personal_api_keys: key,
  '@me': { first_name: 'Olga', last_name: 'O', set_current_team: 1 },
  plugin_configs: { plugin: 5, name: 'add', enabled: true, order: 1, config: { a: 'b' } },
  split: { main_distinct_id: 'ann' },
  undo_merge: { merge_id: 1 },
  bulk_delete: { ids: ['a'], distinct_ids: ['nobody'], delete_events: true },
  persons: { properties: { plan: 'pro', n: 1 } },
  update_property: { key: 'plan', value: 'pro' },
  delete_property: { $unset: ['plan', 'n'] },
  correlation: { properties: [{ key: 'plan', value: 'pro', type: 'person' }] },
}

/** The bodies that a route may be sent, by the last names of its path. */
export function bodiesOf(path: string): readonly string[] {
  const names = path.split('/').filter((name) => name !== '' && !name.startsWith(':'))
  const last = names.at(-1) ?? ''
  if (last.endsWith('static_cohort')) return ['persons_of_cohort']
  if (/product_intent|onboarding/.test(last)) return ['product_intent']
  const fitting = Object.keys(GOOD_BODIES).filter(
    (name) => name === last || (name.startsWith(`${last}_`) && last !== 'persons'),
  )
  return fitting.length === 0 ? ['query'] : fitting
}
