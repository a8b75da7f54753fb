-- Projects that another server has now, or is to have: `tidemark clickhouse move`. Senders with the token are asked
-- to send again: the front will know the other server soon.
create table moved_projects (
  project_id integer primary key,
  api_token text not null,
  -- The copy that the other server takes.
  folder text not null,
  started_at integer not null,
  -- Set when the project is no longer one of this server's.
  left_at integer
) strict;

create index moved_projects_by_token on moved_projects (api_token);
