-- Edge: its current start, and the sums over `edge_entries`, kept because counting a backlog of gigabytes takes seconds.
create table edge_state (
  id integer primary key check (id = 1),
  epoch text not null,
  entries integer not null,
  events integer not null,
  bytes integer not null
) strict;

insert into edge_state (id, epoch, entries, events, bytes) values (1, '', 0, 0, 0);
