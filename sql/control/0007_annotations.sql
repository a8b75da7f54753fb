-- What happened when: notes beside the curves, for the project, a dashboard or an insight.
create table annotations (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  content text,
  date_marker integer,
  creation_type text not null default 'USR' check (creation_type in ('USR', 'GIT')),
  scope text not null default 'dashboard_item'
    check (scope in ('dashboard_item', 'dashboard', 'project', 'organization')),
  insight_id integer references insights (id) on delete set null,
  dashboard_id integer references dashboards (id) on delete set null,
  deleted integer not null default 0,
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null
) strict;

create index annotations_by_project on annotations (project_id, deleted, date_marker);
