-- Persons, and their distinct ids, whose events are being deleted: while there are any, no question reads an event of theirs up
-- to this number of the log, or of an older log. Later events of the same ids are read. In place of removed_people.
CREATE TABLE removals ${ON_CLUSTER} (
  project_id UInt32,
  is_person UInt8,
  -- The person's uuid, or the distinct id.
  id String,
  log_id String,
  up_to_seq UInt64,
  change UInt64,
  is_deleted UInt8
) ENGINE = ${REPLACING}change, is_deleted) ORDER BY (project_id, is_person, id);
