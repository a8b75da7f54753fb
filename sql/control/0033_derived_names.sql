-- A name that clients show while an insight has none of its own.
alter table insights add column derived_name text;
