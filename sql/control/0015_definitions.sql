-- What people say of the names of events and properties; the names themselves are learnt from what is sent. An id is made of the
-- name. What was deleted is out of the lists until the name is seen again.
create table definitions (
  project_id integer not null references projects (id) on delete cascade,
  id text not null,
  description text,
  tags text not null default '[]' check (json_valid(tags)),
  owner integer references users (id) on delete set null,
  hidden integer not null default 0,
  verified integer not null default 0,
  verified_at integer,
  verified_by integer references users (id) on delete set null,
  updated_at integer not null,
  updated_by integer references users (id) on delete set null,
  deleted_at integer,
  primary key (project_id, id)
) strict, without rowid;
