-- What stands for {variables.code_name} in questions that say nothing else, and what it may be.
create table insight_variables (
  id text primary key,
  project_id integer not null references projects (id) on delete cascade,
  name text not null,
  code_name text not null,
  type text not null check (type in ('String', 'Number', 'Boolean', 'List', 'Date')),
  default_value text check (json_valid(default_value)),
  "values" text check (json_valid("values")),
  created_by integer references users (id) on delete set null,
  created_at integer not null
) strict;

create unique index insight_variables_by_name on insight_variables (project_id, code_name);
