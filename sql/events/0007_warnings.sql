-- Questions copy the warnings too, and follow them by their change number; those kept before count as the first.
alter table ingestion_warnings add column change integer not null default 1;

create index ingestion_warnings_by_change on ingestion_warnings (project_id, change);
