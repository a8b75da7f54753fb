/**
 * Drizzle tables of flags, cohorts, early access, surveys, experiments and actions; the schema is in
 * sql/control.
 */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { flag, type Json, json, strings, timestamp } from '../projects/tables.ts'

export const feature_flags = sqliteTable('feature_flags', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  key: text().notNull(),
  name: text().notNull().default(''),
  filters: json().notNull(),
  active: flag().notNull().default(true),
  deleted: flag().notNull().default(false),
  version: integer().notNull().default(1),
  ensure_experience_continuity: flag().notNull().default(false),
  bucketing_identifier: text(),
  evaluation_runtime: text(),
  evaluation_contexts: strings().notNull().default([]),
  is_remote_configuration: flag().notNull().default(false),
  has_enriched_analytics: flag().notNull().default(false),
  rollback_conditions: json(),
  performed_rollback: flag(),
  analytics_dashboards: json().notNull().default([]),
  usage_dashboard: integer(),
  tags: strings().notNull().default([]),
  creation_context: text().notNull().default('feature_flags'),
  archived: flag().notNull().default(false),
  created_by: integer(),
  last_modified_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

export const cohorts = sqliteTable('cohorts', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  name: text(),
  description: text().notNull().default(''),
  filters: json(),
  query: json(),
  is_static: flag().notNull().default(false),
  deleted: flag().notNull().default(false),
  is_calculating: flag().notNull().default(false),
  version: integer().notNull().default(1),
  calculated_version: integer().notNull().default(0),
  count: integer(),
  errors_calculating: integer().notNull().default(0),
  last_calculation: timestamp(),
  created_by: integer(),
  created_at: timestamp().notNull(),
})

export const early_access_features = sqliteTable('early_access_features', {
  id: text().primaryKey(),
  project_id: integer().notNull(),
  feature_flag_id: integer(),
  name: text().notNull(),
  description: text().notNull().default(''),
  stage: text().notNull(),
  documentation_url: text().notNull().default(''),
  payload: json(),
  created_at: timestamp().notNull(),
})

export const surveys = sqliteTable('surveys', {
  id: text().primaryKey(),
  project_id: integer().notNull(),
  name: text().notNull(),
  description: text().notNull().default(''),
  type: text().notNull(),
  schedule: text(),
  linked_flag_id: integer(),
  targeting_flag_id: integer(),
  internal_targeting_flag_id: integer(),
  questions: json(),
  conditions: json(),
  appearance: json(),
  start_date: timestamp(),
  end_date: timestamp(),
  archived: flag().notNull().default(false),
  responses_limit: integer(),
  iteration_count: integer(),
  iteration_frequency_days: integer(),
  iteration_start_dates: json(),
  current_iteration: integer(),
  current_iteration_start_date: timestamp(),
  enable_partial_responses: flag(),
  enable_iframe_embedding: flag(),
  translations: json(),
  form_content: json(),
  response_sampling_start_date: timestamp(),
  response_sampling_interval_type: text(),
  response_sampling_interval: integer(),
  response_sampling_limit: integer(),
  response_sampling_daily_limits: json(),
  created_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

export const survey_archived_responses = sqliteTable(
  'survey_archived_responses',
  {
    survey_id: text().notNull(),
    response_uuid: text().notNull(),
    archived_at: timestamp().notNull(),
  },
  (table) => [primaryKey({ columns: [table.survey_id, table.response_uuid] })],
)

export const experiment_holdouts = sqliteTable('experiment_holdouts', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  name: text().notNull(),
  description: text(),
  filters: json().notNull(),
  created_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

export const experiments = sqliteTable('experiments', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  name: text().notNull(),
  description: text(),
  type: text().notNull().default('product'),
  start_date: timestamp(),
  end_date: timestamp(),
  feature_flag_id: integer().notNull(),
  holdout_id: integer(),
  exposure_cohort_id: integer(),
  exposure_criteria: json(),
  stats_config: json(),
  parameters: json().notNull().default({}),
  filters: json().notNull().default({}),
  metrics: json().notNull().default([]),
  secondary_metrics: json().notNull().default([]),
  variants: json(),
  conclusion: text(),
  conclusion_comment: text(),
  scheduling_config: json(),
  primary_metrics_ordered_uuids: json(),
  secondary_metrics_ordered_uuids: json(),
  only_count_matured_users: flag().notNull().default(false),
  archived: flag().notNull().default(false),
  deleted: flag().notNull().default(false),
  created_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

export const experiment_saved_metrics = sqliteTable('experiment_saved_metrics', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  name: text().notNull(),
  description: text(),
  query: json().notNull(),
  tags: strings().notNull().default([]),
  created_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

export const experiment_metric_links = sqliteTable('experiment_metric_links', {
  id: integer().primaryKey({ autoIncrement: true }),
  experiment_id: integer().notNull(),
  saved_metric_id: integer().notNull(),
  metadata: json().notNull(),
  created_at: timestamp().notNull(),
})

/** Conditions of one action step: all that are not null must hold. */
export type StoredActionStep = {
  /** Null for events of any name. */
  readonly event: string | null
  /** Property filters as in insights. */
  readonly properties: readonly Json[]
  readonly selector: string | null
  readonly tag_name: string | null
  readonly text: string | null
  readonly text_matching: ActionMatching | null
  readonly href: string | null
  readonly href_matching: ActionMatching | null
  readonly url: string | null
  readonly url_matching: ActionMatching | null
  /** A label of the step. */
  readonly name: string | null
}

/** The comparison of a step's text; null means `exact`, for page addresses `contains`. */
type ActionMatching = 'contains' | 'exact' | 'regex'

export const actions = sqliteTable('actions', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  name: text().notNull(),
  description: text().notNull().default(''),
  tags: strings().notNull().default([]),
  steps: text({ mode: 'json' }).$type<readonly StoredActionStep[]>().notNull().default([]),
  post_to_slack: flag().notNull().default(false),
  slack_message_format: text().notNull().default(''),
  deleted: flag().notNull().default(false),
  pinned_at: timestamp(),
  created_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

export const scheduled_changes = sqliteTable('scheduled_changes', {
  id: integer().primaryKey({ autoIncrement: true }),
  project_id: integer().notNull(),
  flag_id: integer().notNull(),
  payload: json().notNull(),
  scheduled_at: timestamp().notNull(),
  executed_at: timestamp(),
  last_executed_at: timestamp(),
  failure_reason: text(),
  failures: integer().notNull().default(0),
  is_recurring: flag().notNull().default(false),
  recurrence_interval: text().$type<RecurrenceInterval>(),
  cron_expression: text(),
  end_date: timestamp(),
  timezone: text().notNull().default('UTC'),
  created_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

/** The interval of a recurring scheduled change. */
export type RecurrenceInterval = 'daily' | 'monthly' | 'weekly' | 'yearly'

/** Calculations of dynamic cohorts, one row each. */
export const cohort_calculations = sqliteTable('cohort_calculations', {
  id: integer().primaryKey({ autoIncrement: true }),
  cohort_id: integer().notNull(),
  filters: json(),
  count: integer(),
  started_at: timestamp().notNull(),
  finished_at: timestamp(),
  error: text(),
})

/** Increases with every change of a definition that flag evaluation compiles; written by triggers. */
export const definition_versions = sqliteTable('definition_versions', {
  project_id: integer().primaryKey(),
  version: integer().notNull(),
})
