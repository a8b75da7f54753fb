-- cache.db: answers that may be given again, and the statuses of background questions. It may be thrown away.

create table answers (
  cache_key text not null primary key,
  project_id integer not null,
  -- What is said about the answer besides its results, as a JSON object.
  head text not null,
  byte_count integer not null,
  -- Milliseconds since 1970.
  last_refresh_ms integer not null,
  used_ms integer not null,
  -- JSON, spliced into answers as it is; last, so that the other columns are read without it.
  results blob not null
) strict;

create index answers_by_use on answers (used_ms);
create index answers_by_project on answers (project_id);

create table statuses (
  project_id integer not null,
  id text not null,
  -- The status as JSON, without its results.
  status text not null,
  state text not null,
  expiration_ms integer not null,
  byte_count integer not null default 0,
  -- The whole answer of a finished question, as JSON.
  results blob,
  primary key (project_id, id)
) strict;

create index statuses_by_expiration on statuses (expiration_ms);
