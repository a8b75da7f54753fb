-- What people call the groups of a type: "company", "companies".
create table group_type_names (
  project_id integer not null references projects (id) on delete cascade,
  group_type_index integer not null,
  name_singular text,
  name_plural text,
  primary key (project_id, group_type_index)
) strict, without rowid;
