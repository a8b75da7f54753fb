/** Rows that ClickHouse gathers for folds: each statement's rows become a Parquet file, which the query process reads. */

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '../../errors.ts'
import { ClickHouseError, errorOf } from '../../storage/clickhouse/clickhouse-client.ts'
import { gatheredFolder } from '../../storage/files/parquet.ts'
import type { GatherStatement, WorkerQuery } from '../engine/protocol.ts'

/** Events that one query may fold: 20 million take about 15 s of one core. */
const FOLDED_EVENTS_MAX = 20_000_000
/** The lists of so many events with their actors, in memory of ClickHouse: 8 or 16 bytes an event, 40 an actor. */
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

/** The query that reads files, and the end of these files. */
type QueryOfFiles = { readonly query: WorkerQuery; readonly remove: () => void }

/** Sends a statement and writes its answer. */
type SendGather = (
  statement: GatherStatement,
  write: (response: Response) => Promise<void>,
) => Promise<void>

/** Gathers the rows that a query folds. Throws a ClickHouseError, a Refusal for too many events, and errors of the network. */
export async function gatherFiles(
  { gathers = [], ...query }: WorkerQuery,
  data_dir: string,
  send: SendGather,
): Promise<QueryOfFiles> {
  const folder = gatheredFolder(data_dir, query.project_id)
  const name = crypto.randomUUID()
  const paths = gathers.map((_, index) => join(folder, `${name}-${index}.parquet`))
  const remove = (): void => {
    for (const path of paths) rmSync(path, { force: true })
  }
  mkdirSync(folder, { recursive: true })
  try {
    for (const [index, gather] of gathers.entries())
      await send(gather, (response) => writeFile(paths[index] ?? '', response))
  } catch (error) {
    remove()
    throw isTooLarge(error) ? tooManyEvents() : error
  }
  const values = query.values.map((value) =>
    value.type === 'FILE' ? { type: 'VARCHAR', text: paths[Number(value.text)] ?? null } : value,
  )
  return { query: { ...query, values }, remove }
}

async function writeFile(path: string, { body }: Response): Promise<void> {
  const file = Bun.file(path).writer()
  let end: Buffer = Buffer.alloc(0)
  try {
    for await (const bytes of body ?? []) {
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
