-- Home: up to where the entries of each edge are stored. An edge begins an epoch at every start, so an edge that was
-- restored from a backup gives no number twice.
create table edge_positions (
  user_id integer not null,
  edge text not null,
  epoch text not null,
  -- Entries up to this number are stored,
  seq integer not null,
  -- and so many events of the next one.
  events_done integer not null,
  stored_at integer not null,
  primary key (user_id, edge, epoch)
) strict, without rowid;

-- Home: what each edge reported last, as JSON.
create table edge_reports (
  user_id integer not null,
  edge text not null,
  report text not null check (json_valid(report)),
  seen_at integer not null,
  primary key (user_id, edge)
) strict, without rowid;

-- Edge: entries that the home has not confirmed. `entry` is as it is sent: a line of JSON and a line of properties.
create table edge_entries (
  seq integer primary key autoincrement,
  epoch text not null,
  received_at integer not null,
  event_count integer not null,
  entry text not null
) strict;

-- Edge: its name for the home, made at the first start.
create table edge_identity (
  id integer primary key check (id = 1),
  edge text not null
) strict;

-- Edge: which ids of persons the home has been asked about, and when.
create table edge_persons (
  project_id integer not null,
  distinct_id text not null,
  fetched_at integer not null,
  primary key (project_id, distinct_id)
) strict, without rowid;

create index edge_persons_by_time on edge_persons (fetched_at);
