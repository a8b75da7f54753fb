-- How far a request in slices is applied. Apart from the request, whose text would be written again with each of its slices.
create table slice_progress (
  request_id integer primary key,
  project_id integer not null,
  -- What was accepted of it in all.
  accepted integer not null,
  -- How many events of its first slice are applied.
  applied integer not null
) strict;
