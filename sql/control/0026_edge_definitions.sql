-- Edge: what of its home's definitions this database has; they replace the rows of the same tables here.
create table edge_definitions (
  id integer primary key check (id = 1),
  etag text not null,
  -- When the home was last found to have the same, ms since 1970 UTC.
  checked_at integer not null
) strict;
