/** Typical queries over the data set beside statements written by hand over Parquet that was made for them. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { compileText } from '../../../src/hogql/compile-cache.ts'
import type { CompileContext } from '../../../src/hogql/context.ts'
import { QueryEngine } from '../../../src/query/engine/engine.ts'
import type { WorkerQuery } from '../../../src/query/engine/protocol.ts'
import { parseText } from '../../../src/query/kinds/parse-cache.ts'
import { openInstance } from '../../../src/storage/duckdb/duckdb.ts'
import { textLiteral } from '../../../src/storage/duckdb/duckdb-text.ts'
import { DefinitionReader } from '../../../src/storage/files/definition-reader.ts'
import { EventLog } from '../../../src/storage/log/event-log.ts'
import { DATASET_END_US, ensureDataset } from '../dataset/dataset.ts'
import { EVENTS_PER_BLOCK, type Extent, selectEvents } from '../dataset/events.ts'
import { IS_SMALL } from '../sizes.ts'
import { HAND_COLUMNS, LINES } from './hand-lines.ts'

/**
 * The time of both, in milliseconds: medians of rounds taken in turns. From run to run beside other work their ratio varies
 * least, that of the least times most.
 */
export type HandTimes = {
  readonly name: string
  readonly ours_ms: number
  readonly bare_ms: number
}

/** Rounds of one query: for this long, so that a short one has many, and within these numbers. */
const ROUNDS_MS = IS_SMALL ? 0 : 800
const ROUNDS_MIN = IS_SMALL ? 1 : 7
const ROUNDS_MAX = 400
/** Both are asked this often before any query is timed: a server at work runs compiled code, in half the time. */
const WARM_UP_ROUNDS = IS_SMALL ? 1 : 1000
const AMPLE_MS = 600_000
/** Events that become one file. */
const SLICE = EVENTS_PER_BLOCK * 15_000
const NO_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Asks every query both ways on a number of events. Throws when the answers differ. */
export async function handTimes(
  data_dir: string,
  events: number,
  wanted = '',
): Promise<readonly HandTimes[]> {
  const { extent } = await ensureDataset(data_dir, events)
  // A folder that an earlier version made is brought up to date, as a server would.
  const log = new EventLog(data_dir)
  const hand_dir = `${data_dir}-by-hand`
  const { connection, close } = await openByHand(hand_dir)
  if (!existsSync(join(hand_dir, 'done'))) await makeFiles(connection, log, { hand_dir, extent })
  log.close()
  await connection.run(
    `create view events as select * from read_parquet(${textLiteral(join(hand_dir, '*.parquet'))})`,
  )
  const engine = openEngine(data_dir)
  const context = contextOf(data_dir, DATASET_END_US)
  const queries = LINES.map(({ name, hogql, sql }) => ({
    name,
    sql,
    ask: () => askEngine(hogql, engine, context),
  }))
  await warmUp(queries, connection)
  const times: HandTimes[] = []
  for (const query of queries.filter(({ name }) => name.includes(wanted))) {
    times.push(await timesOf(query, connection))
  }
  await engine.close()
  close()
  return times
}

/** DuckDB as whoever writes SQL over Parquet opens it. */
export async function openByHand(
  hand_dir: string,
): Promise<{ readonly connection: DuckDBConnection; readonly close: () => void }> {
  mkdirSync(hand_dir, { recursive: true })
  const spill_dir = join(hand_dir, 'spill')
  const instance = await openInstance({ memory_mb: 2048, threads: 2, spill_dir })
  const connection = await instance.connect()
  await connection.run('set parquet_metadata_cache = true')
  const close = (): void => {
    connection.closeSync()
    instance.closeSync()
  }
  return { connection, close }
}

/** The query engine as a server has it, over a folder. */
export function openEngine(data_dir: string): QueryEngine {
  const settings = {
    memory_mb: 2048,
    spill_mb: 20_000,
    threads: 2,
    result_bytes_max: 64_000_000,
    running_max: 1,
    waiting_max: 4,
  }
  return new QueryEngine({ data_dir, settings, log: NO_LOG })
}

/** The context of texts that are asked at `now_us` about project 1 of a folder. */
export function contextOf(data_dir: string, now_us: number): CompileContext {
  const definitions = new DefinitionReader(data_dir)
  return {
    project_id: 1,
    timezone: 'UTC',
    week_start_day: 0,
    hidden_tables: [],
    now_us: BigInt(now_us),
    property_types: definitions.propertyTypes(1),
    has_property_columns: true,
  }
}

type Making = { readonly hand_dir: string; readonly extent: Extent }

/** Typed columns under plain names, in the order of time, merged persons already put together. */
async function makeFiles(
  connection: DuckDBConnection,
  log: EventLog,
  { hand_dir, extent }: Making,
): Promise<void> {
  for (const file of readdirSync(hand_dir).filter((name) => name.endsWith('.parquet'))) {
    rmSync(join(hand_dir, file))
  }
  const merged = log.db
    .query<{ old_id: string; id: string }, []>(
      'select lower(hex(old_person_id)) as old_id, lower(hex(person_id)) as id from person_overrides',
    )
    .all()
  const rows = textLiteral(JSON.stringify(merged.map(({ old_id, id }) => [old_id, id])))
  await connection.run(`create table merged as select r[1]::uuid as old_id, r[2]::uuid as id
from (select unnest(from_json(${rows}, '[["VARCHAR"]]')) as r)`)
  const columns = Object.entries(HAND_COLUMNS).map(([name, value]) => `${value} as ${name}`)
  for (let from = 0; from < extent.events; from += SLICE) {
    const to = Math.min(extent.events, from + SLICE)
    const file = join(hand_dir, `${String(from).padStart(10, '0')}.parquet`)
    await connection.run(`copy (
  select e.event, e.distinct_id, coalesce(m.id, e.person_id) as person_id, e.timestamp, ${columns.join(', ')}
  from (${selectEvents(extent, from, to)}) e left join merged m on m.old_id = e.person_id
  order by e.timestamp
) to ${textLiteral(file)} (format parquet, compression zstd, row_group_size 122880)`)
  }
  await connection.run(`copy (select 1) to ${textLiteral(join(hand_dir, 'done'))} (format csv)`)
}

/** A query as we answer it, as JSON, and the statement for the same rows. */
export type HandQuery = {
  readonly name: string
  readonly ask: () => Promise<string>
  readonly sql: string
}

/** Asks the first query both ways until the code that all of them run is compiled. */
export async function warmUp(
  [first]: readonly HandQuery[],
  connection: DuckDBConnection,
): Promise<void> {
  if (first === undefined) return
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    await first.ask()
    await askByHand(first.sql, connection)
  }
}

/** Asks both in turns, each first in every second round. Throws when the answers differ. */
export async function timesOf(
  { name, ask, sql }: HandQuery,
  connection: DuckDBConnection,
): Promise<HandTimes> {
  const askBare = (): Promise<string> => askByHand(sql, connection)
  // Its files are read and its macro is made now.
  requireSame(name, await ask(), await askBare())
  const ours = { ask, times_ms: [] as number[] }
  const bare = { ask: askBare, times_ms: [] as number[] }
  const ends_ms = performance.now() + ROUNDS_MS
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if (round >= ROUNDS_MIN && performance.now() > ends_ms) break
    for (const side of round % 2 === 0 ? [ours, bare] : [bare, ours]) {
      const started_ms = performance.now()
      await side.ask()
      side.times_ms.push(performance.now() - started_ms)
    }
  }
  return { name, ours_ms: median(ours.times_ms), bare_ms: median(bare.times_ms) }
}

async function askByHand(sql: string, connection: DuckDBConnection): Promise<string> {
  return JSON.stringify((await connection.runAndReadAll(sql)).getRowsJson())
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Asks one HogQL query of the engine; answers its rows as JSON. */
export async function askEngine(
  hogql: string,
  engine: QueryEngine,
  context: CompileContext,
): Promise<string> {
  // As the server does: a text that was asked before is not compiled again.
  const compiled = compileText(hogql, context, parseText(hogql).tree)
  const sent: WorkerQuery = {
    project_id: 1,
    sql: compiled.sql,
    values: compiled.values.map(({ type, value }) => ({ type, text: String(value) })),
    types: [],
    reads: compiled.reads,
    timezone: 'UTC',
    rows_max: 50_000,
    more_is_too_many: true,
  }
  const { rows_json } = await engine.run(sent, { timeout_ms: AMPLE_MS })
  return Buffer.from(rows_json).toString()
}

/** Both spell numbers and times in their own way: what is compared are the digits and letters. */
function requireSame(name: string, ours: string, theirs: string): void {
  const plain = (text: string): string =>
    text
      .replace(/T(?=\d\d:)/g, ' ')
      .replace(/(?<=:\d\d)(\.\d+)?Z?"/g, '"')
      .replaceAll('"', '')
      // Our rows come one a line.
      .replace(/\s*\n\s*/g, '')
  if (plain(ours) !== plain(theirs))
    throw new Error(`${name}: ${ours.slice(0, 300)} is not ${theirs.slice(0, 300)}`)
}

if (import.meta.main) {
  const events = Number(process.argv[2] ?? 1_000_000)
  const data_dir = process.argv[3] ?? join(tmpdir(), `tidemark-${events}`)
  for (const { name, ours_ms, bare_ms } of await handTimes(data_dir, events, process.argv[4])) {
    const ratio = (ours_ms / bare_ms).toFixed(2)
    process.stdout.write(
      `${name}: ${ours_ms.toFixed(1)} ms, by hand ${bare_ms.toFixed(1)} ms = ${ratio} × the time\n`,
    )
  }
  process.exit(0)
}
