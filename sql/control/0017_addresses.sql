-- Addresses are not verified: one that anybody could claim must not keep others from using theirs. `email` was unique and
-- stays empty; a column with that constraint cannot be dropped.

alter table users add column address text;
update users set address = email, email = null;
create index users_by_address on users (address);
