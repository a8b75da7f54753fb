/** Executes one compiled SELECT on a connection and writes its rows, within the limits of an answer. */

import {
  type DuckDBConnection,
  DuckDBDateValue,
  type DuckDBPreparedStatement,
  type DuckDBResult,
  DuckDBTimestampValue,
  DuckDBUUIDValue,
} from '@duckdb/node-api'
import { Refusal } from '../../errors.ts'
import { ROW_END } from '../../threads/sliced-json.ts'
import { refuseTooLarge } from '../engine/engine-refusals.ts'
import type { WorkerQuery, WorkerValue } from '../engine/protocol.ts'
import { rowWriter } from './formats/json-rows.ts'
import { ROW_FORMS } from './formats/row-forms.ts'
import type { ReaderConnection } from './reader-connections.ts'

type WrittenRows = {
  readonly bytes: readonly Uint8Array[]
  readonly row_count: number
  readonly has_more: boolean
  readonly execute_ms: number
  readonly read_ms: number
}

/** Executes a query into one JSON array. Throws a Refusal for too many rows or bytes, and the errors of DuckDB. */
export async function answerQuery(
  reader: ReaderConnection,
  query: WorkerQuery,
  bytes_max: number,
): Promise<WrittenRows> {
  const started_at = performance.now()
  const result = await begin(reader, query)
  const executed_at = performance.now()
  const rows = await readRows(result, query, bytes_max)
  if (!rows.has_more && rows.row_count > CHUNK_ROWS) await requireWhole(reader.connection)
  reader.keep()
  const execute_ms = executed_at - started_at
  return { ...rows, execute_ms, read_ms: performance.now() - executed_at }
}

/** Executes a query in parts: each is sent before the next is computed. Throws like `answerQuery`, also after parts were sent. */
export async function sendParts(
  reader: ReaderConnection,
  query: WorkerQuery,
  send: (part: Uint8Array) => Promise<void>,
): Promise<WrittenRows> {
  const { form, columns } = query.parts ?? { form: 'ndjson', columns: [] }
  const { types, timezone, rows_max } = query
  const openSink = await ROW_FORMS[form]()
  const started_at = performance.now()
  const result = await begin(reader, query)
  const executed_at = performance.now()
  const sink = openSink({ columns, types, engine_types: result.columnTypes(), timezone })
  let row_count = 0
  for (;;) {
    const chunk = await result.fetchChunk()
    if (chunk === null || chunk.rowCount === 0) break
    const room = rows_max - row_count
    row_count += Math.min(room, chunk.rowCount)
    const parts = await sink.add(chunk, Math.min(room, chunk.rowCount))
    if (chunk.rowCount > room) throw refuseTooLarge(`${rows_max} rows`)
    for (const part of parts) await send(part)
  }
  await requireWhole(reader.connection)
  for (const part of sink.end()) await send(part)
  const execute_ms = executed_at - started_at
  const read_ms = performance.now() - executed_at
  return { bytes: [], row_count, has_more: false, execute_ms, read_ms }
}

/** DuckDB's chunk size. An error among the first rows is thrown before any is returned. */
const CHUNK_ROWS = 2048

/** Refuses a truncated stream: DuckDB ends it without an error, but the transaction is aborted. */
async function requireWhole(connection: DuckDBConnection): Promise<void> {
  try {
    await connection.run('select 1')
  } catch {
    throw new Refusal('query_failed', 'The query failed while its rows were read.')
  }
}

async function begin(reader: ReaderConnection, query: WorkerQuery): Promise<DuckDBResult> {
  const statement = await reader.begin(query.sql)
  // `begin` has refused all but a single SELECT, so that EXPLAIN runs nothing.
  const prepared =
    query.is_plan === true ? await reader.connection.prepare(`explain ${query.sql}`) : statement
  query.values.forEach((value, index) => bindValue(prepared, index + 1, value))
  return prepared.stream()
}

async function readRows(
  result: DuckDBResult,
  query: WorkerQuery,
  bytes_max: number,
): Promise<Pick<WrittenRows, 'bytes' | 'row_count' | 'has_more'>> {
  const writer = rowWriter(query.types, query.timezone)
  const bytes: Uint8Array[] = [OPEN]
  let byte_count = OPEN.length + CLOSE.length
  let row_count = 0
  for (;;) {
    const chunk = await result.fetchChunk()
    if (chunk === null || chunk.rowCount === 0) break
    const room = query.rows_max - row_count
    if (row_count > 0 && room > 0) bytes.push(BETWEEN)
    for await (const text of writer.writeChunk(chunk, room)) {
      const part = Buffer.from(text)
      byte_count += part.length
      if (byte_count > bytes_max) throw refuseTooLarge(`${bytes_max} bytes`)
      bytes.push(part)
    }
    row_count += Math.min(room, chunk.rowCount)
    if (chunk.rowCount <= room) continue
    if (query.more_is_too_many) throw refuseTooLarge(`${query.rows_max} rows`)
    return { bytes: [...bytes, CLOSE], row_count, has_more: true }
  }
  return { bytes: [...bytes, CLOSE], row_count, has_more: false }
}

const OPEN = Buffer.from('[')
const CLOSE = Buffer.from(']')
const BETWEEN = Buffer.from(ROW_END)

type BindValue = (prepared: DuckDBPreparedStatement, index: number, text: string) => void

/** One line per type that the printer binds: reads the value from its text. */
const BINDS: Readonly<Record<string, BindValue>> = {
  BIGINT: (prepared, index, text) => prepared.bindBigInt(index, BigInt(text)),
  BOOLEAN: (prepared, index, text) => prepared.bindBoolean(index, text === 'true'),
  DATE: (prepared, index, text) => prepared.bindDate(index, new DuckDBDateValue(Number(text))),
  DOUBLE: (prepared, index, text) => prepared.bindDouble(index, Number(text)),
  HUGEINT: (prepared, index, text) => prepared.bindHugeInt(index, BigInt(text)),
  TIMESTAMP: (prepared, index, text) =>
    prepared.bindTimestamp(index, new DuckDBTimestampValue(BigInt(text))),
  UUID: (prepared, index, text) =>
    prepared.bindUUID(index, DuckDBUUIDValue.fromUint128(BigInt(`0x${text.replaceAll('-', '')}`))),
  VARCHAR: (prepared, index, text) => prepared.bindVarchar(index, text),
}

function bindValue(prepared: DuckDBPreparedStatement, index: number, value: WorkerValue): void {
  const bind = BINDS[value.type]
  if (bind === undefined) throw new Error(`no way to bind a value of type ${value.type}`)
  if (value.text === null) prepared.bindNull(index)
  else bind(prepared, index, value.text)
}
