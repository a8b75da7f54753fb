-- Who counts as exposed to an experiment, and how it wants its figures judged; null for the usual.
alter table experiments add column exposure_criteria text check (json_valid(exposure_criteria));
alter table experiments add column stats_config text check (json_valid(stats_config));
