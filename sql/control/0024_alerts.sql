-- Alerts on insights, and what their checks found.
create table alerts (
  id text primary key,
  project_id integer not null references projects (id) on delete cascade,
  insight_id integer not null references insights (id) on delete cascade,
  name text not null,
  condition_type text not null,
  threshold text not null,
  config text not null,
  calculation_interval text not null,
  webhook_url text,
  enabled integer not null check (enabled in (0, 1)),
  state text not null,
  -- The state that the last message told; a message that did not arrive is sent again.
  notified_state text not null,
  snoozed_until integer,
  next_check_at integer not null,
  last_checked_at integer,
  last_notified_at integer,
  created_by integer not null,
  created_at integer not null
) strict;

create index alerts_by_project on alerts (project_id);
create index alerts_by_insight on alerts (insight_id);
create index alerts_due on alerts (next_check_at) where enabled = 1;

create table alert_checks (
  id integer primary key autoincrement,
  alert_id text not null references alerts (id) on delete cascade,
  created_at integer not null,
  calculated_value real,
  state text not null,
  error text,
  is_notified integer not null check (is_notified in (0, 1))
) strict;

create index alert_checks_by_alert on alert_checks (alert_id, id);
