-- A picture of a dashboard is an export too.
alter table exports add column dashboard_id integer;
