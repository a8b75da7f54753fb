-- Metrics that experiments share, and what people note of an experiment when it ends.
create table experiment_saved_metrics (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  name text not null,
  description text,
  query text not null check (json_valid(query)),
  tags text not null default '[]' check (json_valid(tags)),
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null
) strict;

create index experiment_saved_metrics_by_project on experiment_saved_metrics (project_id, id);

-- Which experiment looks at which of them, and whether first (`metadata.type` is `primary`) or beside others.
create table experiment_metric_links (
  id integer primary key autoincrement,
  experiment_id integer not null references experiments (id) on delete cascade,
  saved_metric_id integer not null references experiment_saved_metrics (id) on delete cascade,
  metadata text not null default '{}' check (json_valid(metadata)),
  created_at integer not null,
  unique (experiment_id, saved_metric_id)
) strict;

create index experiment_metric_links_by_metric on experiment_metric_links (saved_metric_id);

alter table experiments add column conclusion text;
alter table experiments add column conclusion_comment text;
alter table experiments add column scheduling_config text check (json_valid(scheduling_config));
alter table experiments add column primary_metrics_ordered_uuids text
  check (json_valid(primary_metrics_ordered_uuids));
alter table experiments add column secondary_metrics_ordered_uuids text
  check (json_valid(secondary_metrics_ordered_uuids));
alter table experiments add column only_count_matured_users integer not null default 0;
