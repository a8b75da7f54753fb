/** Rows that ClickHouse gathers for folds: each statement's rows become a Parquet file, which the query process reads. */

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { MIB } from '../../bytes.ts'
import { Refusal } from '../../errors.ts'
import { ClickHouseError, errorOf } from '../../storage/clickhouse/clickhouse-client.ts'
import { gatheredFolder } from '../../storage/files/parquet.ts'
import type { GatherStatement, WorkerQuery } from '../engine/protocol.ts'
import { findSpillRefusal, type SpillLimits } from '../engine/spill-watch.ts'

/** Events that one query may fold: 20 million take about 15 s of one core. */
const FOLDED_EVENTS_MAX = 20_000_000
/** The memory of ClickHouse for the lists of all folded events: 8 or 16 bytes an event, 40 an actor. */
const FOLDED_BYTES_MAX = 32 * FOLDED_EVENTS_MAX

/** The settings that refuse more. */
export const FOLD_LIMITS = {
  max_result_rows: FOLDED_EVENTS_MAX,
  max_result_bytes: FOLDED_BYTES_MAX,
}

/** The form of gathered rows. */
export const GATHER_SETTINGS = {
  // The server holds the rows until all are there: it can then say why there are none.
  wait_end_of_query: 1,
  output_format_parquet_compression_method: 'lz4',
  output_format_parquet_string_as_string: 1,
}

/** TOO_MANY_ROWS_OR_BYTES. */
const RESULT_TOO_LARGE = 396
const MAGIC = 'PAR1'
/** An exception and the text around it are shorter. */
const END_BYTES = 16_384

/** The bytes written between two looks at the free disk. */
const LOOK_BYTES = 8 * MIB

/** Counts the bytes of all gathered files: a project's whole table may be asked for, and the log needs the disk too. */
export class GatherSpill {
  readonly #limits: SpillLimits
  #taken = 0
  #looked_at = 0

  constructor(limits: SpillLimits) {
    this.#limits = limits
  }

  /** Refuses more than queries may have on disk. */
  take(bytes: number): void {
    this.#taken += bytes
    const is_due = this.#taken - this.#looked_at >= LOOK_BYTES
    if (!is_due && this.#taken <= this.#limits.spill_mb * MIB) return
    this.#looked_at = this.#taken
    const refusal = findSpillRefusal(this.#taken, this.#limits)
    if (refusal !== null) throw refusal
  }

  release(bytes: number): void {
    this.#taken -= bytes
    this.#looked_at = Math.min(this.#looked_at, this.#taken)
  }
}

/** The query that reads files, and the end of these files. */
type QueryOfFiles = { readonly query: WorkerQuery; readonly remove: () => void }

/** Sends a statement and writes its answer. */
type SendGather = (
  statement: GatherStatement,
  write: (response: Response) => Promise<void>,
) => Promise<void>

/**
 * Gathers the rows that a query folds. Throws a ClickHouseError, a Refusal for too many events or bytes, and errors of the
 * network.
 */
export async function gatherFiles(
  { gathers = [], ...query }: WorkerQuery,
  { data_dir, spill }: { readonly data_dir: string; readonly spill: GatherSpill },
  send: SendGather,
): Promise<QueryOfFiles> {
  const folder = gatheredFolder(data_dir, query.project_id)
  const name = crypto.randomUUID()
  const paths = gathers.map((_, index) => join(folder, `${name}-${index}.parquet`))
  let taken = 0
  const take = (bytes: number): void => {
    taken += bytes
    spill.take(bytes)
  }
  const remove = (): void => {
    for (const path of paths) rmSync(path, { force: true })
    spill.release(taken)
    taken = 0
  }
  mkdirSync(folder, { recursive: true })
  try {
    for (const [index, gather] of gathers.entries())
      await send(gather, (response) => writeFile(paths[index] ?? '', response, take))
  } catch (error) {
    remove()
    throw isTooLarge(error) ? tooManyEvents() : error
  }
  const values = query.values.map((value) =>
    value.type === 'FILE' ? { type: 'VARCHAR', text: paths[Number(value.text)] ?? null } : value,
  )
  return { query: { ...query, values }, remove }
}

async function writeFile(
  path: string,
  { body }: Response,
  take: (bytes: number) => void,
): Promise<void> {
  const file = Bun.file(path).writer()
  let end: Buffer = Buffer.alloc(0)
  try {
    for await (const bytes of body ?? []) {
      take(bytes.length)
      await file.write(bytes)
      await file.flush()
      end = Buffer.concat([end, bytes.subarray(-END_BYTES)]).subarray(-END_BYTES)
    }
  } catch (error) {
    if (!isException(end)) throw error
  } finally {
    await file.end()
  }
  if (isException(end)) throw errorOf(end.toString(), null)
}

/** Whether the end of a file is the text of an exception, which the server appends before it ends the connection. */
const isException = (end: Buffer): boolean =>
  end.length > 0 && end.subarray(-MAGIC.length).toString() !== MAGIC && end.includes('Code: ')

const isTooLarge = (error: unknown): boolean =>
  error instanceof ClickHouseError && error.code === RESULT_TOO_LARGE

function tooManyEvents(): Refusal {
  const detail = `Funnels, paths and other folds take about ${FOLDED_EVENTS_MAX} events at most. Choose a shorter range or fewer events.`
  return new Refusal('query_too_large', detail)
}
