-- Events under one name: what matches any of an action's steps. Deleted ones stay for whoever undoes it.
create table actions (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  name text not null,
  description text not null default '',
  tags text not null default '[]' check (json_valid(tags)),
  steps text not null default '[]' check (json_valid(steps)),
  post_to_slack integer not null default 0,
  slack_message_format text not null default '',
  deleted integer not null default 0,
  pinned_at integer,
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null
) strict;

-- A deleted action's name is free again.
create unique index actions_by_name on actions (project_id, name) where deleted = 0;
create index actions_by_project on actions (project_id, deleted, id);
