-- Whoever has read the list of removals knows them by their ids: one that was given twice would be taken for done.
create table numbered_removals (
  id integer primary key autoincrement,
  project_id integer not null,
  up_to_seq integer not null,
  person_ids text not null,
  distinct_ids text not null,
  created_at integer not null
) strict;

insert into numbered_removals
select id, project_id, up_to_seq, person_ids, distinct_ids, created_at
from event_removals
order by id;

drop table event_removals;
alter table numbered_removals rename to event_removals;
create index event_removals_by_project on event_removals (project_id);
