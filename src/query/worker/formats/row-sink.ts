/** What writes rows one after the other, whatever the form: chunks go in, bytes come out. */
import type { DuckDBDataChunk, DuckDBType } from '@duckdb/node-api'

/** What is known of an answer before its first row. */
export type RowsHead = {
  readonly columns: readonly string[]
  /** ClickHouse's names of the columns' types. */
  readonly types: readonly string[]
  readonly engine_types: readonly DuckDBType[]
  /** Serves instants whose type names no zone. */
  readonly timezone: string
}

export type RowSink = {
  /** Takes the first rows of a chunk; what is ready to be sent comes back. */
  readonly add: (chunk: DuckDBDataChunk, row_count: number) => readonly Uint8Array[]
  /** What is left to be sent; to be called once, after the last row. */
  readonly end: () => readonly Uint8Array[]
}

/** Begins an answer in one form. */
export type OpenSink = (head: RowsHead) => RowSink
