/** Snapshots measured: flush and compaction rates, bytes per event, and queries on columns against JSON and a hand-made file. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileHogQL } from '../../src/hogql/compile.ts'
import type { KnownPropertyType } from '../../src/hogql/context.ts'
import { QueryEngine } from '../../src/query/engine/engine.ts'
import { createSnapshotJob } from '../../src/snapshots/job.ts'
import { openInstance } from '../../src/storage/duckdb/duckdb.ts'
import { textLiteral } from '../../src/storage/duckdb/duckdb-text.ts'
import { listFiles } from '../../src/storage/files/manifest.ts'
import { filePath } from '../../src/storage/files/parquet.ts'
import { EventLog, NO_GROUPS } from '../../src/storage/log/event-log.ts'
import { selectEvents, storedShape } from '../../src/storage/log/event-select.ts'
import { seeded, someEvent } from './events.ts'

const EVENTS = Number(process.argv[2] ?? 1_000_000)
const PERSONS = 200_000
const MONTHS = 18
/** Events that one snapshot takes, as the server would take them while they come in. */
const FLUSH_EVENTS = 250_000
const ROUNDS = 3
const FIRST_MS = Date.UTC(2025, 4, 1)
const NUMBERS = ['$browser_version', '$screen_width', '$screen_height', 'price', 'quantity']
const QUIET = () => undefined

const TYPES: ReadonlyMap<string, KnownPropertyType> = new Map<string, KnownPropertyType>([
  ...NUMBERS.map((name) => [`event:${name}`, 'Numeric'] as const),
  ['event:coupon', 'Boolean'],
])

/** The same query in HogQL and, by hand, on a file of typed columns; `text(name)` is a property's text. */
const QUERIES: readonly (readonly [name: string, hogql: string, sql: (p: Spell) => string])[] = [
  [
    'by $browser',
    'select properties.$browser as b, count() from events group by b order by 2 desc',
    (p) => `select ${p('$browser')}, count(*) from t group by 1 order by 2 desc`,
  ],
  [
    'sum of price by plan',
    'select properties.plan as p, sum(properties.price) from events group by p order by p',
    (p) => `select ${p('plan')}, sum(${p('price')}) from t group by 1 order by 1`,
  ],
  [
    'orders over 150',
    "select count() from events where event = 'order placed' and properties.price > 150",
    (p) => `select count(*) from t where event = 'order placed' and ${p('price')} > 150`,
  ],
  [
    'URL contains',
    "select count() from events where properties.$current_url like '%/checkout?ref=7%'",
    (p) => `select count(*) from t where ${p('$current_url')} like '%/checkout?ref=7%'`,
  ],
  [
    'by $os in 7 days',
    "select properties.$os as o, count() from events where timestamp >= '2026-01-01' and timestamp < '2026-01-08' group by o order by o",
    (p) =>
      `select ${p('$os')}, count(*) from t where "timestamp" >= '2026-01-01' and "timestamp" < '2026-01-08' group by 1 order by 1`,
  ],
]

/** How a property is read. */
type Spell = (name: string) => string
const asColumn: Spell = (name) => `"${name}"`
const fromText: Spell = (name) => {
  const value = `json_extract_string(properties, ${textLiteral(`/${name}`)})`
  return NUMBERS.includes(name) ? `try_cast(${value} as double)` : value
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const perSecond = (events: number, ms: number): number => Math.round((events / ms) * 1000)
const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
for (const name of ['files', 'tmp']) mkdirSync(join(folder, name))
const log = new EventLog(folder)

function id(from: string): Uint8Array {
  return new Uint8Array(new Bun.CryptoHasher('md5').update(from).digest())
}

/** Appends events as ingestion does; returns the bytes of the same as zstd NDJSON. */
function append(random: () => number, count: number): number {
  const sent: object[] = []
  log.transact(() => {
    for (let index = 0; index < count; index++) {
      const event = someEvent(random, PERSONS)
      const timestamp = FIRST_MS + Math.floor(random() * MONTHS * 30.4 * 86_400_000)
      sent.push({ ...event, timestamp: new Date(timestamp).toISOString() })
      log.append({
        project_id: 1,
        uuid: Bun.randomUUIDv7('buffer', timestamp),
        event: event.event,
        distinct_id: event.distinct_id,
        person_id: id(event.distinct_id),
        person_mode: 'full',
        timestamp: timestamp * 1000,
        created_at: timestamp * 1000 + 250_000,
        properties: JSON.stringify(event.properties),
        elements_chain: '',
        groups: NO_GROUPS,
      })
    }
  })
  const text = sent.map((event) => JSON.stringify(event)).join('\n')
  return Bun.zstdCompressSync(Buffer.from(text)).length
}

function parquetFiles(): readonly string[] {
  return readdirSync(join(folder, 'files', '1')).map((name) => join(folder, 'files', '1', name))
}

const bytesOf = (paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + statSync(path).size, 0)

async function fastest(work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const started_at = performance.now()
    await work()
    best = Math.min(best, performance.now() - started_at)
  }
  return best
}

function ask(engine: QueryEngine, hogql: string): Promise<unknown> {
  const compiled = compileHogQL(hogql, {
    project_id: 1,
    timezone: 'UTC',
    week_start_day: 0,
    hidden_tables: [],
    now_us: BigInt(Date.UTC(2026, 10, 1)) * 1000n,
    property_types: TYPES,
    has_property_columns: true,
  })
  const values = compiled.values.map(({ type, value }) => ({ type, text: String(value) }))
  const query = { ...compiled, project_id: 1, values, rows_max: 1000, more_is_too_many: false }
  return engine.run(query, { timeout_ms: 600_000 })
}

type ByHand = {
  readonly typed_bytes: number
  run(text: string, of: 'json' | 'typed'): Promise<unknown>
}

/** What somebody would make by hand for these very queries, everything typed; and the same with JSON text. */
async function makeByHand(): Promise<ByHand> {
  const spill_dir = join(folder, 'spill')
  const instance = await openInstance({ memory_mb: 2048, threads: 2, spill_dir })
  const connection = await instance.connect()
  const held = storedShape(listFiles(log.db, 1), (file) => filePath(folder, file))
  const all = held.map((group) => selectEvents(group)).join(' union all ')
  const names = Object.keys(someEvent(seeded(1), 1).properties)
  const typed = names.map((name) => {
    const type = NUMBERS.includes(name) ? 'double' : name === 'coupon' ? 'boolean' : 'varchar'
    return `try_cast(json_extract_string(properties, ${textLiteral(`/${name}`)}) as ${type}) as "${name}"`
  })
  const paths = { json: join(folder, 'json.parquet'), typed: join(folder, 'typed.parquet') }
  for (const [of, columns] of [
    ['json', 'properties'],
    ['typed', typed.join(', ')],
  ] as const) {
    await connection.run(`
copy (select uuid, event, distinct_id, person_id, "timestamp", ${columns} from (${all}) order by "timestamp")
to ${textLiteral(paths[of])} (format parquet, compression zstd)`)
  }
  return {
    typed_bytes: statSync(paths.typed).size,
    run: (text, of) =>
      connection.runAndReadAll(
        text.replace('from t', `from read_parquet(${textLiteral(paths[of])})`),
      ),
  }
}

async function bench(): Promise<void> {
  const random = seeded(11)
  for (const [key, type] of TYPES) {
    log.db.run(
      `insert into property_definitions
       (project_id, kind, group_type_index, name, property_type, first_seen, last_seen, change)
       values (1, 'event', -1, ?, ?, 0, 0, 1)`,
      [key.slice('event:'.length), type],
    )
  }
  const engine = new QueryEngine({
    data_dir: folder,
    settings: {
      memory_mb: 1024,
      spill_mb: 20_000,
      threads: 2,
      result_bytes_max: 8e6,
      running_max: 4,
      waiting_max: 4,
    },
    log: { info: QUIET, warn: QUIET },
  })
  const job = createSnapshotJob({
    data_dir: folder,
    settings: {
      rows: 1e9,
      age_s: 1e9,
      memory_mb: 512,
      compaction: { fan_in: 8, bytes_max: 256 * 1024 * 1024, quiet_us: 0 },
    },
    capture: {
      commitFiles: async (files) => log.commitFiles(files),
      trim: async (up_to_seq) => {
        while (!log.trim(up_to_seq, 10_000));
      },
      removeEvents: async () => undefined,
      finishRemoval: async () => undefined,
    },
    readers: engine,
    log: { info: QUIET, error: (fields, message) => console.error(message, fields) },
  })
  let ndjson_bytes = 0
  let flush_ms = 0
  for (let done = 0; done < EVENTS; done += FLUSH_EVENTS) {
    ndjson_bytes += append(random, Math.min(FLUSH_EVENTS, EVENTS - done))
    const started_at = performance.now()
    await job.run()
    flush_ms += performance.now() - started_at
  }
  const flushed = parquetFiles()
  say(
    `flush: ${perSecond(EVENTS, flush_ms)} events/s into ${flushed.length} files, ${(bytesOf(flushed) / EVENTS).toFixed(1)} B/event`,
  )
  const started_at = performance.now()
  await job.compact()
  const compact_ms = performance.now() - started_at
  const bytes = bytesOf(parquetFiles())
  say(
    `compaction: ${perSecond(EVENTS, compact_ms)} events/s into ${parquetFiles().length} files, ${(bytes / EVENTS).toFixed(1)} B/event`,
  )

  const hand = await makeByHand()
  say(
    `bytes per event: ${(bytes / EVENTS).toFixed(1)}; hand-made typed Parquet ${(hand.typed_bytes / EVENTS).toFixed(1)}, zstd NDJSON ${(ndjson_bytes / EVENTS).toFixed(1)} (20 properties)`,
  )

  for (const [name, hogql, sql] of QUERIES) {
    const column_ms = await fastest(() => ask(engine, hogql))
    const json_ms = await fastest(() => hand.run(sql(fromText), 'json'))
    const hand_ms = await fastest(() => hand.run(sql(asColumn), 'typed'))
    say(
      `${name}: column ${column_ms.toFixed(0)} ms, JSON ${json_ms.toFixed(0)} ms (${(json_ms / column_ms).toFixed(0)} ×), by hand ${hand_ms.toFixed(0)} ms (${(column_ms / hand_ms).toFixed(2)} ×)`,
    )
  }
  await job.close()
  await engine.close()
}

try {
  await bench()
} finally {
  log.close()
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
