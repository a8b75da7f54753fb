-- Dashboards that are posted to a webhook on a schedule.
create table subscriptions (
  id integer primary key autoincrement,
  project_id integer not null references projects (id) on delete cascade,
  dashboard_id integer not null references dashboards (id) on delete cascade,
  title text,
  target_value text not null,
  frequency text not null,
  interval integer not null,
  start_date integer not null,
  next_delivery_date integer not null,
  last_delivery_date integer,
  last_error text,
  deleted integer not null default 0 check (deleted in (0, 1)),
  created_by integer not null,
  created_at integer not null
) strict;

create index subscriptions_by_project on subscriptions (project_id);
create index subscriptions_by_dashboard on subscriptions (dashboard_id);
create index subscriptions_due on subscriptions (next_delivery_date) where deleted = 0;
