/** The interface of row formats: chunks in, bytes out. */
import type { DuckDBDataChunk, DuckDBType } from '@duckdb/node-api'

/** The properties of an answer that are known before its first row. */
export type RowsHead = {
  readonly columns: readonly string[]
  /** ClickHouse type names of the columns. */
  readonly types: readonly string[]
  readonly engine_types: readonly DuckDBType[]
  /** The time zone of instants whose type names none. */
  readonly timezone: string
}

export type RowSink = {
  /** Adds the first rows of a chunk, in slices; returns the bytes that are ready. */
  readonly add: (chunk: DuckDBDataChunk, row_count: number) => Promise<readonly Uint8Array[]>
  /** Returns the remaining bytes; call it once, after the last row. */
  readonly end: () => readonly Uint8Array[]
}

/** Begins an answer in one format. */
export type OpenSink = (head: RowsHead) => RowSink
