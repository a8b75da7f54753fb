-- What is looked at again and again: questions under a name, and boards of them. Deleted ones stay for whoever undoes it.
create table insights (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  short_id text not null,
  name text,
  description text not null default '',
  query text check (json_valid(query)),
  filters text not null default '{}' check (json_valid(filters)),
  tags text not null default '[]' check (json_valid(tags)),
  favorited integer not null default 0,
  saved integer not null default 1,
  deleted integer not null default 0,
  created_by integer references users (id) on delete set null,
  last_modified_by integer references users (id) on delete set null,
  created_at integer not null,
  last_modified_at integer not null
) strict;

create unique index insights_by_short_id on insights (project_id, short_id);
create index insights_by_project on insights (project_id, deleted, id);

create table dashboards (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  name text,
  description text not null default '',
  pinned integer not null default 0,
  tags text not null default '[]' check (json_valid(tags)),
  filters text not null default '{}' check (json_valid(filters)),
  variables text not null default '{}' check (json_valid(variables)),
  creation_mode text not null default 'default',
  restriction_level integer not null default 21,
  deleted integer not null default 0,
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  last_modified_at integer not null
) strict;

create index dashboards_by_project on dashboards (project_id, deleted, id);

-- An insight on a dashboard, or a text there.
create table dashboard_tiles (
  id integer primary key autoincrement,
  dashboard_id integer not null references dashboards (id) on delete cascade,
  insight_id integer references insights (id) on delete cascade,
  body text,
  layouts text not null default '{}' check (json_valid(layouts)),
  color text,
  check ((insight_id is null) <> (body is null))
) strict;

create unique index dashboard_tiles_by_insight on dashboard_tiles (dashboard_id, insight_id);
create index dashboard_tiles_of_insight on dashboard_tiles (insight_id);
