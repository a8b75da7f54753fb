/** Whether capture notices that events are shipped: the same load while ClickHouse is there, and while it is away. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ClickHouseCluster, startCluster } from '../../clickhouse/cluster.ts'
import { clickhouseEnvironment } from '../../clickhouse/settings.ts'
import { askUntil } from '../../flows/clients/patience.ts'
import {
  API_TOKEN,
  PERSONAL_API_KEY,
  type Server,
  startServer,
} from '../../flows/processes/server.ts'
import { seeded, someEvent } from '../events.ts'
import { type LoadResult, spawnLoad } from '../load.ts'
import { SIZES } from '../sizes.ts'
import { median, processorMs } from './meter.ts'

/**
 * Events per second, in batches that come evenly: 170 million a day, and a third of what a shipper must carry, which is
 * near what one machine of two cores stores beside a ClickHouse server and this load.
 */
const RATES = [2000, 10_000]
const BATCH = 100
const CONNECTIONS = 32
const PERSONS = 10_000
/** The most that the p99 beside shipping may be of the one without. */
const RATIO_MAX = 1.1

/** A load, with the processor time of the server for an event, and the events that ClickHouse got meanwhile. */
type CaptureLoad = LoadResult & { readonly event_us: number; readonly shipped: number }

/**
 * Sends the same load in turns: while the log is shipped to a ClickHouse of this machine, and after that was killed, so
 * that events wait in the log. Gives a line of both p99s and their ratio for each rate.
 */
export async function measureCapture(folder: string, rounds: number): Promise<string[]> {
  await using cluster = await startCluster()
  const data_dir = join(mkdtempSync(join(folder, 'capture-')), 'data')
  const server = await startServer({ data_dir, env: clickhouseEnvironment(cluster) })
  try {
    const bodies = join(folder, 'capture.json')
    writeFileSync(bodies, JSON.stringify(someBodies()))
    const lines: string[] = []
    for (const rate of RATES) {
      const sendAtRate = (): Promise<CaptureLoad> => send(server, bodies, rate)
      const alone: CaptureLoad[] = []
      const beside: CaptureLoad[] = []
      // The first events find an empty server.
      await sendAtRate()
      for (let round = 0; round < rounds; round += 1) {
        await waitUntilShipped(server)
        beside.push(await sendAtRate())
        await waitUntilShipped(server)
        alone.push(await withoutClickHouse(cluster, sendAtRate))
      }
      lines.push(lineOf(rate, alone, beside))
    }
    return lines
  } finally {
    await server.stop()
  }
}

async function withoutClickHouse<Answer>(
  cluster: ClickHouseCluster,
  work: () => Promise<Answer>,
): Promise<Answer> {
  await cluster.server(0).kill()
  const answer = await work()
  await cluster.server(0).start()
  return answer
}

function someBodies(): readonly string[] {
  const random = seeded(11)
  return Array.from({ length: 200 }, () =>
    JSON.stringify({
      api_key: API_TOKEN,
      batch: Array.from({ length: BATCH }, () => someEvent(random, PERSONS)),
    }),
  )
}

async function send(server: Server, bodies: string, rate: number): Promise<CaptureLoad> {
  const waiting = await countWaiting(server)
  const before_ms = processorMs(server.pid)
  const { port } = new URL(server.url)
  const result = await spawnLoad([
    port,
    CONNECTIONS,
    SIZES.seconds,
    '/batch/',
    bodies,
    PERSONAL_API_KEY,
    rate / BATCH,
  ])
  const used_ms = processorMs(server.pid) - before_ms
  const events = result.requests * BATCH
  return {
    ...result,
    event_us: (1000 * used_ms) / events,
    shipped: events - ((await countWaiting(server)) - waiting),
  }
}

/** Events that the log still holds: those that ClickHouse does not have. */
async function countWaiting({ url }: Server): Promise<number> {
  const page = await (await fetch(`${url}/_metrics`)).text()
  return Number(/^tidemark_log_events (\d+)$/m.exec(page)?.[1])
}

async function waitUntilShipped(server: Server): Promise<void> {
  const left = await askUntil(
    () => countWaiting(server),
    (events) => events === 0,
  )
  if (left !== 0) throw new Error(`${left} events were not shipped`)
}

function lineOf(
  rate: number,
  alone: readonly CaptureLoad[],
  beside: readonly CaptureLoad[],
): string {
  const p99 = (loads: readonly CaptureLoad[]): number => median(loads.map(({ p99_ms }) => p99_ms))
  const us = (loads: readonly CaptureLoad[]): string =>
    median(loads.map(({ event_us }) => event_us)).toFixed(0)
  const all = [...alone, ...beside]
  const refused = all.reduce((sum, one) => sum + one.refused, 0)
  const shipped = beside.reduce((sum, one) => sum + one.shipped, 0)
  const sent = beside.reduce((sum, one) => sum + one.requests * BATCH, 0)
  const ratio = p99(beside) / p99(alone)
  const verdict = ratio <= RATIO_MAX ? 'reached' : 'MISSED'
  return `capture of ${rate} events/s: p99 ${p99(beside).toFixed(1)} ms while they are shipped, ${p99(alone).toFixed(1)} ms while ClickHouse is away = ${ratio.toFixed(2)} ×, at most ${RATIO_MAX} × ${verdict}; ${us(beside)} and ${us(alone)} µs of the server for an event; ${shipped} of ${sent} events shipped meanwhile; refused ${refused}`
}
