-- Merges can be undone. Each is kept as a log entry until it is undone or its person is deleted.

-- What both persons were, as far as the one that is left does not say it. `kept` is what the other person had:
-- {properties, flags, cohorts}; `given` names those of them that the person it became took over (an object of lists).
create table merges (
  id integer primary key autoincrement,
  project_id integer not null,
  into_id blob not null,
  other_id blob not null,
  merged_at integer not null,
  into_created_at integer not null,
  into_was_identified integer not null check (into_was_identified in (0, 1)),
  -- A later event claimed `into` to be an identified user: it stays one without this merge.
  was_confirmed integer not null default 0 check (was_confirmed in (0, 1)),
  into_main text,
  other_created_at integer not null,
  other_was_identified integer not null check (other_was_identified in (0, 1)),
  other_main text,
  kept text not null,
  given text not null
) strict;

create unique index merges_by_other on merges (project_id, other_id);
create index merges_by_into on merges (project_id, into_id, id);

-- Whose id it was before any merge; null for ids that are where they began. The id of a deleted person
-- stays here with an empty `person_id`, so that copies of this table learn of it.
alter table distinct_ids add column home_id blob;

-- Events of these ids belong to this person, whoever they were stored under: written by splits and undone merges.
create table distinct_id_overrides (
  project_id integer not null,
  distinct_id text not null,
  person_id blob not null,
  change integer not null,
  primary key (project_id, distinct_id)
) strict, without rowid;

create index distinct_id_overrides_by_change on distinct_id_overrides (project_id, change);
create index distinct_id_overrides_by_person on distinct_id_overrides (project_id, person_id);

-- Persons deleted with their events: what is still to be removed from the log and from files. `person_ids` are hex.
create table event_removals (
  id integer primary key,
  project_id integer not null,
  up_to_seq integer not null,
  person_ids text not null,
  distinct_ids text not null,
  created_at integer not null
) strict;

create index event_removals_by_project on event_removals (project_id);
