/** What the forms that keep types have in common: names, types and batches of columns. */

import { readWireType } from '../clickhouse-types.ts'
import { type ColumnType, columnType } from './column-types.ts'
import type { ColumnBatch, PlainValue } from './column-values.ts'
import type { RowSink, RowsHead } from './row-sink.ts'

export type TypedColumn = { readonly name: string; readonly type: ColumnType }

/** The columns of an answer; a name that was there before gets a number, since these forms find columns by name. */
export function typedColumns(head: RowsHead): readonly TypedColumn[] {
  const taken = new Set<string>()
  return head.engine_types.map((engine_type, index) => {
    const hint = readWireType(head.types[index] ?? '', head.timezone)
    const name = freeName(head.columns[index] ?? '', taken)
    taken.add(name)
    return { name, type: columnType(engine_type, hint, head.timezone) }
  })
}

function freeName(search_text: string, taken: ReadonlySet<string>): string {
  for (let number = 2, name = search_text; ; number++) {
    if (!taken.has(name)) return name
    name = `${search_text}_${number}`
  }
}

/** Writes a batch each time it is full; an answer without rows is one empty batch. */
export function batchSink(
  batch: ColumnBatch,
  write: (columns: readonly PlainValue[][], row_count: number) => void,
  finish: (is_last: boolean) => readonly Uint8Array[],
): RowSink {
  let is_empty = true
  const flush = (): void => {
    is_empty = false
    const { row_count } = batch
    write(batch.take(), row_count)
  }
  return {
    add: (chunk, row_count) => {
      batch.add(chunk, row_count)
      if (!batch.is_full) return []
      flush()
      return finish(false)
    },
    end: () => {
      if (is_empty || batch.row_count > 0) flush()
      return finish(true)
    },
  }
}
