-- What this server is called among servers that share a ClickHouse, and what it has claimed there. A restored folder keeps
-- its name.
create table home (
  id integer primary key check (id = 1),
  home_id text not null,
  -- The log id under which this folder has claimed to be the living one of its copies.
  claimed_log_id text,
  -- Which of these servers it is, 0 for the first: its definitions and users get numbers from a block of its own, so that
  -- a project can move to any other.
  number integer,
  -- Numbers of projects to come that are claimed, up to this one; null for a server without a ClickHouse.
  project_ids_to integer
) strict;

insert into home (id, home_id) values (1, lower(hex(randomblob(12))));

-- Projects that were taken from another home, until they are claimed from it.
create table taken_projects (
  project_id integer primary key,
  from_home_id text not null
) strict;
