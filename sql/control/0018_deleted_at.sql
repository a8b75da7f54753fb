-- When a thing was deleted: some days later it is gone for good. What is deleted already counts as deleted now.
alter table feature_flags add column deleted_at integer;
alter table cohorts add column deleted_at integer;
alter table experiments add column deleted_at integer;
alter table actions add column deleted_at integer;
alter table insights add column deleted_at integer;
alter table dashboards add column deleted_at integer;
alter table annotations add column deleted_at integer;

update feature_flags set deleted_at = unixepoch() * 1000000 where deleted = 1;
update cohorts set deleted_at = unixepoch() * 1000000 where deleted = 1;
update experiments set deleted_at = unixepoch() * 1000000 where deleted = 1;
update actions set deleted_at = unixepoch() * 1000000 where deleted = 1;
update insights set deleted_at = unixepoch() * 1000000 where deleted = 1;
update dashboards set deleted_at = unixepoch() * 1000000 where deleted = 1;
update annotations set deleted_at = unixepoch() * 1000000 where deleted = 1;

create trigger feature_flag_deleted after update of deleted on feature_flags when new.deleted <> old.deleted begin
  update feature_flags set deleted_at = iif(new.deleted, unixepoch() * 1000000, null) where id = new.id;
end;

create trigger cohort_deleted after update of deleted on cohorts when new.deleted <> old.deleted begin
  update cohorts set deleted_at = iif(new.deleted, unixepoch() * 1000000, null) where id = new.id;
end;

create trigger experiment_deleted after update of deleted on experiments when new.deleted <> old.deleted begin
  update experiments set deleted_at = iif(new.deleted, unixepoch() * 1000000, null) where id = new.id;
end;

create trigger action_deleted after update of deleted on actions when new.deleted <> old.deleted begin
  update actions set deleted_at = iif(new.deleted, unixepoch() * 1000000, null) where id = new.id;
end;

create trigger insight_deleted after update of deleted on insights when new.deleted <> old.deleted begin
  update insights set deleted_at = iif(new.deleted, unixepoch() * 1000000, null) where id = new.id;
end;

create trigger dashboard_deleted after update of deleted on dashboards when new.deleted <> old.deleted begin
  update dashboards set deleted_at = iif(new.deleted, unixepoch() * 1000000, null) where id = new.id;
end;

create trigger annotation_deleted after update of deleted on annotations when new.deleted <> old.deleted begin
  update annotations set deleted_at = iif(new.deleted, unixepoch() * 1000000, null) where id = new.id;
end;

create index feature_flags_deleted on feature_flags (deleted_at) where deleted_at is not null;
create index cohorts_deleted on cohorts (deleted_at) where deleted_at is not null;
create index experiments_deleted on experiments (deleted_at) where deleted_at is not null;
create index actions_deleted on actions (deleted_at) where deleted_at is not null;
create index insights_deleted on insights (deleted_at) where deleted_at is not null;
create index dashboards_deleted on dashboards (deleted_at) where deleted_at is not null;
create index annotations_deleted on annotations (deleted_at) where deleted_at is not null;

-- The log is trimmed from its oldest end, organization by organization.
create index activity_log_by_organization on activity_log (organization_id, id);
create index activity_log_by_time on activity_log (created_at);
