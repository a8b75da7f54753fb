/**
 * `bun run bench:flights`: queries and insights about three million real flights, which have four small properties,
 * beside SQL over a Parquet file of the same rows. A flight's person is its route.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { QueryEngine } from '../../src/query/engine/engine.ts'
import { prepareInsight } from '../../src/query/kinds/insight.ts'
import type { QueryContext } from '../../src/query/kinds/prepared-query.ts'
import { textLiteral } from '../../src/storage/duckdb/duckdb-text.ts'
import { DefinitionReader } from '../../src/storage/files/definition-reader.ts'
import { EVENT_COLUMNS } from '../../src/storage/files/replication-sources.ts'
import type { EventLog } from '../../src/storage/log/event-log.ts'
import { fillFolder } from './dataset/dataset.ts'
import { FLIGHT_INSIGHTS, FLIGHT_QUESTIONS } from './queries/flight-lines.ts'
import {
  askEngine,
  contextOf,
  openByHand,
  openEngine,
  timesOf,
  warmUp,
} from './queries/hand-made.ts'

/** Half a year of flights within the United States, from an npm package that only this bench needs. */
const SOURCE = join(import.meta.dir, '../../node_modules/vega-datasets/data/flights-3m.parquet')
const FLIGHTS = 3_000_000
const SLICE = 500_000
/** Queries about the last days are asked as of the end of the data. */
const END_US = Date.UTC(2001, 6, 1, 0, 1) * 1000
const AMPLE_MS = 600_000

const ROUTE = "origin || '-' || destination"
const personId = (route: string): string => `md5('person ' || ${route})::uuid`

/** The columns of an event; all others are null. */
const VALUES: Readonly<Record<string, string>> = {
  seq: 'n',
  uuid: "md5('flight ' || n)::uuid",
  event: "'flight'",
  distinct_id: ROUTE,
  person_id: personId(ROUTE),
  person_mode: "'full'",
  timestamp: 'date',
  created_at: 'date',
  properties: `json_object('delay', delay, 'distance', distance, 'origin', origin, 'destination', destination)::varchar`,
  elements_chain: "''",
}

function selectFlights(numbered: string, from: number, to: number): string {
  const values = EVENT_COLUMNS.map(
    ([name, type]) => `(${VALUES[name] ?? 'null'})::${type} as "${name}"`,
  )
  return `select ${values.join(', ')}, 1::bigint as project_id, strftime(date, '%Y-%m') as month
from ${numbered} where n > ${from} and n <= ${to}`
}

/** Each route as a person with one distinct id. */
async function writeRoutes(connection: DuckDBConnection, log: EventLog): Promise<void> {
  const reader = await connection.runAndReadAll(
    `select distinct ${ROUTE}, replace(${personId(ROUTE)}::varchar, '-', '') from ${textLiteral(SOURCE)}`,
  )
  log.transact(() => {
    for (const [route, id] of reader.getRowsJson()) {
      if (typeof route !== 'string' || typeof id !== 'string') continue
      const person = Buffer.from(id, 'hex')
      log.db.run(
        "insert into persons (project_id, id, created_at, properties, is_identified, version, change) values (1, ?, 0, '{}', 1, 1, ?)",
        [person, log.nextChange()],
      )
      log.db.run(
        'insert into distinct_ids (project_id, distinct_id, person_id, version, change) values (1, ?, ?, 0, ?)',
        [route, person, log.nextChange()],
      )
    }
  })
}

async function fillWithFlights(data_dir: string, connection: DuckDBConnection): Promise<void> {
  const numbered = `${data_dir}-numbered.parquet`
  await connection.run(
    `copy (select *, row_number() over () as n from ${textLiteral(SOURCE)}) to ${textLiteral(numbered)} (format parquet)`,
  )
  await fillFolder(data_dir, {
    event_count: FLIGHTS,
    slice: SLICE,
    selectSlice: (from, to) => selectFlights(textLiteral(numbered), from, to),
    writeOthers: (log) => writeRoutes(connection, log),
    tell: () => undefined,
  })
  rmSync(numbered)
}

/** What whoever writes SQL would make of the same rows: one file in the order of time. */
async function makeHandFile(connection: DuckDBConnection, file: string): Promise<void> {
  await connection.run(`copy (
  select date as timestamp, ${ROUTE} as distinct_id, ${personId(ROUTE)} as person_id, delay, distance, origin, destination
  from ${textLiteral(SOURCE)} order by date
) to ${textLiteral(file)} (format parquet, compression zstd, row_group_size 122880)`)
  await connection.run(`create view flights as select * from ${textLiteral(file)}`)
}

/** The figures of an insight's series, one row for each bucket of each series. */
async function askInsight(
  query: (typeof FLIGHT_INSIGHTS)[number]['query'],
  engine: QueryEngine,
  context: QueryContext,
): Promise<string> {
  const answer = await prepareInsight(query, context).compute(
    (sent) => engine.run(sent, { timeout_ms: AMPLE_MS }),
    new Date(END_US / 1000),
  )
  const series: readonly { readonly data: readonly number[] }[] = JSON.parse(
    Buffer.from(answer.results).toString(),
  )
  return JSON.stringify(series.flatMap(({ data }) => data.map((figure) => [figure])))
}

if (!existsSync(SOURCE)) throw new Error('run `bun run bench:flights`, which fetches the flights')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-flights-'))
const data_dir = join(folder, 'data')
const { connection, close } = await openByHand(join(folder, 'by-hand'))
try {
  await makeHandFile(connection, join(folder, 'by-hand', 'flights.parquet'))
  await fillWithFlights(data_dir, connection)
  const engine = openEngine(data_dir)
  const compiling = contextOf(data_dir, END_US)
  const context: QueryContext = {
    project: {
      id: 1,
      timezone: 'UTC',
      week_start_day: 0,
      test_account_filters: [],
      hidden_tables: [],
    },
    property_types: new DefinitionReader(data_dir).propertyTypes(1),
    rows_max: 50_000,
  }
  const queries = [
    ...FLIGHT_QUESTIONS.map(({ name, hogql, sql }) => ({
      name,
      sql,
      ask: () => askEngine(hogql, engine, compiling),
    })),
    ...FLIGHT_INSIGHTS.map(({ name, query, sql }) => ({
      name: `insight, ${name}`,
      sql,
      ask: () => askInsight(query, engine, context),
    })),
  ]
  await warmUp(queries, connection)
  const ratios: number[] = []
  for (const query of queries) {
    const { name, ours_ms, bare_ms } = await timesOf(query, connection)
    ratios.push(ours_ms / bare_ms)
    process.stdout.write(
      `${name}: ${ours_ms.toFixed(1)} ms, by hand ${bare_ms.toFixed(1)} ms = ${(ours_ms / bare_ms).toFixed(2)} × the time\n`,
    )
  }
  const sorted = ratios.toSorted((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  process.stdout.write(
    `${ratios.length} queries: median ${median.toFixed(2)} × (target 1.2 ×), worst ${(sorted.at(-1) ?? 0).toFixed(2)} × (target 2 ×)\n`,
  )
  await engine.close()
} finally {
  close()
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
