/** Common parts of the typed formats (Arrow, Parquet): column names, types and batches. */

import { Slices } from '../../../threads/slices.ts'
import { readClickHouseType } from '../../engine/clickhouse-types.ts'
import { type ColumnType, columnType } from './column-types.ts'
import type { ColumnBatch, PlainValue } from './column-values.ts'
import type { RowSink, RowsHead } from './row-sink.ts'

export type TypedColumn = { readonly name: string; readonly type: ColumnType }

/** Names and types of an answer's columns; a repeated name gets a number, because these formats need unique names. */
export function typedColumns(head: RowsHead): readonly TypedColumn[] {
  const taken = new Set<string>()
  const numbers = new Map<string, number>()
  return head.engine_types.map((engine_type, index) => {
    const hint = readClickHouseType(head.types[index] ?? '', head.timezone)
    const name = freeName(head.columns[index] ?? '', taken, numbers)
    taken.add(name)
    return { name, type: columnType(engine_type, hint, head.timezone) }
  })
}

/** `numbers` has the last number that each name got: 4,000 columns of one name took 8 million looks without it. */
function freeName(
  base_name: string,
  taken: ReadonlySet<string>,
  numbers: Map<string, number>,
): string {
  if (!taken.has(base_name)) return base_name
  for (let number = numbers.get(base_name) ?? 2; ; number++) {
    const name = `${base_name}_${number}`
    if (taken.has(name)) continue
    numbers.set(base_name, number)
    return name
  }
}

/** A sink that writes a batch whenever it is full, each in a turn of its own, and ends the format at the last `takeBytes`; an answer without rows is one empty batch. */
export function batchSink(
  batch: ColumnBatch,
  write: (columns: readonly PlainValue[][], row_count: number) => void,
  takeBytes: (is_last: boolean) => readonly Uint8Array[],
): RowSink {
  let is_empty = true
  const flush = (): void => {
    is_empty = false
    const { row_count } = batch
    write(batch.take(), row_count)
  }
  return {
    add: async (chunk, row_count) => {
      const parts: Uint8Array[] = []
      const slices = new Slices()
      for (let from = 0; from < row_count; from += batch.rows_at_once) {
        await batch.add(chunk, from, Math.min(row_count, from + batch.rows_at_once))
        if (!batch.is_full) continue
        await slices.end()
        flush()
        parts.push(...takeBytes(false))
        await slices.end()
      }
      return parts
    },
    end: () => {
      if (is_empty || batch.row_count > 0) flush()
      return takeBytes(true)
    },
  }
}
