-- Where a ClickHouse cluster holds the events: how far the log has been carried there, and what is on its way.

-- The names under which events are known there: those from `first_seq` on have this one. A restored folder begins a new
-- one, for it gives out numbers that were given out before.
create table log_ids (
  first_seq integer primary key,
  log_id text not null unique
) strict;

insert into log_ids (first_seq, log_id) values (1, lower(hex(randomblob(12))));

-- No row: this folder holds its events itself.
create table shipping (
  id integer primary key check (id = 1),
  -- Events up to this one are in ClickHouse; so are the rows of persons up to this change.
  shipped_seq integer not null,
  shipped_change integer not null,
  -- The log id under which the rows of persons were sent. After a restore they are deleted there and sent again.
  persons_log_id text not null
) strict;

-- Batches that ClickHouse has not confirmed. The file is the batch: what is sent again is the same to the byte.
create table shipments (
  id text primary key,
  log_id text not null,
  -- It has the events after this one …
  after_seq integer not null,
  -- … up to this one.
  last_seq integer not null,
  row_count integer not null,
  byte_count integer not null,
  sha256 text not null,
  min_timestamp integer not null,
  max_timestamp integer not null,
  -- 0: something of it may be there already.
  created_at integer not null
) strict, without rowid;

-- Snapshot files whose events ClickHouse has, until all of them are there.
create table filled_files (
  id text primary key,
  rows_sent integer not null
) strict, without rowid;
