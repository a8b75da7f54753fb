-- What SQLite's planner is to believe about tables of persons. Without it, the planner takes a table's primary key for as
-- good as the index by person, and reads all ids of a project to find those of one person: 100 ms with 300,000 ids.
-- Rows of an index, then rows with the same first column, the same first two, and so on; a table's own name is its key.
analyze distinct_ids;
delete from sqlite_stat1;
insert into sqlite_stat1 (tbl, idx, stat) values
  ('distinct_ids', 'distinct_ids', '1000000 500000 1'),
  ('distinct_ids', 'distinct_ids_by_person', '1000000 500000 2'),
  ('distinct_ids', 'distinct_ids_by_change', '1000000 500000 1'),
  ('distinct_ids', 'distinct_ids_main', '10000 5000 1'),
  ('distinct_ids', 'distinct_ids_by_home', '100000 50000 2'),
  ('person_overrides', 'person_overrides', '100000 50000 1'),
  ('person_overrides', 'person_overrides_by_person', '100000 50000 2'),
  ('person_overrides', 'person_overrides_by_change', '100000 50000 1'),
  ('distinct_id_overrides', 'distinct_id_overrides', '100000 50000 1'),
  ('distinct_id_overrides', 'distinct_id_overrides_by_person', '100000 50000 2'),
  ('distinct_id_overrides', 'distinct_id_overrides_by_change', '100000 50000 1');
-- Makes this connection read them too; others read them when they open.
analyze sqlite_schema;
