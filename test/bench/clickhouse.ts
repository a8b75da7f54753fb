/**
 * ClickHouse measured beside this machine's engine: ship rate, processor time and bytes per event, and the questions of
 * the bench on both. `bun run bench:clickhouse [events]`
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../src/hogql/clickhouse/table-state.ts'
import { type CompiledQuery, compileHogQL } from '../../src/hogql/compile.ts'
import type { CompileContext } from '../../src/hogql/context.ts'
import { ClickHouseEngine } from '../../src/query/clickhouse/clickhouse-engine.ts'
import { QueryEngine } from '../../src/query/engine/engine.ts'
import type { WorkerQuery } from '../../src/query/engine/protocol.ts'
import { fillClickHouse } from '../../src/shipping/fill.ts'
import { DefinitionReader } from '../../src/storage/files/definition-reader.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { clientOf } from '../clickhouse/rows.ts'
import { expireNothing, openShipper, ShippingWorld } from '../shipping/shipping-world.ts'
import { DATASET_END_US, ensureDataset } from './dataset/dataset.ts'
import { seeded, someEvent } from './events.ts'
import { LINES } from './queries/hand-lines.ts'

const EVENTS = Number(process.argv[2] ?? 1_000_000)
const SHIPPED_EVENTS = 300_000
const ROUNDS = 3
const AMPLE_MS = 600_000
const NO_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-clickhouse-'))

/** Processor time of a process and of its children that have ended, ms; 0 for one that is gone. */
function processorMs(pid: number | null): number {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid ?? 'none'}/stat`, 'utf8').split(') ')
    const ticks = fields.split(' ').slice(11, 15).map(Number)
    return ticks.reduce((sum, count) => sum + count, 0) * 10
  } catch {
    return 0
  }
}

const ownMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Prints events per second, and processor time per event here and there. */
function printRate(what: string, events: number, cost: ReturnType<Meter['read']>): void {
  const per = (ms: number): string => ((ms * 1000) / events).toFixed(1)
  console.log(
    `${what}: ${Math.round((events / cost.wall_ms) * 1000)} events/s; per event ${per(cost.server_ms)} µs of ClickHouse, ${per(cost.child_ms)} µs of the shipping process, ${per(cost.own_ms)} µs of the server`,
  )
}

/** Wall and processor time since its beginning. */
class Meter {
  readonly #cluster: ClickHouseCluster
  readonly #began = { wall: performance.now(), own: ownMs(), server: 0 }

  constructor(cluster: ClickHouseCluster) {
    this.#cluster = cluster
    this.#began.server = processorMs(cluster.server(0).pid)
  }

  /** `child` is a process that was started since. */
  read(child: number | null) {
    return {
      wall_ms: performance.now() - this.#began.wall,
      own_ms: ownMs() - this.#began.own,
      child_ms: processorMs(child),
      server_ms: processorMs(this.#cluster.server(0).pid) - this.#began.server,
    }
  }
}

/** Ships a log of the bench's events, as a server would after a pause of ClickHouse. */
async function measureShipping(cluster: ClickHouseCluster): Promise<void> {
  using world = new ShippingWorld(cluster)
  const random = seeded(1)
  for (let sent = 0; sent < SHIPPED_EVENTS; sent += 10_000)
    world.sendEach(
      Array.from({ length: 10_000 }, () => {
        const { event, distinct_id, timestamp, properties } = someEvent(random, 20_000)
        return {
          project_id: 9,
          event,
          distinct_id,
          timestamp: Date.parse(timestamp) * 1000,
          properties: JSON.stringify(properties),
        }
      }),
    )
  const { shipper, close } = openShipper({
    data_dir: world.data_dir,
    urls: world.urls,
    ...expireNothing,
  })
  await shipper.prepare()
  const meter = new Meter(cluster)
  await shipper.run()
  printRate('shipping the log', SHIPPED_EVENTS, meter.read(shipper.pid))
  await close()
}

async function measureFilling(cluster: ClickHouseCluster, data_dir: string): Promise<void> {
  const { log, nodes, shipper, close } = openShipper({
    data_dir,
    urls: [cluster.url],
    ...expireNothing,
  })
  const meter = new Meter(cluster)
  const { signal } = new AbortController()
  const { events } = await fillClickHouse({
    data_dir,
    nodes,
    db: log.db,
    onProgress: () => undefined,
    is_confined: false,
    signal,
  })
  printRate('filling in files', events, meter.read(null))
  await shipper.run()
  await close()
  await cluster.run('OPTIMIZE TABLE events FINAL')
  const bytes = await cluster.run(
    "SELECT round(sum(bytes_on_disk) / sum(rows), 1) FROM system.parts WHERE active AND table = 'events'",
  )
  console.log(`bytes per event in ClickHouse: ${bytes.trim()}`)
}

type AskEngine = Pick<QueryEngine, 'ask'>

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
    rows_max: 50_000,
    more_is_too_many: false,
  }
}

/** The best of some rounds: wall and processor time of an engine's process, ms. */
async function timeOf(engine: AskEngine, pid: () => number | null, query: WorkerQuery) {
  let best = { wall_ms: Number.POSITIVE_INFINITY, processor_ms: Number.POSITIVE_INFINITY }
  for (let round = 0; round < ROUNDS; round += 1) {
    const before_ms = processorMs(pid())
    const began_ms = performance.now()
    await engine.ask(query, { timeout_ms: AMPLE_MS })
    best = {
      wall_ms: Math.min(best.wall_ms, performance.now() - began_ms),
      processor_ms: Math.min(best.processor_ms, processorMs(pid()) - before_ms),
    }
  }
  return best
}

async function measureQuestions(cluster: ClickHouseCluster, data_dir: string): Promise<void> {
  const settings = {
    memory_mb: 2048,
    spill_mb: 20_000,
    threads: 2,
    result_bytes_max: 64_000_000,
    running_max: 1,
    waiting_max: 4,
  }
  const here = new QueryEngine({ data_dir, settings, log: NO_LOG })
  const there = new ClickHouseEngine({
    folding: here,
    data_dir,
    reader: clientOf(cluster, 0, 'questions'),
    writer: clientOf(cluster),
    limits: {
      running_max: 1,
      waiting_max: 4,
      memory_bytes_max: 2e9,
      rows_read_max: 1e10,
      result_bytes_max: 64_000_000,
    },
  })
  const definitions = new DefinitionReader(data_dir)
  const context: CompileContext = {
    project_id: 1,
    timezone: 'UTC',
    week_start_day: 0,
    now_us: BigInt(DATASET_END_US),
    property_types: definitions.propertyTypes(1),
    has_property_columns: true,
  }
  const ratios: number[] = []
  for (const { name, hogql } of LINES) {
    const one = await timeOf(here, () => here.state.pid, queryOf(compileHogQL(hogql, context)))
    const dialect = clickhouseDialect(PLAIN_STATE)
    const other = await timeOf(
      there,
      () => cluster.server(0).pid,
      queryOf(compileHogQL(hogql, { ...context, has_property_columns: false }, dialect)),
    ).catch((error: unknown) => String(error))
    if (typeof other === 'string') {
      console.log(`${name}: ${other}`)
      continue
    }
    ratios.push((other.processor_ms + 10) / (one.processor_ms + 10))
    console.log(
      `${name}: DuckDB ${one.wall_ms.toFixed(0)} ms, processor ${one.processor_ms} ms; ClickHouse ${other.wall_ms.toFixed(0)} ms, processor ${other.processor_ms} ms`,
    )
  }
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length)
  console.log(`processor time, ClickHouse over DuckDB, geometric mean: ${mean.toFixed(2)} ×`)
  there.close()
  definitions.close()
  await here.close()
}

try {
  const dataset = join(tmpdir(), `tidemark-bench-dataset-${EVENTS}`)
  await ensureDataset(dataset, EVENTS)
  const copy = join(folder, 'copy')
  cpSync(dataset, copy, { recursive: true, filter: (path) => !path.endsWith('-shm') })
  await using cluster = await startCluster()
  await measureShipping(cluster)
  await measureFilling(cluster, copy)
  await measureQuestions(cluster, dataset)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
