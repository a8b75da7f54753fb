-- Frequent properties have columns of their own in files: a JSON array of [kind, name] per file, in a fixed order.
-- Files from before this have nothing here, and are written again once.
alter table files add column columns text not null default '';

-- Every property of a project that any file ever had a column for. None is taken back: whoever compiled a question
-- with what stands here finds it in every later manifest.
create table property_columns (
  project_id integer not null,
  kind text not null check (kind in ('text', 'number', 'boolean')),
  name text not null,
  primary key (project_id, kind, name)
) strict, without rowid;
