-- An archived flag is off and left out of lists; its history stays.
alter table feature_flags add column archived integer not null default 0;

-- What is handed to pages with a feature that people may switch on.
alter table early_access_features add column payload text check (json_valid(payload));

-- Changes of flags that happen at a time of their own.
create table scheduled_changes (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  flag_id integer not null references feature_flags (id) on delete cascade,
  -- A JSON object: `operation` and `value`.
  payload text not null check (json_valid(payload)),
  -- When it happens next; of one that has happened, when it did.
  scheduled_at integer not null,
  -- Set once it will not happen again.
  executed_at integer,
  last_executed_at integer,
  failure_reason text,
  -- Tries that failed one after the other.
  failures integer not null default 0,
  is_recurring integer not null default 0,
  recurrence_interval text,
  cron_expression text,
  end_date integer,
  -- The zone in which it comes back at the same hour.
  timezone text not null default 'UTC',
  created_by integer references users (id) on delete set null,
  created_at integer not null,
  updated_at integer not null
) strict;

create index scheduled_changes_by_project on scheduled_changes (project_id, flag_id);
create index scheduled_changes_due on scheduled_changes (scheduled_at) where executed_at is null;
