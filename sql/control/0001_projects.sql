-- control.db: who may ask, and what for. Written by the serving process's main thread and by the command line.
-- Times are microseconds since 1970 UTC, as in events.db. Columns that hold JSON say so in their check.

create table organizations (
  id text primary key,
  name text not null,
  slug text not null unique,
  created_at integer not null,
  updated_at integer not null
) strict, without rowid;

create table users (
  id integer primary key autoincrement,
  uuid text not null unique,
  distinct_id text not null unique,
  email text unique,
  first_name text not null,
  last_name text not null default '',
  created_at integer not null
) strict;

-- Levels: 1 member, 8 admin, 15 owner.
create table memberships (
  organization_id text not null references organizations (id) on delete cascade,
  user_id integer not null references users (id) on delete cascade,
  level integer not null check (level in (1, 8, 15)),
  joined_at integer not null,
  primary key (organization_id, user_id)
) strict, without rowid;

create index memberships_by_user on memberships (user_id);

-- The data thread reads id, api_token and anonymize_ips. Ids are never given twice: events carry them.
create table projects (
  id integer primary key autoincrement,
  uuid text not null unique,
  organization_id text not null references organizations (id) on delete cascade,
  api_token text not null unique,
  name text not null,
  product_description text,
  created_at integer not null,
  updated_at integer not null,
  app_urls text not null default '[]' check (json_valid(app_urls)),
  slack_incoming_webhook text,
  anonymize_ips integer not null default 0,
  completed_snippet_onboarding integer not null default 0,
  ingested_event integer not null default 0,
  test_account_filters text not null check (json_valid(test_account_filters)),
  test_account_filters_default_checked integer,
  path_cleaning_filters text default '[]' check (json_valid(path_cleaning_filters)),
  is_demo integer not null default 0,
  timezone text not null default 'UTC',
  data_attributes text default '["data-attr"]' check (json_valid(data_attributes)),
  person_display_name_properties text check (json_valid(person_display_name_properties)),
  correlation_config text default '{}' check (json_valid(correlation_config)),
  autocapture_opt_out integer,
  autocapture_exceptions_opt_in integer,
  autocapture_web_vitals_opt_in integer,
  autocapture_web_vitals_allowed_metrics text check (json_valid(autocapture_web_vitals_allowed_metrics)),
  autocapture_exceptions_errors_to_ignore text check (json_valid(autocapture_exceptions_errors_to_ignore)),
  capture_console_log_opt_in integer default 1,
  capture_performance_opt_in integer default 1,
  session_recording_opt_in integer not null default 0,
  session_recording_sample_rate text,
  session_recording_minimum_duration_milliseconds integer,
  session_recording_linked_flag text check (json_valid(session_recording_linked_flag)),
  session_recording_network_payload_capture_config text check (json_valid(session_recording_network_payload_capture_config)),
  session_replay_config text check (json_valid(session_replay_config)),
  survey_config text check (json_valid(survey_config)),
  access_control integer not null default 0,
  week_start_day integer check (week_start_day in (0, 1)),
  primary_dashboard integer,
  live_events_columns text check (json_valid(live_events_columns)),
  recording_domains text check (json_valid(recording_domains)),
  inject_web_apps integer,
  extra_settings text check (json_valid(extra_settings)),
  modifiers text check (json_valid(modifiers)),
  has_completed_onboarding_for text check (json_valid(has_completed_onboarding_for)),
  surveys_opt_in integer,
  heatmaps_opt_in integer,
  flags_persistence_default integer
) strict;

create index projects_by_organization on projects (organization_id);

-- Only the SHA-256 of a key's value is kept. A null list of organizations or projects means all of the user's.
create table personal_api_keys (
  id text primary key,
  user_id integer not null references users (id) on delete cascade,
  label text not null,
  key_hash text not null unique,
  mask_value text not null,
  scopes text not null check (json_valid(scopes)),
  scoped_organizations text check (json_valid(scoped_organizations)),
  scoped_projects text check (json_valid(scoped_projects)),
  created_at integer not null,
  last_used_at integer
) strict, without rowid;

create index personal_api_keys_by_user on personal_api_keys (user_id);
