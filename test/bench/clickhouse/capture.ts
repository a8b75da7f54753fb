/**
 * Whether capture notices that its events are shipped: the same load while they cannot be, while a receiver only answers
 * for ClickHouse, which is the cost of shipping, and while a ClickHouse of this machine stores them. In life that one has
 * machines of its own: here it gets only the processor time that no other process wants (SCHED_IDLE).
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startCluster } from '../../clickhouse/cluster.ts'
import { clickhouseEnvironment } from '../../clickhouse/settings.ts'
import { askUntil } from '../../flows/clients/patience.ts'
import {
  API_TOKEN,
  askHogQL,
  PERSONAL_API_KEY,
  type Server,
  startServer,
} from '../../flows/processes/server.ts'
import { seeded, someEvent } from '../events.ts'
import { type LoadResult, spawnLoad } from '../load.ts'
import { IS_SMALL, SIZES } from '../sizes.ts'
import { median, processorMs } from './meter.ts'
import { Receiver, type ReceiverMode } from './receiver.ts'

/** Events per second, in requests that come evenly: 170 million a day, and a third of what a shipper must carry. */
const RATES = [2000, 10_000]
/** Small, so that the p99 of a load is not that of its one slowest request. */
const BATCH = 20
const CONNECTIONS = 32
const PERSONS = 10_000
const ROUNDS = IS_SMALL ? 1 : 5
/** The most that the p99 beside shipping may be of the one without. */
const RATIO_MAX = 1.1

/** In turns, each round beginning with the next one: what one load leaves behind meets each of the others. */
const MODES: readonly ReceiverMode[] = ['is away', 'only answers', 'stores']

const SITUATIONS: Readonly<Record<ReceiverMode, string>> = {
  'is away': 'ClickHouse away',
  'only answers': 'shipped to a receiver that only answers',
  stores: 'shipped to ClickHouse on the same processors, at idle priority',
}

/** A load, with the processor time of the server for an event, and the events that were shipped meanwhile. */
type CaptureLoad = LoadResult & {
  readonly mode: ReceiverMode
  readonly event_us: number
  readonly shipped: number
}

/** Gives the lines of both rates. */
export async function measureCapture(folder: string): Promise<string[]> {
  await using cluster = await startCluster()
  await runWhenIdle(cluster.server(0).pid)
  using receiver = new Receiver(cluster.url)
  const data_dir = join(mkdtempSync(join(folder, 'capture-')), 'data')
  const server = await startServer({
    data_dir,
    env: clickhouseEnvironment({ shards: [receiver] }),
  })
  try {
    const bodies = join(folder, 'capture.json')
    writeFileSync(bodies, JSON.stringify(someBodies()))
    const lines: string[] = []
    for (const rate of RATES) {
      // The first events find an empty server, and a log whose file still grows: its syncs take longer.
      await send(server, bodies, Math.max(...RATES))
      const loads: CaptureLoad[] = []
      for (let turn = 0; turn < ROUNDS * MODES.length; turn += 1) {
        receiver.mode = 'stores'
        await ship(server)
        const mode = modeOf(turn)
        receiver.mode = mode
        loads.push({ mode, ...(await send(server, bodies, rate)) })
      }
      lines.push(...linesOf(rate, loads))
    }
    return lines
  } finally {
    await server.stop()
  }
}

/** Lets a process run only while no other one wants the processor. */
async function runWhenIdle(pid: number): Promise<void> {
  const chrt = ['chrt', '--idle', '--all-tasks', '--pid', '0', String(pid)]
  if ((await Bun.spawn(chrt).exited) !== 0) throw new Error(`failed: ${chrt.join(' ')}`)
}

function modeOf(turn: number): ReceiverMode {
  const round = Math.floor(turn / MODES.length)
  return MODES[(turn + round) % MODES.length] ?? 'stores'
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

async function send(
  server: Server,
  bodies: string,
  rate: number,
): Promise<Omit<CaptureLoad, 'mode'>> {
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

/** Waits until the log is empty. A query makes the shipper go on at once, also after many failures. */
async function ship(server: Server): Promise<void> {
  const left = await askUntil(
    async () => {
      await askHogQL(server.url, 'select 1 from events limit 1').catch(() => null)
      return countWaiting(server)
    },
    (events) => events === 0,
  )
  if (left !== 0) throw new Error(`${left} events were not shipped`)
}

/** A line for each mode: the median p99 of its loads, from the least to the most, beside that without shipping. */
function linesOf(rate: number, loads: readonly CaptureLoad[]): readonly string[] {
  const medianOf = (mode: ReceiverMode): number =>
    median(loads.filter((load) => load.mode === mode).map(({ p99_ms }) => p99_ms))
  return MODES.map((mode) => {
    const all = loads.filter((load) => load.mode === mode)
    const p99s = all.map(({ p99_ms }) => p99_ms)
    const sum = (count: (load: CaptureLoad) => number): number =>
      all.reduce((total, load) => total + count(load), 0)
    const ratio = medianOf(mode) / medianOf('is away')
    const verdict = ratio <= RATIO_MAX ? 'reached' : 'MISSED'
    const compared =
      mode === 'is away' ? '' : ` = ${ratio.toFixed(2)} ×, at most ${RATIO_MAX} × ${verdict}`
    const us = median(all.map(({ event_us }) => event_us)).toFixed(0)
    return `capture of ${rate} events/s, ${SITUATIONS[mode]}: p99 ${medianOf(mode).toFixed(1)} ms (${Math.min(...p99s).toFixed(1)} to ${Math.max(...p99s).toFixed(1)} in ${all.length} loads)${compared}; ${us} µs of the server for an event; ${sum(({ shipped }) => shipped)} of ${sum(({ requests }) => requests * BATCH)} events shipped meanwhile; refused ${sum(({ refused }) => refused)}`
  })
}
