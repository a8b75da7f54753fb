-- Which memberships changed, by change number, so that questions' copies of them follow. Whether a person is in the
-- cohort now says cohort_people. Whoever writes there takes a change number in the same transaction.
create table cohort_people_changes (
  project_id integer not null,
  cohort_id integer not null,
  person_id blob not null,
  change integer not null,
  primary key (project_id, cohort_id, person_id)
) strict, without rowid;

create index cohort_people_changes_by_change on cohort_people_changes (project_id, change);

insert into cohort_people_changes (project_id, cohort_id, person_id, change)
select project_id, cohort_id, person_id, 1 from cohort_people;

-- The clock's number is the last committed one: the one after it is the writer's, or before the writer's.
create trigger cohort_people_added after insert on cohort_people begin
  delete from cohort_people_changes
  where project_id = new.project_id and cohort_id = new.cohort_id and person_id = new.person_id;
  insert into cohort_people_changes
  select new.project_id, new.cohort_id, new.person_id, change + 1 from clock;
end;

create trigger cohort_people_removed after delete on cohort_people begin
  delete from cohort_people_changes
  where project_id = old.project_id and cohort_id = old.cohort_id and person_id = old.person_id;
  insert into cohort_people_changes
  select old.project_id, old.cohort_id, old.person_id, change + 1 from clock;
end;

create trigger cohort_people_moved after update on cohort_people begin
  delete from cohort_people_changes
  where project_id = old.project_id and cohort_id = old.cohort_id and person_id in (old.person_id, new.person_id);
  insert into cohort_people_changes
  select old.project_id, old.cohort_id, old.person_id, change + 1 from clock;
  insert into cohort_people_changes
  select new.project_id, new.cohort_id, new.person_id, change + 1 from clock;
end;
