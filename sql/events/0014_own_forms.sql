-- Which of their own columns (uuid, created_at) a file keeps in a shorter form, as a JSON list; empty for files from
-- before there were any.
alter table files add column own text not null default '';
