-- For how many months a project keeps its events, where that is not the server's setting; 0 for ever.
create table project_retention (
  project_id integer primary key,
  months integer not null check (months >= 0)
) strict;
