/** REPLICAS, TAIL, LOG: how events and replicated tables are copied from events.db into DuckDB. */
import type { CopySource } from './copy.ts'

/** Ingestion warnings stored per project; the oldest are deleted first. */
export const WARNINGS_KEPT_MAX = 10_000

/** A table that replicates its SQLite original by following the change numbers. */
export type Replica = CopySource & {
  /** The relation's name in compiled queries. */
  readonly relation: string
  readonly table: string
  /** Deletes older versions of the rows of `staged`, before `move`. */
  readonly leave?: string
  /** For tables with property columns: the rows of `staged`, which are inserted after `move`. */
  readonly rows?: string
  /** For relations with replica files: the table then has only the changes since the files. */
  readonly filed?: FiledReplica
}

/** A replica with files: its table has rows that are newer than the files. Deleted rows stay, with `is_gone`. */
export type FiledReplica = {
  /** The table in events.db with its rows or their changes; it has `project_id` and `change`. */
  readonly source: 'cohort_people_changes' | 'distinct_ids' | 'groups' | 'persons'
  /** The key of a row. */
  readonly key: readonly string[]
  /** The columns that queries read, in this order; the table also has `change` and `is_gone`. */
  readonly columns: readonly string[]
}

/**
 * Extends a replica by `columns`, which its table must have. With `is_fresh` the table has no older versions of the
 * rows: searching for them in a large table would take longer than the copy.
 */
export function withColumns(
  { rows, leave, ...replica }: Replica,
  columns: readonly { readonly name: string; readonly value: string }[],
  is_fresh = false,
): CopySource {
  const left = is_fresh || leave === undefined ? [] : [leave]
  const move = [...left, ...replica.move]
  if (rows === undefined) return { ...replica, move }
  const more = columns.map(({ name, value }) => `, ${value} as "${name}"`).join('')
  const insert = `insert into ${replica.table} by name select *${more} from (${rows})`
  return { ...replica, move: [...move, insert] }
}

/** An event's columns as one JSON array; EVENT_COLUMNS and PROJECT_ID read it back. */
const EVENT_FIELDS = `json_array(
  seq, hex(uuid), event, distinct_id, hex(person_id), person_mode, timestamp, created_at,
  elements_chain, group_0, group_1, group_2, group_3, group_4, project_id
)`

const PROJECT_ID = 'f[15]::bigint'
const MONTH = "strftime(make_timestamp(f[7]::bigint), '%Y-%m')"

/** The columns of an event in DuckDB, in the tail and in files. */
export const EVENT_COLUMNS: readonly (readonly [name: string, type: string, from: string])[] = [
  ['seq', 'bigint', 'f[1]::bigint'],
  ['uuid', 'uuid', 'f[2]::uuid'],
  ['event', 'varchar', 'f[3]'],
  ['distinct_id', 'varchar', 'f[4]'],
  ['person_id', 'uuid', 'f[5]::uuid'],
  ['person_mode', 'varchar', 'f[6]'],
  ['timestamp', 'timestamp', 'make_timestamp(f[7]::bigint)'],
  ['created_at', 'timestamp', 'make_timestamp(f[8]::bigint)'],
  ['properties', 'varchar', 'properties'],
  ['elements_chain', 'varchar', 'f[9]'],
  ['group_0', 'varchar', 'f[10]'],
  ['group_1', 'varchar', 'f[11]'],
  ['group_2', 'varchar', 'f[12]'],
  ['group_3', 'varchar', 'f[13]'],
  ['group_4', 'varchar', 'f[14]'],
]

/** The staging table between SQLite and DuckDB: a JSON array of fields, and JSON properties. */
export const CREATE_STAGED = 'create table staged (fields varchar, properties varchar)'

/** `staged` with its JSON array as a list; every `move` below selects from it. */
const STAGED = `(select from_json(fields, '["VARCHAR"]') as f, properties from staged)`

const EVENT_VALUES = EVENT_COLUMNS.map(([name, , from]) => `${from} as "${name}"`).join(', ')
const EVENT_TABLE = EVENT_COLUMNS.map(([name, type]) => `"${name}" ${type}`).join(', ')

/** The events of one project, into the table `tail`. */
export const TAIL: CopySource & { readonly create: string } = {
  create: `create table tail (${EVENT_TABLE})`,
  select: `
select seq as position, ${EVENT_FIELDS} as fields, properties
from events
where seq > $after and seq <= $up_to and project_id = $project_id
order by seq`,
  move: [`insert into tail select ${EVENT_VALUES} from ${STAGED}`],
  // The log has no index by project.
  positions_max: 4096,
}

/** The events of every project, into the table `log`, with project and month. */
export const LOG: CopySource & { readonly create: string } = {
  create: `create table log (${EVENT_TABLE}, project_id bigint, month varchar)`,
  select: `
select seq as position, ${EVENT_FIELDS} as fields, properties
from events
where seq > $after and seq <= $up_to
order by seq`,
  move: [`insert into log select ${EVENT_VALUES}, ${PROJECT_ID}, ${MONTH} from ${STAGED}`],
}

/** The replicated tables. A further one is a line here and in relations.sql. */
export const REPLICAS: readonly Replica[] = [
  {
    relation: 'person_overrides',
    table: 'person_overrides',
    select: `
select change as position, json_array(hex(old_person_id), hex(person_id)) as fields, '' as properties
from person_overrides
where project_id = $project_id and change > $after and change <= $up_to
order by change`,
    leave: `delete from person_overrides where old_person_id in (select f[1]::uuid from ${STAGED})`,
    move: [`insert into person_overrides select f[1]::uuid, f[2]::uuid from ${STAGED}`],
  },
  {
    relation: 'distinct_id_overrides',
    table: 'distinct_id_overrides',
    select: `
select change as position, json_array(distinct_id, hex(person_id)) as fields, '' as properties
from distinct_id_overrides
where project_id = $project_id and change > $after and change <= $up_to
order by change`,
    leave: `delete from distinct_id_overrides where distinct_id in (select f[1] from ${STAGED})`,
    move: [`insert into distinct_id_overrides select f[1], f[2]::uuid from ${STAGED}`],
  },
  {
    relation: 'persons',
    table: 'persons',
    select: `
select change as position, json_array(hex(id), created_at, is_identified, version, is_deleted, change) as fields, properties
from persons
where project_id = $project_id and change > $after and change <= $up_to
order by change`,
    leave: `delete from persons where id in (select f[1]::uuid from ${STAGED})`,
    move: [],
    rows: `
select
  f[1]::uuid as id, make_timestamp(f[2]::bigint) as created_at, properties,
  f[3] = '1' as is_identified, f[4]::bigint as version, f[5] = '1' as is_gone, f[6]::bigint as change
from ${STAGED}`,
    filed: {
      source: 'persons',
      key: ['id'],
      columns: ['id', 'created_at', 'properties', 'is_identified', 'version'],
    },
  },
  {
    relation: 'person_distinct_ids',
    table: 'person_distinct_ids',
    select: `
select change as position, json_array(distinct_id, hex(person_id), version, change) as fields, '' as properties
from distinct_ids
where project_id = $project_id and change > $after and change <= $up_to
order by change`,
    leave: `delete from person_distinct_ids where distinct_id in (select f[1] from ${STAGED})`,
    move: [
      `insert into person_distinct_ids
select f[1], nullif(f[2], '')::uuid, f[3]::bigint, f[2] = '', f[4]::bigint
from ${STAGED}`,
    ],
    filed: {
      source: 'distinct_ids',
      key: ['distinct_id'],
      columns: ['distinct_id', 'person_id', 'version'],
    },
  },
  {
    relation: 'groups',
    table: 'groups',
    select: `
select change as position, json_array(group_type_index, group_key, created_at, updated_at, is_deleted, change) as fields, properties
from groups
where project_id = $project_id and change > $after and change <= $up_to
order by change`,
    leave: `delete from groups
where (index, key) in (select (f[1]::bigint, f[2]) from ${STAGED})`,
    move: [],
    rows: `
select
  f[1]::bigint as index, f[2] as key, make_timestamp(f[3]::bigint) as created_at,
  make_timestamp(f[4]::bigint) as updated_at, properties, f[5] = '1' as is_gone, f[6]::bigint as change
from ${STAGED}`,
    filed: {
      source: 'groups',
      key: ['index', 'key'],
      columns: ['index', 'key', 'created_at', 'updated_at', 'properties'],
    },
  },
  {
    relation: 'cohort_people',
    table: 'cohort_people',
    select: `
select c.change as position, json_array(hex(c.person_id), c.cohort_id, p.person_id is null, c.change) as fields, '' as properties
from cohort_people_changes c
left join cohort_people p using (project_id, cohort_id, person_id)
where c.project_id = $project_id and c.change > $after and c.change <= $up_to
order by c.change`,
    leave: `delete from cohort_people
where (person_id, cohort_id) in (select (f[1]::uuid, f[2]::bigint) from ${STAGED})`,
    move: [
      `insert into cohort_people
select f[1]::uuid, f[2]::bigint, f[3] = '1', f[4]::bigint
from ${STAGED}`,
    ],
    filed: {
      source: 'cohort_people_changes',
      key: ['person_id', 'cohort_id'],
      columns: ['person_id', 'cohort_id'],
    },
  },
  {
    relation: 'ingestion_warnings',
    table: 'ingestion_warnings',
    select: `
select change as position, json_array(id, type, created_at) as fields, details as properties
from ingestion_warnings
where project_id = $project_id and change > $after and change <= $up_to
order by change`,
    move: [
      `insert into ingestion_warnings
select f[1]::bigint, f[2], properties, make_timestamp(f[3]::bigint)
from ${STAGED}`,
      // The log drops its oldest ones too.
      `delete from ingestion_warnings
where id <= (select id from ingestion_warnings order by id desc limit 1 offset ${WARNINGS_KEPT_MAX})`,
    ],
  },
]

/** The relations that may be stored in files. */
export const FILED_REPLICAS: readonly (Replica & { readonly filed: FiledReplica })[] =
  REPLICAS.flatMap((replica) =>
    replica.filed === undefined ? [] : [{ ...replica, filed: replica.filed }],
  )
