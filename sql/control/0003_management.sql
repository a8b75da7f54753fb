-- Who may do what, told more finely: key expiry, access levels, invites; and what a project's people have begun.

alter table personal_api_keys add column expires_at integer;
alter table personal_api_keys add column last_rolled_at integer;

-- What @current means for a user.
alter table users add column current_organization_id text references organizations (id) on delete set null;
alter table users add column current_project_id integer references projects (id) on delete set null;

-- Keys that the server signs with; made when first needed, never shown.
create table instance_secrets (
  name text primary key,
  value text not null
) strict, without rowid;

-- Resource 'project' knows none, member and admin; every other resource none, viewer and editor.
-- User 0 stands for everybody without a row of their own.
create table access_controls (
  project_id integer not null references projects (id) on delete cascade,
  resource text not null,
  user_id integer not null,
  access_level text not null check (access_level in ('none', 'member', 'admin', 'viewer', 'editor')),
  updated_at integer not null,
  primary key (project_id, resource, user_id)
) strict, without rowid;

create table product_intents (
  project_id integer not null references projects (id) on delete cascade,
  product_type text not null,
  contexts text not null default '{}' check (json_valid(contexts)),
  metadata text not null default '{}' check (json_valid(metadata)),
  created_at integer not null,
  updated_at integer not null,
  onboarding_completed_at integer,
  primary key (project_id, product_type)
) strict, without rowid;

-- Whoever has the link may join; only its hash is kept.
create table organization_invites (
  id text primary key,
  organization_id text not null references organizations (id) on delete cascade,
  token_hash text not null unique,
  target_email text,
  first_name text not null default '',
  level integer not null check (level in (1, 8, 15)),
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null,
  expires_at integer not null
) strict, without rowid;

create index organization_invites_by_organization on organization_invites (organization_id);

-- Projects that are gone, until all of their data is.
create table removed_projects (
  project_id integer primary key,
  removed_at integer not null
) strict;

-- What the server does with a project's events. The data thread reads the transformations, by `position`.
create table plugin_configs (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  plugin_id integer not null,
  name text not null,
  enabled integer not null default 1,
  position integer not null default 0,
  config text not null default '{}' check (json_valid(config)),
  -- Up to where a destination has been sent the events; null for what is no destination.
  sent_seq integer,
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null
) strict;

create index plugin_configs_by_project on plugin_configs (project_id, position, id);

create table plugin_logs (
  seq integer primary key autoincrement,
  id text not null,
  project_id integer not null references projects (id) on delete cascade,
  plugin_id integer not null,
  plugin_config_id integer not null references plugin_configs (id) on delete cascade,
  timestamp integer not null,
  source text not null check (source in ('SYSTEM', 'PLUGIN', 'CONSOLE')),
  type text not null check (type in ('DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR')),
  message text not null,
  instance_id text not null
) strict;

create index plugin_logs_by_config on plugin_logs (plugin_config_id, seq);

-- The last demo data of a project; `state` is running, done or failed.
create table demo_runs (
  project_id integer primary key references projects (id) on delete cascade,
  seed text not null,
  persons integer not null,
  days integer not null,
  end_at integer not null,
  state text not null check (state in ('running', 'done', 'failed')),
  done_events integer not null default 0,
  total_events integer not null default 0,
  error text,
  started_at integer not null,
  finished_at integer
) strict;
