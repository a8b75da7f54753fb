-- The manifest: which snapshot files exist, and up to which sequence number they hold everything.

create table manifest (
  id integer primary key check (id = 1),
  version integer not null,
  flushed_seq integer not null,
  trimmed_seq integer not null
) strict;

insert into manifest (id, version, flushed_seq, trimmed_seq) values (1, 0, 0, 0);

create table files (
  id text primary key,
  project_id integer not null,
  month text not null,
  first_seq integer not null,
  last_seq integer not null,
  row_count integer not null,
  byte_count integer not null,
  sha256 text not null,
  min_timestamp integer not null,
  max_timestamp integer not null,
  created_at integer not null
) strict, without rowid;

create index files_by_project on files (project_id, month);
