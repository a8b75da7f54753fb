-- Who gets what: flags, cohorts, early access, surveys, experiments. Written by the serving process's main thread.

create table feature_flags (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  key text not null,
  -- What people call the flag; it is looked up by its key.
  name text not null default '',
  filters text not null check (json_valid(filters)),
  active integer not null default 1,
  deleted integer not null default 0,
  version integer not null default 1,
  ensure_experience_continuity integer not null default 0,
  bucketing_identifier text,
  evaluation_runtime text,
  evaluation_contexts text not null default '[]' check (json_valid(evaluation_contexts)),
  is_remote_configuration integer not null default 0,
  has_enriched_analytics integer not null default 0,
  rollback_conditions text check (json_valid(rollback_conditions)),
  performed_rollback integer,
  analytics_dashboards text not null default '[]' check (json_valid(analytics_dashboards)),
  usage_dashboard integer,
  tags text not null default '[]' check (json_valid(tags)),
  creation_context text not null default 'feature_flags',
  created_by integer references users (id) on delete set null,
  last_modified_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null
) strict;

-- A deleted flag's key is free again.
create unique index feature_flags_by_key on feature_flags (project_id, key) where deleted = 0;
create index feature_flags_by_project on feature_flags (project_id, deleted, id);

-- Who is in a cohort stands in events.db (cohort_people), where merges move it.
create table cohorts (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  name text,
  description text not null default '',
  filters text check (json_valid(filters)),
  query text check (json_valid(query)),
  is_static integer not null default 0,
  deleted integer not null default 0,
  is_calculating integer not null default 0,
  -- Counts changes of what the cohort asks; `calculated_version` is the one its members were last worked out for.
  version integer not null default 1,
  calculated_version integer not null default 0,
  count integer,
  errors_calculating integer not null default 0,
  last_calculation integer,
  created_by integer references users (id) on delete set null,
  created_at integer not null
) strict;

create index cohorts_by_project on cohorts (project_id, deleted, id);

create table early_access_features (
  id text primary key,
  project_id integer not null references projects (id) on delete cascade,
  feature_flag_id integer references feature_flags (id) on delete set null,
  name text not null,
  description text not null default '',
  stage text not null,
  documentation_url text not null default '',
  created_at integer not null
) strict, without rowid;

create index early_access_features_by_project on early_access_features (project_id);

create table surveys (
  id text primary key,
  project_id integer not null references projects (id) on delete cascade,
  name text not null,
  description text not null default '',
  type text not null,
  schedule text,
  linked_flag_id integer references feature_flags (id) on delete set null,
  targeting_flag_id integer references feature_flags (id) on delete set null,
  internal_targeting_flag_id integer references feature_flags (id) on delete set null,
  questions text check (json_valid(questions)),
  conditions text check (json_valid(conditions)),
  appearance text check (json_valid(appearance)),
  start_date integer,
  end_date integer,
  archived integer not null default 0,
  responses_limit integer,
  iteration_count integer,
  iteration_frequency_days integer,
  iteration_start_dates text check (json_valid(iteration_start_dates)),
  current_iteration integer,
  current_iteration_start_date integer,
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null
) strict, without rowid;

create unique index surveys_by_name on surveys (project_id, name);

create table experiment_holdouts (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  name text not null,
  description text,
  filters text not null check (json_valid(filters)),
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null
) strict;

create index experiment_holdouts_by_project on experiment_holdouts (project_id);

create table experiments (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  name text not null,
  description text,
  type text not null default 'product',
  start_date integer,
  end_date integer,
  feature_flag_id integer not null references feature_flags (id) on delete cascade,
  holdout_id integer references experiment_holdouts (id) on delete set null,
  exposure_cohort_id integer references cohorts (id) on delete set null,
  parameters text not null default '{}' check (json_valid(parameters)),
  filters text not null default '{}' check (json_valid(filters)),
  metrics text not null default '[]' check (json_valid(metrics)),
  secondary_metrics text not null default '[]' check (json_valid(secondary_metrics)),
  variants text check (json_valid(variants)),
  archived integer not null default 0,
  deleted integer not null default 0,
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null
) strict;

create index experiments_by_project on experiments (project_id, deleted);
create index experiments_by_flag on experiments (feature_flag_id);

-- Who changed what. `detail` is a JSON object: the thing's name and its changes, field by field.
create table activity_log (
  id integer primary key autoincrement,
  organization_id text not null references organizations (id) on delete cascade,
  project_id integer references projects (id) on delete cascade,
  user_id integer references users (id) on delete set null,
  scope text not null,
  item_id text not null,
  activity text not null,
  detail text not null check (json_valid(detail)),
  created_at integer not null
) strict;

create index activity_log_by_item on activity_log (project_id, scope, item_id, id);

-- Moves with everything that flag evaluation is compiled from, whoever writes it: compiled definitions are
-- used as long as this number stays, not as long as nothing at all is written.
create table definition_versions (
  project_id integer primary key,
  version integer not null
) strict;

create trigger flag_inserted after insert on feature_flags begin
  insert into definition_versions values (new.project_id, 1)
  on conflict do update set version = version + 1;
end;

create trigger flag_updated after update on feature_flags begin
  insert into definition_versions values (new.project_id, 1)
  on conflict do update set version = version + 1;
end;

create trigger flag_removed after delete on feature_flags begin
  insert into definition_versions values (old.project_id, 1)
  on conflict do update set version = version + 1;
end;

create trigger cohort_inserted after insert on cohorts begin
  insert into definition_versions values (new.project_id, 1)
  on conflict do update set version = version + 1;
end;

-- Not when a calculation notes how it went.
create trigger cohort_updated after update of filters, query, is_static, deleted on cohorts begin
  insert into definition_versions values (new.project_id, 1)
  on conflict do update set version = version + 1;
end;

create trigger cohort_removed after delete on cohorts begin
  insert into definition_versions values (old.project_id, 1)
  on conflict do update set version = version + 1;
end;
