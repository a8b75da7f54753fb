-- Events, sharded by person. One row per event of the log, carried here exactly once: (log_id, seq) is its place there.
-- A project's events of one day and name lie together, those of a person next to each other.
CREATE TABLE ${EVENTS} ${ON_CLUSTER} (
  project_id UInt32,
  -- The log that the event was committed to; a restored server begins a new one, for its numbers start again.
  log_id LowCardinality(String),
  seq UInt64 CODEC(Delta, ZSTD(1)),
  uuid UUID,
  event LowCardinality(String),
  distinct_id String,
  person_id UUID,
  person_mode LowCardinality(String),
  timestamp DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  created_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  elements_chain String CODEC(ZSTD(3)),
  group_0 LowCardinality(Nullable(String)),
  group_1 LowCardinality(Nullable(String)),
  group_2 LowCardinality(Nullable(String)),
  group_3 LowCardinality(Nullable(String)),
  group_4 LowCardinality(Nullable(String)),
  -- What SDKs send by themselves, as text: reading one takes 24 ns per row, out of `rest` 77, out of `properties` 1,290.
  ${HOT_COLUMNS},
  -- All other properties that are not null: flat, every value a text (lists and objects as JSON), names percent-encoded.
  -- Texts cannot fail: the JSON type refuses a whole insert for numbers beyond its own.
  rest JSON(max_dynamic_paths = 256),
  -- The exact text; read only where it is shown whole.
  properties String CODEC(ZSTD(3)),
  INDEX by_uuid uuid TYPE bloom_filter(0.01) GRANULARITY 4,
  INDEX by_distinct_id distinct_id TYPE bloom_filter(0.01) GRANULARITY 4
) ENGINE = ${EVENTS_ENGINE}
PARTITION BY toYYYYMM(timestamp)
ORDER BY (project_id, toDate(timestamp), event, cityHash64(person_id), timestamp)
SETTINGS default_compression_codec = 'ZSTD(1)', ${DEDUPLICATION_WINDOW};
