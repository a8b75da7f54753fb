-- Ids used by events without a person profile: a later merge of such an id claims those events (wire.md 2.3, 2.4).
create table personless_ids (
  project_id integer not null,
  distinct_id text not null,
  primary key (project_id, distinct_id)
) strict, without rowid;

-- What went wrong quietly: readable by the project's users (wire.md 1.12). `details` is a JSON object.
create table ingestion_warnings (
  id integer primary key,
  project_id integer not null,
  type text not null,
  details text not null,
  created_at integer not null
) strict;

create index ingestion_warnings_by_project on ingestion_warnings (project_id, created_at);

-- Names seen so far; `last_seen` moves at most once an hour, so that keeping it costs next to nothing.
create table event_definitions (
  project_id integer not null,
  name text not null,
  first_seen integer not null,
  last_seen integer not null,
  change integer not null,
  primary key (project_id, name)
) strict, without rowid;

create index event_definitions_by_change on event_definitions (project_id, change);

-- The first type detected stays; null until a value showed one. `group_type_index` is -1 unless kind is 'group'.
create table property_definitions (
  project_id integer not null,
  kind text not null check (kind in ('event', 'person', 'group')),
  group_type_index integer not null check (group_type_index between -1 and 4),
  name text not null,
  property_type text check (property_type in ('String', 'Numeric', 'Boolean', 'DateTime')),
  first_seen integer not null,
  last_seen integer not null,
  change integer not null,
  primary key (project_id, kind, group_type_index, name)
) strict, without rowid;

create index property_definitions_by_change on property_definitions (project_id, change);

-- Per project: how many events were accepted, dropped (`dropped:<reason>`), repeated (`duplicate`), merged.
create table ingest_counters (
  project_id integer not null,
  name text not null,
  value integer not null,
  primary key (project_id, name)
) strict, without rowid;

-- The id a person's list begins with: the `alias` of a `$create_alias` (interface.md 6). At most one per person.
alter table distinct_ids add column is_main integer not null default 0 check (is_main in (0, 1));
