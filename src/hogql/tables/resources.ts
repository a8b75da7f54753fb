/** Tables of a project's definitions: flags, cohorts, experiments, plugin logs. */

/** The kind of a column's values; `time` is an instant, `json` the text of an object or a list. */
export type ResourceKind = 'integer' | 'json' | 'text' | 'time' | 'truth'

/**
 * The rows of a table as the JSON lists of its columns' values, all in one order. Times are milliseconds since 1970, JSON is
 * text; a table without lists is empty.
 */
export type ResourceLists = Readonly<Record<string, string>>

type ResourceColumns = Readonly<Record<string, ResourceKind>>

const CHANGE_TIMES: ResourceColumns = { created_at: 'time', updated_at: 'time' }

const LOG: ResourceColumns = {
  log_source: 'text',
  log_source_id: 'text',
  instance_id: 'text',
  timestamp: 'time',
  message: 'text',
  level: 'text',
}

const REPLAY: ResourceColumns = {
  session_id: 'text',
  distinct_id: 'text',
  min_first_timestamp: 'time',
  max_last_timestamp: 'time',
  start_time: 'time',
  end_time: 'time',
  first_url: 'text',
  click_count: 'integer',
  keypress_count: 'integer',
  mouse_activity_count: 'integer',
  active_milliseconds: 'integer',
  console_log_count: 'integer',
  console_warn_count: 'integer',
  console_error_count: 'integer',
  size: 'integer',
  event_count: 'integer',
  message_count: 'integer',
  snapshot_source: 'text',
}

/**
 * Every such table with its columns; each also has `team_id`. Callers supply columns by these names.
 * Adding a line adds a table.
 */
export const RESOURCES = {
  'system.actions': {
    id: 'integer',
    name: 'text',
    description: 'text',
    steps: 'json',
    deleted: 'truth',
    ...CHANGE_TIMES,
  },
  'system.cohorts': {
    id: 'integer',
    name: 'text',
    description: 'text',
    filters: 'json',
    count: 'integer',
    is_static: 'truth',
    is_calculating: 'truth',
    last_calculation: 'time',
    deleted: 'truth',
    created_at: 'time',
  },
  'system.early_access_features': {
    id: 'text',
    name: 'text',
    description: 'text',
    stage: 'text',
    documentation_url: 'text',
    feature_flag_id: 'integer',
    created_at: 'time',
  },
  'system.experiments': {
    id: 'integer',
    name: 'text',
    description: 'text',
    type: 'text',
    feature_flag_id: 'integer',
    parameters: 'json',
    filters: 'json',
    start_date: 'time',
    end_date: 'time',
    archived: 'truth',
    deleted: 'truth',
    ...CHANGE_TIMES,
  },
  'system.feature_flags': {
    id: 'integer',
    key: 'text',
    name: 'text',
    filters: 'json',
    active: 'truth',
    deleted: 'truth',
    ...CHANGE_TIMES,
  },
  'system.surveys': {
    id: 'text',
    name: 'text',
    description: 'text',
    type: 'text',
    questions: 'json',
    appearance: 'json',
    conditions: 'json',
    linked_flag_id: 'integer',
    targeting_flag_id: 'integer',
    start_date: 'time',
    end_date: 'time',
    archived: 'truth',
    ...CHANGE_TIMES,
  },
  'system.dashboards': {
    id: 'integer',
    name: 'text',
    description: 'text',
    filters: 'json',
    deleted: 'truth',
    created_at: 'time',
  },
  'system.insights': {
    id: 'integer',
    name: 'text',
    description: 'text',
    filters: 'json',
    query: 'json',
    deleted: 'truth',
    ...CHANGE_TIMES,
  },
  // Only logs of plugins exist.
  log_entries: LOG,
  console_logs_log_entries: LOG,
  batch_export_log_entries: LOG,
  // Recordings and heatmaps are not ingested: these tables are empty.
  session_replay_events: REPLAY,
  raw_session_replay_events: REPLAY,
  heatmaps: {
    session_id: 'text',
    distinct_id: 'text',
    x: 'integer',
    y: 'integer',
    scale_factor: 'integer',
    viewport_width: 'integer',
    viewport_height: 'integer',
    pointer_target_fixed: 'truth',
    current_url: 'text',
    timestamp: 'time',
    type: 'text',
  },
} as const satisfies Record<string, ResourceColumns>

export type ResourceName = keyof typeof RESOURCES

/** Names in listing order. */
export const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly ResourceName[]

/** The columns of one of these tables; null for any other name. */
export function resourceColumns(name: string): ResourceColumns | null {
  return RESOURCE_NAMES.includes(name as ResourceName) ? RESOURCES[name as ResourceName] : null
}
