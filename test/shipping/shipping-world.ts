/** The means of the shipping tests: a data folder, its events, and the shipper in this process or in one that is killed. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  finishRemoval,
  type RemovalPosition,
  removeSlice,
} from '../../src/ingest/write/event-removal.ts'
import { openClaims } from '../../src/serve/home-store.ts'
import type { ShippingFault } from '../../src/shipping/fault-injection.ts'
import { Shipper } from '../../src/shipping/shipper.ts'
import { ClickHouseClient } from '../../src/storage/clickhouse/clickhouse-client.ts'
import { ClickHouseNodes } from '../../src/storage/clickhouse/clickhouse-nodes.ts'
import { openControl } from '../../src/storage/control/control-db.ts'
import { EventLog, type EventRow } from '../../src/storage/log/event-log.ts'
import { beginLogId, writeShippingStep } from '../../src/storage/log/shipments.ts'
import type { ClickHouseCluster } from '../clickhouse/cluster.ts'
import { CLUSTER, DATABASE, PASSWORD } from '../clickhouse/configuration.ts'
import { copyFreshDatabase } from '../fresh-databases.ts'
import { eventRow, idOf, MARCH_US } from '../query/world.ts'
import { NO_LOG } from '../snapshots/snapshot-world.ts'

export type ShipOnceOptions = {
  readonly data_dir: string
  readonly urls: readonly string[]
  readonly fault?: ShippingFault
  readonly check_after_ms?: number
  readonly rows_max?: number
}

type ShipperTerms = ShipOnceOptions & {
  readonly monthsKept: (project_id: number) => number | null
}

export const expireNothing = { monthsKept: () => null }

export function nodesAt(urls: readonly string[]): ClickHouseNodes {
  const access = { user: 'shipper', password: PASSWORD, database: DATABASE }
  const [first, ...others] = urls.map((url) => new ClickHouseClient({ ...access, url }))
  if (first === undefined) throw new Error('no address')
  return new ClickHouseNodes({
    writers: [first, ...others],
    reader: new ClickHouseClient({ ...first.access, user: 'queries' }),
    cluster: others.length === 0 ? null : CLUSTER,
  })
}

/** A shipper on a folder, with the writer of its events.db on this thread. */
export function openShipper(options: ShipperTerms): {
  readonly shipper: Shipper
  readonly log: EventLog
  readonly nodes: ClickHouseNodes
  readonly close: () => Promise<void>
} {
  const { urls, data_dir, monthsKept, ...more } = options
  const log = new EventLog(data_dir)
  const nodes = nodesAt(urls)
  const control = openControl(data_dir)
  const shipper = new Shipper({
    data_dir,
    nodes,
    claims: openClaims(data_dir, nodes, control.db),
    capture: {
      commitShipping: async (step) => log.transact(() => writeShippingStep(log.db, step)),
      trim: async (up_to_seq) => {
        while (!log.trim(up_to_seq, 1000));
      },
      removeEvents: async (removal_id) => {
        const goOn = (place: RemovalPosition): void => {
          let next: RemovalPosition | null = null
          log.transact(() => {
            next = removeSlice(log.db, place, 100)
          })
          if (next !== null) goOn(next)
        }
        goOn({ removal_id, after_seq: 0 })
      },
      finishRemoval: async (removal_id) => log.transact(() => finishRemoval(log.db, removal_id)),
    },
    listProjects: () => [1, 2],
    monthsKept,
    trimmable: (seq) => seq,
    is_confined: false,
    log: NO_LOG_OF_SHIPPER,
    ...more,
  })
  const close = async (): Promise<void> => {
    await shipper.close()
    log.close()
    control.close()
  }
  return { shipper, log, nodes, close }
}

const NO_LOG_OF_SHIPPER = { ...NO_LOG, warn: () => undefined }

/** With their logs, which stay where a process that has just ended still had a database open. */
const DATABASES = ['events.db', 'events.db-wal', 'control.db', 'control.db-wal'] as const

/** A folder that ships to a cluster. */
export class ShippingWorld implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tidemark-shipping-'))
  readonly cluster: ClickHouseCluster
  readonly data_dir = join(this.#folder, 'data')
  #sent = 0

  constructor(cluster: ClickHouseCluster) {
    this.cluster = cluster
    for (const name of ['files', 'tmp']) mkdirSync(join(this.data_dir, name), { recursive: true })
    copyFreshDatabase('events', this.data_dir)
    copyFreshDatabase('control', this.data_dir)
  }

  get urls(): readonly string[] {
    return this.cluster.shards.map(({ url }) => url)
  }

  /** Runs work of the data thread, and closes the database. */
  write(work: (log: EventLog) => void): void {
    const log = new EventLog(this.data_dir)
    try {
      work(log)
    } finally {
      log.close()
    }
  }

  /** Commits events of two projects over three months, each different. Gives their uuids as hex. */
  send(count: number, more: Partial<EventRow> = {}): readonly string[] {
    const rows = Array.from({ length: count }, () => {
      const index = this.#sent++
      return {
        project_id: 1 + (index % 2),
        event: `event ${index % 7}`,
        distinct_id: `user ${index % 20}`,
        person_id: idOf(1 + (index % 20)),
        timestamp: MARCH_US + (index % 90) * 86_400_000_000 + index,
        properties: JSON.stringify({ index, $browser: 'Chrome', nested: { list: [index] } }),
        ...more,
      }
    })
    return this.sendEach(rows)
  }

  /** Commits events; missing members get ordinary values. */
  sendEach(events: readonly Partial<EventRow>[]): readonly string[] {
    const rows = events.map(eventRow)
    this.write((log) => log.transact(() => rows.forEach((row) => log.append(row))))
    return rows.map(({ uuid }) => uuid.toHex())
  }

  /** Gives rows of persons a new change number, so that the next round sends some. */
  changePersons(): void {
    this.write((log) =>
      log.transact(() =>
        log.db
          .query('insert or replace into person_overrides values (1, ?, ?, ?)')
          .run(idOf(1), idOf(2), log.nextChange()),
      ),
    )
  }

  /** Ships in a process of its own. Gives its exit code, or the signal that ended it. */
  async ship(
    more: Partial<ShipOnceOptions> & { readonly kill_after_ms?: number } = {},
  ): Promise<number | string> {
    const { kill_after_ms, ...terms } = more
    const options: ShipOnceOptions = { data_dir: this.data_dir, urls: this.urls, ...terms }
    const child = Bun.spawn(
      [process.execPath, join(import.meta.dir, 'ship-once.ts'), JSON.stringify(options)],
      { stdout: 'ignore', stderr: Bun.file(`${this.data_dir}.log`) },
    )
    if (kill_after_ms !== undefined) setTimeout(() => child.kill('SIGKILL'), kill_after_ms)
    await child.exited
    return child.signalCode ?? child.exitCode ?? -1
  }

  /** Copies the folder, as a backup has it. */
  backUp(): string {
    const to = join(this.#folder, `backup-${crypto.randomUUID()}`)
    for (const name of DATABASES)
      if (existsSync(join(this.data_dir, name))) cpSync(join(this.data_dir, name), join(to, name))
    return to
  }

  /** Puts a copy where the folder was, as a restore does. */
  restore(from: string): void {
    rmSync(this.data_dir, { recursive: true, force: true })
    for (const name of ['files', 'tmp']) mkdirSync(join(this.data_dir, name), { recursive: true })
    for (const name of DATABASES)
      if (existsSync(join(from, name))) cpSync(join(from, name), join(this.data_dir, name))
    beginLogId(this.data_dir)
  }

  /** The uuids of all events that ClickHouse has, sorted, repeated ones too. */
  async stored(): Promise<readonly string[]> {
    const text = await this.cluster.run(
      "SELECT lower(replaceAll(toString(uuid), '-', '')) FROM events ORDER BY 1",
    )
    return text.split('\n').filter((line) => line !== '')
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
