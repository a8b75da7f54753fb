-- An answer is kept with the end of its time range; those without one are computed again.
drop table answers;

create table answers (
  cache_key text not null primary key,
  project_id integer not null,
  -- What is said about the answer besides its results, as a JSON object.
  head text not null,
  byte_count integer not null,
  -- Milliseconds since 1970.
  last_refresh_ms integer not null,
  -- The end of the time range as it was then, milliseconds since 1970; null for a query without one.
  ends_at_ms integer,
  used_ms integer not null,
  -- JSON, spliced into answers as it is; last, so that the other columns are read without it.
  results blob not null
) strict;

create index answers_by_use on answers (used_ms);
create index answers_by_project on answers (project_id);
