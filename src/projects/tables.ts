/** drizzle's view of control.db's tables; the migrations in sql/control define types and checks. */
import { customType, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Scopes } from './rights/scopes.ts'

/** Any JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }

const MICROSECONDS = 1000

/** A moment, stored as microseconds since 1970 UTC. */
export const timestamp = customType<{ data: Date; driverData: number }>({
  dataType: () => 'integer',
  toDriver: (date) => date.getTime() * MICROSECONDS,
  fromDriver: (microseconds) => new Date(microseconds / MICROSECONDS),
})

/** A boolean, stored as 0 or 1. */
export const flag = () => integer({ mode: 'boolean' })

/** Any JSON value, stored as text. */
export const json = () => text({ mode: 'json' }).$type<Json>()

/** A list of strings, stored as JSON text. */
export const strings = () => text({ mode: 'json' }).$type<readonly string[]>()

export const organizations = sqliteTable('organizations', {
  id: text().primaryKey(),
  name: text().notNull(),
  slug: text().notNull(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
})

export const users = sqliteTable('users', {
  id: integer().primaryKey({ autoIncrement: true }),
  uuid: text().notNull(),
  distinct_id: text().notNull(),
  /** Not verified. */
  email: text('address'),
  first_name: text().notNull(),
  last_name: text().notNull().default(''),
  created_at: timestamp().notNull(),
  current_organization_id: text(),
  current_project_id: integer(),
})

/** A user's level in an organization; a higher number has more rights. */
export const MEMBER = 1
export const ADMIN = 8
export const OWNER = 15

export type MemberLevel = typeof MEMBER | typeof ADMIN | typeof OWNER

export const memberships = sqliteTable(
  'memberships',
  {
    organization_id: text().notNull(),
    user_id: integer().notNull(),
    level: integer().$type<MemberLevel>().notNull(),
    joined_at: timestamp().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.user_id] })],
)

/** Stored columns only; computed members of the API are not here. */
export const projects = sqliteTable('projects', {
  id: integer().primaryKey({ autoIncrement: true }),
  uuid: text().notNull(),
  organization_id: text().notNull(),
  api_token: text().notNull(),
  name: text().notNull(),
  product_description: text(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
  app_urls: strings().notNull().default([]),
  slack_incoming_webhook: text(),
  anonymize_ips: flag().notNull().default(false),
  completed_snippet_onboarding: flag().notNull().default(false),
  ingested_event: flag().notNull().default(false),
  test_account_filters: json().notNull(),
  test_account_filters_default_checked: flag(),
  path_cleaning_filters: json().default([]),
  is_demo: flag().notNull().default(false),
  timezone: text().notNull().default('UTC'),
  data_attributes: json().default(['data-attr']),
  person_display_name_properties: strings(),
  correlation_config: json().default({}),
  autocapture_opt_out: flag(),
  autocapture_exceptions_opt_in: flag(),
  autocapture_web_vitals_opt_in: flag(),
  autocapture_web_vitals_allowed_metrics: json(),
  autocapture_exceptions_errors_to_ignore: json(),
  capture_console_log_opt_in: flag().default(true),
  capture_performance_opt_in: flag().default(true),
  session_recording_opt_in: flag().notNull().default(false),
  session_recording_sample_rate: text(),
  session_recording_minimum_duration_milliseconds: integer(),
  session_recording_linked_flag: json(),
  session_recording_network_payload_capture_config: json(),
  session_replay_config: json(),
  survey_config: json(),
  access_control: flag().notNull().default(false),
  week_start_day: integer(),
  primary_dashboard: integer(),
  live_events_columns: strings(),
  recording_domains: strings(),
  inject_web_apps: flag(),
  extra_settings: json(),
  modifiers: json(),
  has_completed_onboarding_for: json(),
  surveys_opt_in: flag(),
  heatmaps_opt_in: flag(),
  flags_persistence_default: flag(),
  cookieless_server_hash_mode: integer(),
})

export const personal_api_keys = sqliteTable('personal_api_keys', {
  id: text().primaryKey(),
  user_id: integer().notNull(),
  label: text().notNull(),
  key_hash: text().notNull(),
  mask_value: text().notNull(),
  scopes: text({ mode: 'json' }).$type<Scopes>().notNull(),
  scoped_organizations: strings(),
  scoped_projects: text({ mode: 'json' }).$type<readonly number[]>(),
  created_at: timestamp().notNull(),
  last_used_at: timestamp(),
  expires_at: timestamp(),
  last_rolled_at: timestamp(),
})

export const passwords = sqliteTable('passwords', {
  user_id: integer().primaryKey(),
  /** Lower case; unique, unlike `users.email`. */
  email: text().notNull(),
  hash: text().notNull(),
  changed_at: timestamp().notNull(),
})

export const sessions = sqliteTable('sessions', {
  id: text().primaryKey(),
  user_id: integer().notNull(),
  token_hash: text().notNull(),
  user_agent: text().notNull(),
  ip: text().notNull(),
  created_at: timestamp().notNull(),
  seen_at: timestamp().notNull(),
  expires_at: timestamp().notNull(),
})

export const login_links = sqliteTable('login_links', {
  token_hash: text().primaryKey(),
  user_id: integer().notNull(),
  created_at: timestamp().notNull(),
  expires_at: timestamp().notNull(),
})
