-- Requests with many events are applied in slices, a transaction for each, so that others need not wait for all of them.
-- All slices are written down first: a request is complete, and will be applied whatever happens, once `rest` is there.
create table sliced_requests (
  id integer primary key,
  project_id integer not null,
  -- What was accepted of it in slices that are gone.
  accepted integer not null,
  event_count integer not null,
  -- The request without its events, as JSON; empty while slices are still to come.
  rest text not null
) strict;

-- Slices that are not applied yet: each leaves in the transaction that applies it.
create table request_slices (
  id integer primary key,
  request_id integer not null,
  project_id integer not null,
  heads text not null,
  texts text not null
) strict;

create index request_slices_by_request on request_slices (request_id, id);
