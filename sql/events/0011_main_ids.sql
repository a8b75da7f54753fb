-- Persons may have very many ids: the main one, and those that came with somebody, are found without reading all.
create index distinct_ids_main on distinct_ids (project_id, person_id) where is_main = 1;
create index distinct_ids_by_home on distinct_ids (project_id, home_id) where home_id is not null;
