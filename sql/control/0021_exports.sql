-- Questions whose answers can be downloaded as a file. The answer itself is computed at each download.
create table exports (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  insight_id integer references insights (id) on delete cascade,
  export_format text not null,
  context text not null,
  filename text not null,
  created_by integer,
  created_at integer not null,
  expires_at integer not null
) strict;

create index exports_by_project on exports (project_id, id);
