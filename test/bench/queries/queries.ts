/** Typical queries in HogQL beside SQL written by hand for the same relations: how much time the compiler's SQL adds. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import type { CompileContext } from '../../../src/hogql/context.ts'
import type { BoundValue } from '../../../src/hogql/sql/parameters.ts'
import { updateEventMacros } from '../../../src/query/worker/columns/event-macros.ts'
import { NO_OVERRIDES } from '../../../src/query/worker/columns/person-overrides.ts'
import { openInstance } from '../../../src/storage/duckdb/duckdb.ts'
import { textLiteral } from '../../../src/storage/duckdb/duckdb-text.ts'
import { CREATE_STAGED, TAIL } from '../../../src/storage/files/replication-sources.ts'
import type { FileRow } from '../../../src/storage/log/event-log.ts'
import { DUCKDB_MACROS, DUCKDB_RELATIONS } from '../../../src/storage/sqlite/sql-files.ts'
import { type HandwrittenQuery, handwritten } from '../../query/handwritten-sql.ts'
import { IS_SMALL, SIZES } from '../sizes.ts'

const ROUNDS = IS_SMALL ? 1 : 5
const PERSONS = SIZES.query_persons

const CONTEXT: CompileContext = {
  project_id: 1,
  timezone: 'UTC',
  week_start_day: 0,
  hidden_tables: [],
  now_us: BigInt(Date.UTC(2026, 10, 1)) * 1000n,
  property_types: new Map([['event:price', 'Numeric']]),
}

type Query = { readonly name: string; readonly hogql: string; readonly sql: string }

const text = (name: string): string => `json_extract_string(properties, '/${name}')`
const PERSON = 'coalesce(o.person_id, e.person_id)'
const WITH_PERSON =
  'events_of(1) e left join person_overrides_of(1) o on o.old_person_id = e.person_id'

/** Each answers the same rows in both languages, in the same order. */
const QUERIES: readonly Query[] = [
  {
    name: 'events of the last week',
    hogql: 'select count() from events where timestamp >= now() - interval 7 day',
    sql: "select count(*) from events_of(1) where timestamp >= timestamp '2026-10-25'",
  },
  {
    name: 'most frequent events',
    hogql: 'select event, count() from events group by event order by 2 desc, 1 limit 10',
    sql: 'select event, count(*) from events_of(1) group by 1 order by 2 desc, 1 limit 10',
  },
  {
    name: 'page views per day',
    hogql:
      "select toStartOfDay(timestamp) as day, count() from events where event = '$pageview' group by day order by day",
    sql: "select date_trunc('day', timestamp), count(*) from events_of(1) where event = '$pageview' group by 1 order by 1 limit 101",
  },
  {
    name: 'people per week',
    hogql:
      'select toStartOfWeek(timestamp, 1) as week, uniq(person_id) from events group by week order by week',
    sql: `select date_trunc('week', timestamp)::date, count(distinct ${PERSON}) from ${WITH_PERSON} group by 1 order by 1 limit 101`,
  },
  {
    name: 'people per day',
    hogql:
      'select toDate(timestamp) as day, count(distinct person_id) from events where timestamp >= now() - interval 14 day group by day order by day',
    sql: `select timestamp::date, count(distinct ${PERSON}) from ${WITH_PERSON} where timestamp >= timestamp '2026-10-18' group by 1 order by 1 limit 101`,
  },
  {
    name: 'by browser',
    hogql: 'select properties.$browser as b, count() from events group by b order by 2 desc, 1',
    sql: `select ${text('$browser')}, count(*) from events_of(1) group by 1 order by 2 desc, 1 limit 101`,
  },
  {
    name: 'revenue by plan',
    hogql:
      "select properties.plan as plan, round(sum(properties.price)), avg(properties.price) > 99 from events where event = 'order placed' group by plan order by plan",
    sql: `select ${text('plan')}, round_even(sum(try_cast(${text('price')} as double)), 0), (avg(try_cast(${text('price')} as double)) > 99)::utinyint
from events_of(1) where event = 'order placed' group by 1 order by 1 limit 101`,
  },
  {
    name: 'pages that hold a text',
    hogql:
      "select count() from events where properties.$current_url ilike '%/CHECKOUT%' and event != 'signed up'",
    sql: `select count(*) from events_of(1) where ${text('$current_url')} ilike '%/CHECKOUT%' and event <> 'signed up'`,
  },
  {
    name: 'conditional counts',
    hogql:
      "select toStartOfMonth(timestamp) as m, countIf(event = '$pageview'), countIf(properties.$os = 'Linux') from events group by m order by m",
    sql: `select date_trunc('month', timestamp)::date, count(*) filter (where event = '$pageview'), count(*) filter (where ${text('$os')} = 'Linux')
from events_of(1) group by 1 order by 1 limit 101`,
  },
  {
    name: 'by a property of the person',
    hogql:
      "select person.properties.country as country, count() from events where event = 'order placed' group by country order by country",
    sql: `select json_extract_string(p.properties, '/country'), count(*)
from ${WITH_PERSON} left join persons_of(1) p on p.id = ${PERSON} where event = 'order placed' group by 1 order by 1 limit 101`,
  },
  {
    name: 'two steps within a week',
    hogql: `select count() from (select person_id, minIf(timestamp, event = '$pageview') as a, maxIf(timestamp, event = 'order placed') as b
from events group by person_id) where a > toDateTime(0) and b > a and dateDiff('day', a, b) < 7`,
    sql: `select count(*) from (select min(timestamp) filter (where event = '$pageview') a, max(timestamp) filter (where event = 'order placed') b
from ${WITH_PERSON} group by ${PERSON}) where b > a and date_diff('day', a, b) < 7`,
  },
  {
    name: 'the latest events',
    hogql:
      "select uuid, event, timestamp, properties.$browser from events where event = 'signed up' order by timestamp desc, uuid limit 50",
    sql: `select uuid, event, timestamp, ${text('$browser')} from events_of(1) where event = 'signed up' order by timestamp desc, uuid limit 50`,
  },
  {
    name: 'sessions',
    hogql:
      'select count(), round(avg($session_duration)), sum($pageview_count) from sessions where $start_timestamp >= now() - interval 7 day',
    sql: `select count(*), round_even(avg(date_diff('second', a, b)), 0), sum(n) from (select min(timestamp) a, max(timestamp) b, count(*) filter (where event = '$pageview') n
from events_of(1) where ${text('$session_id')} <> '' and timestamp >= timestamp '2026-10-22' group by ${text('$session_id')}) where a >= timestamp '2026-10-25'`,
  },
  {
    name: 'each person and what came before',
    hogql:
      "select gap, count() from (select dateDiff('day', lag(timestamp) over (partition by distinct_id order by timestamp), timestamp) as gap from events where event = 'order placed') where gap is not null group by gap order by gap",
    sql: `select gap, count(*) from (select date_diff('day', lag(timestamp) over (partition by distinct_id order by timestamp), timestamp) gap
from events_of(1) where event = 'order placed') where gap is not null group by 1 order by 1 limit 101`,
  },
]

export type QueryTimes = {
  readonly name: string
  readonly ours_ms: number
  readonly bare_ms: number
}

/** Asks every query both ways, in turns, and tells the medians. Throws when the answers differ. */
export async function queryRatios(events: number): Promise<readonly QueryTimes[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-queries-'))
  const instance = await openInstance({ memory_mb: 2048, threads: 2, spill_dir: folder })
  try {
    const connection = await instance.connect()
    const path = join(folder, 'events.parquet')
    await fill(connection, path, events)
    const times: QueryTimes[] = []
    for (const query of QUERIES) times.push(await timeQuery(connection, path, query))
    return times
  } finally {
    instance.closeSync()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function timeQuery(
  connection: DuckDBConnection,
  path: string,
  { name, hogql, sql: by_hand }: Query,
): Promise<QueryTimes> {
  const compiled = compileHogQL(hogql, CONTEXT)
  const ours_sql = await createMacros(connection, path, compiled)
  const sql = await createMacros(connection, path, handwritten(by_hand))
  const ours_ms: number[] = []
  const bare_ms: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const ours = await timed(connection, ours_sql, compiled.values)
    const bare = await timed(connection, sql, [])
    if (ours.rows !== bare.rows) throw new Error(`${name}: ${ours.rows} is not ${bare.rows}`)
    ours_ms.push(ours.ms)
    bare_ms.push(bare.ms)
  }
  return { name, ours_ms: median(ours_ms), bare_ms: median(bare_ms) }
}

/** Creates the macros that the statement reads events from, as the query worker does, and returns its SQL. */
async function createMacros(
  connection: DuckDBConnection,
  path: string,
  { sql, reads }: HandwrittenQuery,
): Promise<string> {
  const nothing = { version: 0, files: [], has_tail: true, persons: NO_OVERRIDES, macros: [] }
  const all = {
    version: 1,
    files: [FILE],
    has_tail: true,
    persons: NO_OVERRIDES,
    macros: reads.events,
  }
  await connection.run(updateEventMacros(nothing, all, () => path))
  return sql
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

async function timed(
  connection: DuckDBConnection,
  sql: string,
  values: readonly BoundValue[],
): Promise<{ readonly ms: number; readonly rows: string }> {
  const started_at = performance.now()
  const prepared = await connection.prepare(sql)
  prepared.bind(values.map(engineValue))
  const reader = await prepared.runAndReadAll()
  const ms = performance.now() - started_at
  return { ms, rows: JSON.stringify(reader.getRowsJson()) }
}

function engineValue({ type, value }: BoundValue): DuckDBValue {
  if (type === 'TIMESTAMP' && typeof value === 'bigint') return new DuckDBTimestampValue(value)
  return type === 'DATE' ? new DuckDBDateValue(Number(value)) : value
}

/** The one file there is, as the manifest names files. */
const FILE: FileRow = {
  id: 'events',
  project_id: 1,
  month: '2026-10',
  first_seq: 0,
  last_seq: 0,
  row_count: 0,
  byte_count: 0,
  sha256: '',
  min_timestamp: 0,
  // No day of a query is outside of the file.
  max_timestamp: Number.MAX_SAFE_INTEGER,
  created_at: 0,
  columns: '',
  layout: 'whole',
  own: '',
}

/** An instance as the query process has it: events in a Parquet file, people in tables. */
async function fill(connection: DuckDBConnection, path: string, events: number): Promise<void> {
  const statements = [
    'create macro project_id() as 1::bigint',
    DUCKDB_MACROS,
    DUCKDB_RELATIONS,
    CREATE_STAGED,
    TAIL.create,
    `insert into persons by name select person_of(i) as id, timestamp '2026-01-01' + to_hours(i % 5000) as created_at,
      json_object('country', ['DE', 'FR', 'US', 'JP', 'BR'][i % 5 + 1], 'email', 'user' || i || '@x.org') as properties,
      true as is_identified, 0 as version, false as is_gone, 0 as change
      from range(${PERSONS}) r(i)`,
    `insert into person_overrides select person_of(i), person_of(i - 1) from range(1, ${PERSONS}, 100) r(i)`,
    `copy (${someEvents(events)}) to ${textLiteral(path)} (format parquet, compression zstd, row_group_size 122880)`,
  ]
  await connection.run(
    "create macro person_of(i) as ('00000000-0000-4000-8000-' || lpad(hex(i), 12, '0'))::uuid",
  )
  for (const statement of statements) await connection.run(statement)
}

/** Ninety days up to now, each event a hash of its number. */
function someEvents(count: number): string {
  const pick = (words: readonly string[], salt: number): string =>
    `[${words.map((word) => `'${word}'`).join(', ')}][(hash(i + ${salt}) % ${words.length})::bigint + 1]`
  return `
select i as seq, ('10000000-0000-4000-8000-' || lpad(hex(i), 12, '0'))::uuid as uuid,
  ${pick(['$pageview', '$pageview', '$autocapture', 'order placed', 'signed up'], 1)} as event,
  'user-' || (hash(i) % ${PERSONS}) as distinct_id, person_of((hash(i) % ${PERSONS})::bigint) as person_id, 'full' as person_mode,
  timestamp '2026-08-03' + to_microseconds(i * ${Math.floor((90 * 86_400_000_000) / count)}) as timestamp, timestamp as created_at,
  json_object('$browser', ${pick(['Chrome', 'Safari', 'Firefox', 'Edge'], 2)}, '$os', ${pick(['Mac OS X', 'Windows', 'Linux', 'iOS', 'Android'], 3)},
    '$current_url', 'https://shop.example' || ${pick(['/', '/pricing', '/docs', '/checkout', '/account'], 4)} || '?ref=' || hash(i + 5) % 1000,
    '$session_id', 'session-' || (i // 20), 'plan', ${pick(['free', 'basic', 'pro', 'enterprise'], 6)},
    'price', (hash(i + 7) % 20000) / 100.0, 'quantity', hash(i + 8) % 5, '$lib', 'web', '$lib_version', '1.261.8',
    '$screen_width', 1280, '$screen_height', 720, '$insert_id', hex(hash(i + 9)), 'campaign', ${pick(['spring', 'summer', 'autumn'], 10)})::varchar as properties,
  '' as elements_chain, null::varchar as group_0, null::varchar as group_1, null::varchar as group_2, null::varchar as group_3, null::varchar as group_4
from range(${count}) r(i)`
}

if (import.meta.main) {
  const count = Number(process.argv[2] ?? 1_000_000)
  for (const { name, ours_ms, bare_ms } of await queryRatios(count)) {
    const ratio = (bare_ms / ours_ms).toFixed(2)
    process.stdout.write(
      `${name}: ${ours_ms.toFixed(1)} ms, by hand ${bare_ms.toFixed(1)} ms = ${ratio} ×\n`,
    )
  }
}
