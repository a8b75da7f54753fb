-- Who looked at which saved insight, and when last.
create table insight_views (
  insight_id integer not null references insights (id) on delete cascade,
  user_id integer not null references users (id) on delete cascade,
  last_viewed_at integer not null,
  primary key (insight_id, user_id)
) strict, without rowid;

create index insight_views_by_user on insight_views (user_id, last_viewed_at);
