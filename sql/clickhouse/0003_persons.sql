-- Copies of persons, their ids and groups, whole on every node, so that joins stay local. `change` numbers the writes of
-- their home: the row with the highest one is the truth, and sending it twice changes nothing.

CREATE TABLE persons ${ON_CLUSTER} (
  project_id UInt32,
  id UUID,
  created_at DateTime64(6, 'UTC'),
  properties String CODEC(ZSTD(3)),
  is_identified Bool,
  version Int64,
  change UInt64,
  is_deleted UInt8
) ENGINE = ${REPLACING}change, is_deleted) ORDER BY (project_id, id);

CREATE TABLE person_distinct_ids ${ON_CLUSTER} (
  project_id UInt32,
  distinct_id String,
  person_id UUID,
  version Int64,
  change UInt64,
  is_deleted UInt8
) ENGINE = ${REPLACING}change, is_deleted) ORDER BY (project_id, distinct_id);

-- Events keep the person of their time; an override says who that person is today.
CREATE TABLE person_overrides ${ON_CLUSTER} (
  project_id UInt32,
  old_person_id UUID,
  person_id UUID,
  change UInt64,
  is_deleted UInt8
) ENGINE = ${REPLACING}change, is_deleted) ORDER BY (project_id, old_person_id);

-- Ids that were stored without a person and have one today.
CREATE TABLE distinct_id_overrides ${ON_CLUSTER} (
  project_id UInt32,
  distinct_id String,
  person_id UUID,
  change UInt64,
  is_deleted UInt8
) ENGINE = ${REPLACING}change, is_deleted) ORDER BY (project_id, distinct_id);

CREATE TABLE groups ${ON_CLUSTER} (
  project_id UInt32,
  `index` UInt8,
  key String,
  created_at DateTime64(6, 'UTC'),
  updated_at DateTime64(6, 'UTC'),
  properties String CODEC(ZSTD(3)),
  change UInt64,
  is_deleted UInt8
) ENGINE = ${REPLACING}change, is_deleted) ORDER BY (project_id, `index`, key);

CREATE TABLE cohort_people ${ON_CLUSTER} (
  project_id UInt32,
  cohort_id Int64,
  person_id UUID,
  change UInt64,
  is_deleted UInt8
) ENGINE = ${REPLACING}change, is_deleted) ORDER BY (project_id, cohort_id, person_id);

-- Persons whose events are being deleted: while there are any, no question reads an event of theirs.
CREATE TABLE removed_people ${ON_CLUSTER} (
  project_id UInt32,
  person_id UUID,
  change UInt64,
  is_deleted UInt8
) ENGINE = ${REPLACING}change, is_deleted) ORDER BY (project_id, person_id);

CREATE TABLE ingestion_warnings ${ON_CLUSTER} (
  project_id UInt32,
  id UInt64,
  type LowCardinality(String),
  details String CODEC(ZSTD(3)),
  timestamp DateTime64(6, 'UTC'),
  change UInt64,
  is_deleted UInt8
) ENGINE = ${REPLACING}change, is_deleted) ORDER BY (project_id, id);
