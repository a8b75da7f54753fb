-- Edge: which groups the home has been asked about, and when.
create table edge_groups (
  project_id integer not null,
  group_type_index integer not null,
  group_key text not null,
  fetched_at integer not null,
  primary key (project_id, group_type_index, group_key)
) strict, without rowid;

create index edge_groups_by_time on edge_groups (fetched_at);

-- Edge: the rows of flag_overrides that were decided here, and that no copy of the person has shown to be at home yet.
create table edge_overrides (
  project_id integer not null,
  person_id blob not null,
  flag_key text not null,
  primary key (project_id, person_id, flag_key)
) strict, without rowid;
