/** Queries and insights on both engines, over the same data set: wall time, and processor time of all that take part. */
import { mkdirSync } from 'node:fs'
import { clickhouseDialect } from '../../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../../src/hogql/clickhouse/table-state.ts'
import { type CompiledQuery, compileHogQL } from '../../../src/hogql/compile.ts'
import type { CompileContext } from '../../../src/hogql/context.ts'
import { ClickHouseEngine } from '../../../src/query/clickhouse/clickhouse-engine.ts'
import { QueryEngine } from '../../../src/query/engine/engine.ts'
import type { WorkerQuery } from '../../../src/query/engine/protocol.ts'
import { prepareInsight } from '../../../src/query/kinds/insight.ts'
import { gatheredFolder } from '../../../src/storage/files/parquet.ts'
import type { ClickHouseCluster } from '../../clickhouse/cluster.ts'
import { clientOf } from '../../clickhouse/rows.ts'
import { DATASET_END_US } from '../dataset/dataset.ts'
import { contextOfDataset, INSIGHT_LINES } from '../insights/insights.ts'
import { LINES } from '../queries/hand-lines.ts'
import { IS_SMALL } from '../sizes.ts'
import { bestOf, type Spent, spentBy } from './meter.ts'

/** The same query to both engines, under the name of its line. */
type PairedQuery = {
  readonly name: string
  readonly here: () => Promise<unknown>
  readonly there: () => Promise<unknown>
}

/** What both took; why there is no answer from ClickHouse, as text. */
type PairedTimes = { readonly name: string; readonly here: Spent; readonly there: Spent | string }

const AMPLE_MS = 600_000
const ROWS_MAX = 50_000
const RESULT_BYTES_MAX = 64_000_000
const LIMITS = { result_bytes_max: RESULT_BYTES_MAX, running_max: 1, waiting_max: 4 }
const NO_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }
/** The processor time of most processes is counted in such steps. */
const TICK_MS = 10

/** Of a small round: a few queries, and one insight of each kind. */
const SMALL_QUESTIONS = 3
const QUERIES = IS_SMALL ? LINES.slice(0, SMALL_QUESTIONS) : LINES
const INSIGHTS = INSIGHT_LINES.filter(
  ({ query }, index, all) =>
    !IS_SMALL || all.findIndex((other) => other.query.kind === query.kind) === index,
)

/** Both engines over a data set; ClickHouse has been filled with it. */
export class BothEngines implements AsyncDisposable {
  readonly #here: QueryEngine
  readonly #there: ClickHouseEngine
  readonly #cluster: ClickHouseCluster
  readonly #data_dir: string

  constructor(cluster: ClickHouseCluster, data_dir: string) {
    this.#cluster = cluster
    this.#data_dir = data_dir
    // The query process gets the right to read it when it starts.
    mkdirSync(gatheredFolder(data_dir), { recursive: true })
    this.#here = new QueryEngine({
      data_dir,
      settings: { ...LIMITS, memory_mb: 2048, spill_mb: 20_000, threads: 2 },
      log: NO_LOG,
    })
    this.#there = new ClickHouseEngine({
      folding: this.#here,
      data_dir,
      reader: clientOf(cluster, 0, 'queries'),
      writer: clientOf(cluster),
      limits: { ...LIMITS, memory_bytes_max: 2e9, rows_read_max: 1e10, spill_mb: 20_000 },
      log: NO_LOG,
    })
  }

  /** The lines of the queries in HogQL, and their mean. */
  async measureQueries(rounds: number): Promise<readonly string[]> {
    const context: CompileContext = {
      project_id: 1,
      timezone: 'UTC',
      week_start_day: 0,
      hidden_tables: [],
      now_us: BigInt(DATASET_END_US),
      property_types: contextOfDataset(this.#data_dir).property_types,
      has_property_columns: true,
    }
    const dialect = clickhouseDialect(PLAIN_STATE)
    const queries = QUERIES.map(({ name, hogql }) => {
      const here = queryOf(compileHogQL(hogql, context))
      const there = queryOf(
        compileHogQL(hogql, { ...context, has_property_columns: false }, dialect),
      )
      return {
        name,
        here: () => this.#here.run(here, { timeout_ms: AMPLE_MS }),
        there: () => this.#there.run(there, { timeout_ms: AMPLE_MS }),
      }
    })
    return this.#linesOf('queries', queries, rounds)
  }

  /** The lines of the insights, from the query to the answer's text, and their mean. */
  async measureInsights(rounds: number): Promise<readonly string[]> {
    const context = contextOfDataset(this.#data_dir)
    const now = new Date(DATASET_END_US / 1000)
    const queries = INSIGHTS.map(({ name, query }) => ({
      name: `insight, ${name}`,
      here: () =>
        prepareInsight(query, context).compute(
          (compiled) => this.#here.run(compiled, { timeout_ms: AMPLE_MS }),
          now,
        ),
      there: () =>
        prepareInsight(query, { ...context, clickhouse: PLAIN_STATE }).compute(
          (compiled) => this.#there.run(compiled, { timeout_ms: AMPLE_MS }),
          now,
        ),
    }))
    return this.#linesOf('insights', queries, rounds)
  }

  async #linesOf(
    what: string,
    queries: readonly PairedQuery[],
    rounds: number,
  ): Promise<readonly string[]> {
    const times: PairedTimes[] = []
    for (const query of queries) times.push(await this.#timesOf(query, rounds))
    const pairs = times.flatMap(({ here, there }) =>
      typeof there === 'string' ? [] : [{ here, there }],
    )
    const meanOf = (ratio: (pair: (typeof pairs)[number]) => number): string =>
      Math.exp(pairs.reduce((sum, pair) => sum + Math.log(ratio(pair)), 0) / pairs.length).toFixed(
        2,
      )
    const processor = meanOf(
      ({ here, there }) => (there.processor_ms + TICK_MS) / (here.processor_ms + TICK_MS),
    )
    const wall = meanOf(({ here, there }) => there.wall_ms / here.wall_ms)
    return [
      ...times.map(lineOf),
      `${pairs.length} ${what}, ClickHouse over DuckDB, geometric mean: processor ${processor} ×, wall ${wall} ×`,
    ]
  }

  /** The best of some rounds, in turns. Folds of ClickHouse's rows run in the query process, which counts for both. */
  async #timesOf({ name, here, there }: PairedQuery, rounds: number): Promise<PairedTimes> {
    const measureThere = (): Promise<Spent | string> =>
      spentBy([this.#cluster.server(0).pid, this.#here.state.pid], there).catch(String)
    const measureHere = (): Promise<Spent> => spentBy([this.#here.state.pid], here)
    let best: PairedTimes = { name, here: await measureHere(), there: await measureThere() }
    for (let round = 1; round < rounds && typeof best.there !== 'string'; round += 1) {
      const one = bestOf(best.here, await measureHere())
      const other = await measureThere()
      best = {
        name,
        here: one,
        there: typeof other === 'string' ? other : bestOf(best.there, other),
      }
    }
    return best
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#there.close()
    await this.#here.close()
  }
}

function lineOf({ name, here, there }: PairedTimes): string {
  const shown = ({ wall_ms, processor_ms }: Spent): string =>
    `${wall_ms.toFixed(0)} ms, processor ${processor_ms.toFixed(0)} ms`
  const other = typeof there === 'string' ? `no answer: ${there}` : shown(there)
  return `${name}: DuckDB ${shown(here)}; ClickHouse ${other}`
}

function queryOf({ sql, values, types, reads, timezone }: CompiledQuery): WorkerQuery {
  return {
    project_id: 1,
    sql,
    values: values.map(({ type, value }) => ({
      type,
      text: value === null ? null : String(value),
    })),
    types,
    reads,
    timezone,
    rows_max: ROWS_MAX,
    more_is_too_many: false,
  }
}
