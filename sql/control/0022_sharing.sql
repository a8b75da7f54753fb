-- Public links to dashboards. A row stays when its link ends, so that the same link can be opened again.
create table shared_dashboards (
  dashboard_id integer primary key references dashboards (id) on delete cascade,
  access_token text not null unique,
  enabled integer not null check (enabled in (0, 1)),
  created_by integer not null,
  created_at integer not null
) strict;
