-- People log in: passwords, sessions of browsers, and links that let somebody in once.

-- The address is here once more because it has to be unique among those who log in with it; elsewhere it is not.
create table passwords (
  user_id integer primary key references users (id) on delete cascade,
  email text not null unique,
  hash text not null,
  changed_at integer not null
) strict;

create table sessions (
  id text primary key,
  user_id integer not null references users (id) on delete cascade,
  token_hash text not null unique,
  user_agent text not null,
  ip text not null,
  created_at integer not null,
  seen_at integer not null,
  expires_at integer not null
) strict;

create index sessions_by_user on sessions (user_id, created_at);
create index sessions_by_end on sessions (expires_at);

-- Whoever has the link may set the user's password, once; only its hash is kept.
create table login_links (
  token_hash text primary key,
  user_id integer not null references users (id) on delete cascade,
  created_at integer not null,
  expires_at integer not null
) strict, without rowid;

create index login_links_by_user on login_links (user_id);
