-- Persons and groups carry a kilobyte of properties. In a table without row ids such rows fill the upper levels of the
-- tree too, which makes it ten levels deep for a million persons: with row ids, four times as many are created in a second.

create table persons_with_rowid (
  project_id integer not null,
  id blob not null,
  created_at integer not null,
  properties text not null,
  is_identified integer not null check (is_identified in (0, 1)),
  version integer not null,
  is_deleted integer not null default 0 check (is_deleted in (0, 1)),
  change integer not null,
  primary key (project_id, id)
) strict;

insert into persons_with_rowid
select project_id, id, created_at, properties, is_identified, version, is_deleted, change
from persons
order by change;

drop table persons;
alter table persons_with_rowid rename to persons;
create index persons_by_change on persons (project_id, change);

create table groups_with_rowid (
  project_id integer not null,
  group_type_index integer not null,
  group_key text not null,
  created_at integer not null,
  updated_at integer not null,
  properties text not null,
  change integer not null,
  primary key (project_id, group_type_index, group_key)
) strict;

insert into groups_with_rowid
select project_id, group_type_index, group_key, created_at, updated_at, properties, change
from groups
order by change;

drop table groups;
alter table groups_with_rowid rename to groups;
create index groups_by_change on groups (project_id, change);
