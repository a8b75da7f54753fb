-- events.db: written by the data thread alone, read by everyone else.

-- The clock counts what was committed: `seq` numbers events, `change` numbers writes to replicated rows
-- (persons, distinct ids, overrides, groups). Both only grow, also when the log is trimmed.
create table clock (
  id integer primary key check (id = 1),
  seq integer not null,
  change integer not null
) strict;

insert into clock (id, seq, change) values (1, 0, 0);

-- The event log: committed events which no snapshot file holds yet, or not for long.
create table events (
  seq integer primary key,
  project_id integer not null,
  uuid blob not null,
  event text not null,
  distinct_id text not null,
  person_id blob not null,
  -- 'full', 'propertyless' or 'force_upgrade'; a check would cost a quarter of the insert.
  person_mode text not null,
  timestamp integer not null,
  created_at integer not null,
  properties text not null,
  elements_chain text not null,
  group_0 text,
  group_1 text,
  group_2 text,
  group_3 text,
  group_4 text
) strict;

-- Exactly once: a uuid already here is not stored again (contract C4). Rows leave after the dedup window.
create table event_uuids (
  project_id integer not null,
  uuid blob not null,
  received_day integer not null,
  primary key (project_id, uuid)
) strict, without rowid;

create table persons (
  project_id integer not null,
  id blob not null,
  created_at integer not null,
  properties text not null,
  is_identified integer not null check (is_identified in (0, 1)),
  version integer not null,
  is_deleted integer not null default 0 check (is_deleted in (0, 1)),
  change integer not null,
  primary key (project_id, id)
) strict, without rowid;

create index persons_by_change on persons (project_id, change);

create table distinct_ids (
  project_id integer not null,
  distinct_id text not null,
  person_id blob not null,
  version integer not null,
  change integer not null,
  primary key (project_id, distinct_id)
) strict, without rowid;

create index distinct_ids_by_change on distinct_ids (project_id, change);
create index distinct_ids_by_person on distinct_ids (project_id, person_id);

-- Events keep the person of their time; an override says who that person is today. Written by merges.
create table person_overrides (
  project_id integer not null,
  old_person_id blob not null,
  person_id blob not null,
  change integer not null,
  primary key (project_id, old_person_id)
) strict, without rowid;

create index person_overrides_by_change on person_overrides (project_id, change);
create index person_overrides_by_person on person_overrides (project_id, person_id);

create table group_types (
  project_id integer not null,
  group_type text not null,
  group_type_index integer not null check (group_type_index between 0 and 4),
  primary key (project_id, group_type),
  unique (project_id, group_type_index)
) strict, without rowid;

create table groups (
  project_id integer not null,
  group_type_index integer not null,
  group_key text not null,
  created_at integer not null,
  updated_at integer not null,
  properties text not null,
  change integer not null,
  primary key (project_id, group_type_index, group_key)
) strict, without rowid;

create index groups_by_change on groups (project_id, change);
