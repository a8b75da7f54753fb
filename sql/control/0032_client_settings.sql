-- Settings that clients (PostHog's Terraform provider among them) send and expect to read back.
alter table projects add column cookieless_server_hash_mode integer;
alter table dashboard_tiles add column show_description integer check (show_description in (0, 1));
alter table alerts add column skip_weekend integer not null default 0 check (skip_weekend in (0, 1));
alter table surveys add column response_sampling_start_date integer;
alter table surveys add column response_sampling_interval_type text;
alter table surveys add column response_sampling_interval integer;
alter table surveys add column response_sampling_limit integer;
alter table surveys add column response_sampling_daily_limits text;
