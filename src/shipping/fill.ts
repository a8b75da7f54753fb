/** Fills ClickHouse with the snapshot files of a folder, and compares both. */

import type { Database } from 'bun:sqlite'
import { mkdirSync, rmSync } from 'node:fs'
import type { ClickHouseNodes } from '../storage/clickhouse/clickhouse-nodes.ts'
import { listAllFiles, listFiles, readLogState } from '../storage/files/manifest.ts'
import { filePath, findDamage } from '../storage/files/parquet.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import { findShippingPosition, newestLogId, writeShippingStep } from '../storage/log/shipments.ts'
import { ShippingChild } from './child.ts'
import { PERSON_TABLES } from './person-tables.ts'
import type { EventSums } from './protocol.ts'
import { listStoredSeqs, sendMissing } from './send.ts'
import { shipmentPath, shipmentsFolder } from './shipment-files.ts'

type FillOptions = {
  readonly data_dir: string
  readonly nodes: ClickHouseNodes
  /** A writer of events.db, while no server runs on the folder. */
  readonly db: Database
  /** Called after each batch with the numbers of sent and of all events. */
  readonly onProgress: (sent: number, all: number) => void
  readonly is_confined: boolean
  readonly signal: AbortSignal
}

/** Events of one batch. */
const ROWS_MAX = 50_000

/**
 * Sends the events of every file, compares them, and takes the files out of the manifest: ClickHouse holds them from
 * then on. Begun again after it was cut off, it goes on where it was. Throws, naming the project, when ClickHouse has
 * anything else than the files; they all stay then.
 */
export async function fillClickHouse(options: FillOptions): Promise<{ readonly events: number }> {
  const { data_dir, nodes, db, onProgress } = options
  await nodes.fit()
  const files = listAllFiles(db)
  for (const file of files) requireReadable(data_dir, file)
  const all = files.reduce((sum, { row_count }) => sum + row_count, 0)
  let sent = 0
  const child = new ShippingChild(data_dir, options.is_confined)
  try {
    for (const file of files) {
      await fillFile(options, child, file, (rows) => onProgress(sent + rows, all))
      sent += file.row_count
    }
    const differing = (await compareEvents(options, child)).filter(({ is_equal }) => !is_equal)
    if (differing.length > 0)
      throw new Error(
        `ClickHouse does not have what the files have: ${differing.map(({ what }) => what).join('; ')}`,
      )
  } finally {
    await child.close()
  }
  holdThere(db)
  return { events: all }
}

function requireReadable(data_dir: string, file: FileRow): void {
  const damage = findDamage(filePath(data_dir, file), file.byte_count)
  if (damage !== null) throw new Error(`snapshot file ${file.id} ${damage}`)
}

async function fillFile(
  { data_dir, nodes, db, signal }: FillOptions,
  child: ShippingChild,
  file: FileRow,
  onSent: (rows: number) => void,
): Promise<void> {
  const log_id = newestLogId(db)
  const path = shipmentPath(data_dir, `fill-${file.id}`)
  mkdirSync(shipmentsFolder(data_dir), { recursive: true, mode: 0o700 })
  const begun = findSent(db, file.id)
  for (let offset = begun; offset < file.row_count; ) {
    signal.throwIfAborted()
    const written = await child.run('batch', {
      kind: 'file',
      path,
      log_id,
      file,
      offset,
      rows_max: ROWS_MAX,
    })
    const range = {
      log_id,
      after_seq: file.first_seq - 1,
      last_seq: file.last_seq,
      min_timestamp: written.min_timestamp,
      max_timestamp: written.max_timestamp,
    }
    // Only the first batch of a run may be there already, from the run before.
    const stored = offset === begun ? await listStoredSeqs(nodes, range, file.project_id) : []
    await sendMissing(nodes, child, { log_id, token: `${file.id}/${offset}`, path, signal }, stored)
    offset += written.row_count
    db.query('insert or replace into filled_files values (?, ?)').run(file.id, offset)
    onSent(offset)
  }
  rmSync(path, { force: true })
}

function findSent(db: Database, file_id: string): number {
  const row = db
    .query<{ rows_sent: number }, [string]>('select rows_sent from filled_files where id = ?')
    .get(file_id)
  return row?.rows_sent ?? 0
}

/** In one transaction: no file is named any more, and the folder holds its events in ClickHouse. */
function holdThere(db: Database): void {
  db.transaction(() => {
    db.run('delete from files')
    db.run('delete from mirrors')
    db.run('delete from mirror_files')
    db.run('delete from filled_files')
    writeShippingStep(db, { kind: 'begin' })
    db.run('update manifest set version = version + 1 where id = 1')
  }).immediate()
}

/** One comparison of `tidemark clickhouse verify`. */
export type FillComparison = {
  readonly what: string
  readonly is_equal: boolean
  readonly here: string
  readonly there: string
}

/** Compares the events of files that are still here with those that are there, project by project. */
async function compareEvents(
  { nodes, db }: Pick<FillOptions, 'db' | 'nodes'>,
  child: ShippingChild,
): Promise<readonly FillComparison[]> {
  const { flushed_seq } = readLogState(db)
  const projects = [...new Set(listAllFiles(db).map(({ project_id }) => project_id))]
  const comparisons: FillComparison[] = []
  for (const project_id of projects) {
    const { sums } = await child.run('sums', { kind: 'sums', files: listFiles(db, project_id) })
    const text = await nodes.first.run(
      `SELECT toString(count()), toString(sum(seq)), toString(sum(${UUID_END})), toString(sum(length(properties)))
FROM events WHERE project_id = ${project_id} AND log_id = {p1:String} AND seq <= ${flushed_seq} FORMAT TabSeparated`,
      { texts: [newestLogId(db)] },
    )
    const here = describeSums(sums)
    const [rows = '', seqs = '', uuids = '', property_bytes = ''] = text.trim().split('\t')
    const there = describeSums({ rows, seqs, uuids, property_bytes })
    comparisons.push({
      what: `events of project ${project_id}`,
      is_equal: here === there,
      here,
      there,
    })
  }
  return comparisons
}

const UUID_END = 'reinterpretAsUInt64(reverse(substring(UUIDStringToNum(toString(uuid)), 9, 8)))'

const describeSums = ({ rows, seqs, uuids, property_bytes }: EventSums): string =>
  `${rows} events, ${property_bytes} bytes, sums ${seqs} and ${uuids}`

/**
 * Compares a folder with ClickHouse: events of files, rows of persons up to the change that was sent, and whether any
 * event is there twice.
 */
export async function verifyClickHouse(
  options: Pick<FillOptions, 'data_dir' | 'db' | 'is_confined' | 'nodes'>,
): Promise<readonly FillComparison[]> {
  const { db, nodes, data_dir, is_confined } = options
  await nodes.fit()
  const child = new ShippingChild(data_dir, is_confined)
  try {
    return [
      ...(await compareEvents(options, child)),
      await compareDoubles(nodes, newestLogId(db)),
      ...(await comparePersons(db, nodes)),
    ]
  } finally {
    await child.close()
  }
}

async function compareDoubles(nodes: ClickHouseNodes, log_id: string): Promise<FillComparison> {
  const text = await nodes.first.run(
    'SELECT count(), count() - uniqExact(seq) FROM events WHERE log_id = {p1:String} FORMAT TabSeparated',
    { texts: [log_id] },
  )
  const [count = '0', doubles = '0'] = text.trim().split('\t')
  return {
    what: 'events that are there twice',
    is_equal: doubles === '0',
    here: '0',
    there: `${doubles} of ${count}`,
  }
}

/** Every table by the number of its rows and the sum of their change numbers. */
async function comparePersons(
  db: Database,
  nodes: ClickHouseNodes,
): Promise<readonly FillComparison[]> {
  const change = findShippingPosition(db)?.shipped_change ?? 0
  const comparisons: FillComparison[] = []
  for (const { table, source, is_there = '1', is_bounded_here } of PERSON_TABLES) {
    if (is_bounded_here === true) continue
    const projects = db
      .query<{ id: number }, []>(`select distinct project_id as id from ${source}`)
      .all()
      .map(({ id }) => id)
    if (projects.length === 0) continue
    const here = db
      .query<{ count: number; sum: number }, [number]>(
        `select count(*) as count, coalesce(sum(change), 0) as sum from ${source} as r where change <= ? and ${is_there}`,
      )
      .get(change)
    const text = await nodes.first.run(
      `SELECT count(), sum(change) FROM \`${table}\` FINAL WHERE change <= ${change} AND project_id IN (${projects.join(', ')}) FORMAT TabSeparated`,
    )
    const [count = '', sum = ''] = text.trim().split('\t')
    const ours = `${here?.count} rows, sum ${here?.sum}`
    const theirs = `${count} rows, sum ${sum}`
    comparisons.push({ what: table, is_equal: ours === theirs, here: ours, there: theirs })
  }
  return comparisons
}
