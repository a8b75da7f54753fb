/** PERSON_TABLES: the tables of persons, groups and cohorts that ClickHouse has copies of, and how a row travels. */

/** A line adds a copied table: its rows are sent by change number, and the newest is the truth there. */
type PersonTable = {
  /** The table in ClickHouse. */
  readonly table: string
  /** The table in events.db with its rows or their changes. */
  readonly source: string
  /** `line` of a row `r`: its fields as a JSON array. */
  readonly select: string
  /** The condition that a row `r` exists and is not the mark of a deletion. */
  readonly is_there?: string
  /** True where events.db deletes its oldest rows, which ClickHouse keeps. */
  readonly is_bounded_here?: true
  /** The names and types of these fields, for ClickHouse. */
  readonly fields: string
  /** The values of the columns there, from these fields; the fields themselves where missing. */
  readonly values?: string
}

const IS_MEMBER = `exists (
  select 1 from cohort_people as m
  where m.project_id = r.project_id and m.cohort_id = r.cohort_id and m.person_id = r.person_id
)`

/** Overrides come first: a person who is there without them would count events twice. */
export const PERSON_TABLES: readonly PersonTable[] = [
  {
    table: 'person_overrides',
    source: 'person_overrides',
    select: 'json_array(r.project_id, hex(r.old_person_id), hex(r.person_id), r.change, 0) as line',
    fields:
      'project_id UInt32, old_person_id UUID, person_id UUID, change UInt64, is_deleted UInt8',
  },
  {
    table: 'distinct_id_overrides',
    source: 'distinct_id_overrides',
    select: 'json_array(r.project_id, r.distinct_id, hex(r.person_id), r.change, 0) as line',
    fields:
      'project_id UInt32, distinct_id String, person_id UUID, change UInt64, is_deleted UInt8',
  },
  {
    table: 'persons',
    source: 'persons',
    is_there: 'r.is_deleted = 0',
    select:
      'json_array(r.project_id, hex(r.id), r.created_at, r.properties, r.is_identified, r.version, r.change, r.is_deleted) as line',
    fields:
      'project_id UInt32, id UUID, created_us Int64, properties String, is_identified UInt8, version Int64, change UInt64, is_deleted UInt8',
    values:
      "project_id, id, fromUnixTimestamp64Micro(created_us, 'UTC'), properties, is_identified = 1, version, change, is_deleted",
  },
  {
    table: 'person_distinct_ids',
    source: 'distinct_ids',
    is_there: 'length(r.person_id) > 0',
    select:
      "json_array(r.project_id, r.distinct_id, case when length(r.person_id) = 0 then '00000000000000000000000000000000' else hex(r.person_id) end, r.version, r.change, length(r.person_id) = 0) as line",
    fields:
      'project_id UInt32, distinct_id String, person_id UUID, version Int64, change UInt64, is_deleted UInt8',
  },
  {
    table: 'groups',
    source: 'groups',
    is_there: 'r.is_deleted = 0',
    select:
      'json_array(r.project_id, r.group_type_index, r.group_key, r.created_at, r.updated_at, r.properties, r.change, r.is_deleted) as line',
    fields:
      'project_id UInt32, index UInt8, key String, created_us Int64, updated_us Int64, properties String, change UInt64, is_deleted UInt8',
    values:
      "project_id, index, key, fromUnixTimestamp64Micro(created_us, 'UTC'), fromUnixTimestamp64Micro(updated_us, 'UTC'), properties, change, is_deleted",
  },
  {
    table: 'cohort_people',
    source: 'cohort_people_changes',
    is_there: IS_MEMBER,
    select: `json_array(r.project_id, r.cohort_id, hex(r.person_id), r.change, not ${IS_MEMBER}) as line`,
    fields: 'project_id UInt32, cohort_id Int64, person_id UUID, change UInt64, is_deleted UInt8',
  },
  {
    table: 'ingestion_warnings',
    source: 'ingestion_warnings',
    is_bounded_here: true,
    select: 'json_array(r.project_id, r.id, r.type, r.details, r.created_at, r.change, 0) as line',
    fields:
      'project_id UInt32, id UInt64, type String, details String, created_us Int64, change UInt64, is_deleted UInt8',
    values:
      "project_id, id, type, details, fromUnixTimestamp64Micro(created_us, 'UTC'), change, is_deleted",
  },
]

/** The INSERT of a table's lines. */
export function insertLines({ table, fields, values = '*' }: PersonTable): string {
  return `INSERT INTO \`${table}\` SELECT ${values} FROM input('${fields}') FORMAT JSONCompactEachRow`
}
