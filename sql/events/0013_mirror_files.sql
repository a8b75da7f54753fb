-- Persons, ids, groups and memberships as files, which questions read in place. They say nothing that is not in this
-- database: what is damaged or missing is written anew.

-- How far the files of one relation are true: they hold each of its rows as of this change number, deleted ones not.
create table mirrors (
  project_id integer not null,
  relation text not null,
  change integer not null,
  -- When they were written, that was the newest change number there was.
  is_whole integer not null check (is_whole in (0, 1)),
  created_at integer not null,
  primary key (project_id, relation)
) strict, without rowid;

-- No row is in two files of a relation.
create table mirror_files (
  id text primary key,
  project_id integer not null,
  relation text not null,
  row_count integer not null,
  byte_count integer not null,
  sha256 text not null,
  -- As the `columns` of the manifest's files.
  columns text not null
) strict, without rowid;

create index mirror_files_by_project on mirror_files (project_id, relation);
