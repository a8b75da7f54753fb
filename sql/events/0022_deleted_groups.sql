-- A deleted group leaves a tombstone, so that copies learn of it. The next event about the group creates it again.
alter table groups add column is_deleted integer not null default 0 check (is_deleted in (0, 1));
