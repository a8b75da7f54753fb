-- What a person saw of a flag before logging in is kept: this key is hashed instead of the distinct id (wire.md 3.4).
create table flag_overrides (
  project_id integer not null,
  person_id blob not null,
  flag_key text not null,
  hash_key text not null,
  primary key (project_id, person_id, flag_key)
) strict, without rowid;

-- Who is in a cohort: uploaded, or worked out in the background. Cohorts themselves stand in control.db.
create table cohort_people (
  project_id integer not null,
  person_id blob not null,
  cohort_id integer not null,
  primary key (project_id, person_id, cohort_id)
) strict, without rowid;

create index cohort_people_by_cohort on cohort_people (project_id, cohort_id, person_id);
