-- The relations of one project's instance. Each instance holds one project and defines project_id();
-- every relation is read through its macro with the project's id bound, so another id reads nothing.
-- Of what has `change` and `is_gone`, most rows may be in files, which the tables go on from (query/worker/replica-files.ts).
-- The events are not here: each question has its own relation of them, made when it comes (query/worker/event-macros.ts).

create table person_overrides (
  old_person_id uuid not null,
  person_id uuid not null
);

create table distinct_id_overrides (
  distinct_id varchar not null,
  person_id uuid not null
);

create table persons (
  id uuid not null,
  created_at timestamp not null,
  properties varchar not null,
  is_identified boolean not null,
  version bigint not null,
  is_gone boolean not null,
  change bigint not null
);

create table person_distinct_ids (
  distinct_id varchar not null,
  person_id uuid,
  version bigint not null,
  is_gone boolean not null,
  change bigint not null
);

create table groups (
  index bigint not null,
  key varchar not null,
  created_at timestamp not null,
  updated_at timestamp not null,
  properties varchar not null,
  is_gone boolean not null,
  change bigint not null
);

create table cohort_people (
  person_id uuid not null,
  cohort_id bigint not null,
  is_gone boolean not null,
  change bigint not null
);

create table ingestion_warnings (
  id bigint not null,
  type varchar not null,
  details varchar not null,
  timestamp timestamp not null
);

create macro person_overrides_of(p) as table
  select old_person_id, person_id
  from person_overrides
  where p = project_id();

-- Persons and groups have further columns: the properties that questions have named (query/worker/person-columns.ts).
create macro persons_of(p) as table
  select * exclude (is_gone, change)
  from persons
  where p = project_id() and not is_gone;

create macro person_distinct_ids_of(p) as table
  select distinct_id, person_id, version
  from person_distinct_ids
  where p = project_id() and not is_gone;

create macro groups_of(p) as table
  select * exclude (is_gone, change)
  from groups
  where p = project_id() and not is_gone;

create macro cohort_people_of(p) as table
  select person_id, cohort_id
  from cohort_people
  where p = project_id() and not is_gone;

create macro ingestion_warnings_of(p) as table
  select type, details, timestamp
  from ingestion_warnings
  where p = project_id();
