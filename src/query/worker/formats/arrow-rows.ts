/** A row sink for Arrow: an IPC stream, written a record batch at a time. */
import {
  AsyncByteQueue,
  Field,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
} from 'apache-arrow'
import { arrowData } from './arrow-data.ts'
import { ColumnBatch } from './column-values.ts'
import type { OpenSink } from './row-sink.ts'
import { batchSink, type TypedColumn, typedColumns } from './typed-rows.ts'

/** Size of a record batch, which is written in one turn: rows, and estimated bytes. */
const BATCH_ROWS = 10_000
const BATCH_BYTES = 2 * 1024 * 1024

/** Collects the writer's bytes until they are sent. */
class ArrowOutput extends AsyncByteQueue {
  #parts: Uint8Array[] = []

  override write(bytes: Uint8Array): void {
    this.#parts.push(bytes)
  }

  takeAll(): Uint8Array {
    const parts = this.#parts
    this.#parts = []
    return Buffer.concat(parts)
  }
}

/** Writes without compression, so that readers can map the stream into memory. */
export const openArrow: OpenSink = (head) => {
  const columns = typedColumns(head)
  const schema = new Schema(columns.map((column) => fieldOf(column)))
  const written = new ArrowOutput()
  const writer = new RecordBatchStreamWriter().reset(written)
  const types = columns.map(({ type }) => type)
  return batchSink(
    new ColumnBatch(types, BATCH_ROWS, BATCH_BYTES),
    (values, length) => {
      const children = types.map((type, index) => arrowData(type, values[index] ?? []))
      const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children })
      writer.write(new RecordBatch(schema, data))
    },
    (is_last) => {
      if (is_last) writer.finish()
      return [written.takeAll()]
    },
  )
}

/** Arrow's uuid extension type; readers without it see 16 bytes. */
const UUID = new Map([['ARROW:extension:name', 'arrow.uuid']])

function fieldOf({ name, type }: TypedColumn): Field {
  return new Field(name, arrowData(type, []).type, true, type.kind === 'uuid' ? UUID : null)
}
