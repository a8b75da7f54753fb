-- How cohorts that are conditions were worked out: the latest times of each.
create table cohort_calculations (
  id integer primary key autoincrement,
  cohort_id integer not null references cohorts (id) on delete cascade,
  -- As they were when it began.
  filters text check (json_valid(filters)),
  count integer,
  started_at integer not null,
  finished_at integer,
  error text
) strict;

create index cohort_calculations_by_cohort on cohort_calculations (cohort_id, id);
