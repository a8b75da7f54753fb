/** How fast a log and files go into ClickHouse, and the processor time and the bytes of an event. */
import { fillClickHouse } from '../../../src/shipping/fill.ts'
import { type ClickHouseCluster, startCluster } from '../../clickhouse/cluster.ts'
import { expireNothing, openShipper, ShippingWorld } from '../../shipping/shipping-world.ts'
import { seeded, someEvent } from '../events.ts'
import { ownMs, processorMs } from './meter.ts'

/** Events per second that the log must be shipped at beside the server. */
const SHIPPED_PER_S = 30_000

/** The line of a rate: events per second, and processor time per event here and there. */
function rateOf(what: string, events: number, cost: ReturnType<Meter['read']>, target = 0): string {
  const per = (ms: number): string => ((ms * 1000) / events).toFixed(1)
  const rate = Math.round((events / cost.wall_ms) * 1000)
  const verdict = rate >= target ? 'reached' : 'MISSED'
  return `${what}: ${rate} events/s${target === 0 ? '' : `, target ${target} ${verdict}`}; per event ${per(cost.server_ms)} µs of ClickHouse, ${per(cost.child_ms)} µs of the shipping process, ${per(cost.own_ms)} µs of the server`
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
export async function measureShipping(events: number): Promise<string> {
  // A server of its own: two folders cannot have the same projects before one ClickHouse.
  await using cluster = await startCluster()
  using world = new ShippingWorld(cluster)
  const random = seeded(1)
  for (let sent = 0; sent < events; sent += 10_000)
    world.sendEach(
      Array.from({ length: Math.min(10_000, events - sent) }, () => {
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
  const line = rateOf('shipping the log', events, meter.read(shipper.pid), SHIPPED_PER_S)
  await close()
  return line
}

/** Brings the files of a folder and its persons there. */
export async function measureFilling(
  cluster: ClickHouseCluster,
  data_dir: string,
): Promise<readonly string[]> {
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
  const line = rateOf('filling in files', events, meter.read(null))
  await shipper.run()
  await close()
  await cluster.run('OPTIMIZE TABLE events FINAL')
  const bytes = await cluster.run(
    "SELECT round(sum(bytes_on_disk) / sum(rows), 1) FROM system.parts WHERE active AND table = 'events'",
  )
  return [line, `bytes per event in ClickHouse: ${bytes.trim()}`]
}
