/** Work on a folder and its ClickHouse for the command line: fill, verify, status. */
import type { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { ClaimFault } from '../shipping/claims.ts'
import { type FillComparison, fillClickHouse, verifyClickHouse } from '../shipping/fill.ts'
import { sweepFiles } from '../snapshots/sweep.ts'
import type { ClickHouseNodes } from '../storage/clickhouse/clickhouse-nodes.ts'
import { openControl } from '../storage/control/control-db.ts'
import { readLogState } from '../storage/files/manifest.ts'
import { findShippingPosition, listShipmentIds, newestLogId } from '../storage/log/shipments.ts'
import { takeLock } from '../storage/process/lock.ts'
import { EVENTS_MIGRATIONS } from '../storage/sqlite/sql-files.ts'
import { migrate, openReader, openWriter } from '../storage/sqlite/sqlite.ts'
import { clickhouseNodes } from './clickhouse.ts'
import { openClaims } from './home-store.ts'

/** Sends a folder's snapshot files, while no server runs on it. Gives the number of events. */
export async function fillFromFolder(
  config: Config,
  onProgress: (sent: number, all: number) => void,
  signal: AbortSignal,
): Promise<{ readonly events: number }> {
  const nodes = requireNodes(config)
  const { data_dir } = config
  const path = requireEvents(data_dir)
  const lock = takeLock(data_dir, process.pid, new Date())
  try {
    using db = openWriter(path)
    migrate(db, EVENTS_MIGRATIONS)
    await claimProjects(config, nodes)
    const is_confined = config.query_confinement === 'on'
    const filled = await fillClickHouse({ data_dir, nodes, db, onProgress, is_confined, signal })
    sweepFiles(data_dir)
    return filled
  } finally {
    lock.release()
  }
}

/** Makes the projects of a folder this home's before anything of them is sent. */
async function claimProjects({ data_dir }: Config, nodes: ClickHouseNodes): Promise<void> {
  const control = openControl(data_dir)
  try {
    await nodes.fit()
    await openClaims(data_dir, nodes, control.db).claim()
  } catch (error) {
    throw error instanceof ClaimFault ? new ConfigError(error.message) : error
  } finally {
    control.close()
  }
}

/** Compares a folder with ClickHouse, also while a server runs. */
export async function verifyFolder(config: Config): Promise<readonly FillComparison[]> {
  const nodes = requireNodes(config)
  const { data_dir } = config
  using db = openReader(requireEvents(data_dir))
  const is_confined = config.query_confinement === 'on'
  return await verifyClickHouse({ data_dir, nodes, db, is_confined })
}

type ClickHouseStatus = {
  readonly log_id: string
  /** Events and writes to rows of persons that are there, and that are committed here; null before the first. */
  readonly shipped_seq: number | null
  readonly shipped_change: number | null
  readonly seq: number
  readonly change: number
  readonly batches_waiting: number
  readonly files_not_filled: number
  readonly version: string
  readonly events_there: number
  readonly bytes_there: number
}

/** Reads how far a folder is carried, and which of its events ClickHouse has. */
export async function readClickHouseStatus(config: Config): Promise<ClickHouseStatus> {
  const nodes = requireNodes(config)
  using db = openReader(requireEvents(config.data_dir))
  await nodes.fit()
  return { ...positionsOf(db), ...(await contentOf(nodes, newestLogId(db))) }
}

function positionsOf(db: Database) {
  const { seq, change } = readLogState(db)
  const position = findShippingPosition(db)
  const files = db.query<{ count: number }, []>('select count(*) as count from files').get()
  return {
    log_id: newestLogId(db),
    shipped_seq: position?.shipped_seq ?? null,
    shipped_change: position?.shipped_change ?? null,
    seq,
    change,
    batches_waiting: listShipmentIds(db).length,
    files_not_filled: files?.count ?? 0,
  }
}

async function contentOf(nodes: ClickHouseNodes, log_id: string) {
  const version = (await nodes.first.run('SELECT version()')).trim()
  const events = await nodes.first.run('SELECT count() FROM events WHERE log_id = {p1:String}', {
    texts: [log_id],
  })
  const bytes = await nodes.first.run(
    'SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase() AND table = {p1:String}',
    { texts: [nodes.events_table] },
  )
  return { version, events_there: Number(events), bytes_there: Number(bytes) }
}

function requireNodes(config: Config): ClickHouseNodes {
  const nodes = clickhouseNodes(config)
  if (nodes === null) throw new ConfigError('TIDEMARK_CLICKHOUSE_URL must name a ClickHouse')
  return nodes
}

function requireEvents(data_dir: string): string {
  const path = join(data_dir, 'events.db')
  if (!existsSync(path)) throw new ConfigError(`${data_dir} holds no Tidemark data`)
  return path
}
