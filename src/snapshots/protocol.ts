/** Messages between the server and the snapshot process: one line of work, then lines of results. */
import type { InstanceOptions } from '../storage/duckdb/duckdb.ts'
import type { FileRow } from '../storage/log/event-log.ts'
import type { CompactOptions } from './writer/compact.ts'
import type { RemoveOptions } from './writer/remove.ts'
import type { WriteOptions } from './writer/write.ts'
import type { ReplicaChange, ReplicaWriteOptions } from './writer/write-replica.ts'

/** The work of the snapshot process: the first line of its standard input. */
export type SnapshotWork =
  | (EngineWork & Pick<InstanceOptions, 'memory_mb' | 'threads'>)
  | { readonly kind: 'verify'; readonly data_dir: string }

/** Work that DuckDB does. */
type EngineWork =
  /** `is_urgent`: whether ingestion shares the processors with it, instead of having priority. */
  | (WriteOptions & { readonly kind: 'write'; readonly is_urgent: boolean })
  | (CompactOptions & { readonly kind: 'compact' })
  | (RemoveOptions & { readonly kind: 'find_removed' | 'remove' })
  | (ReplicaWriteOptions & { readonly kind: 'replica' })

/** One line of its standard output: a file that was written, or one found damaged. `done` comes last, with the last event written. */
export type SnapshotLine =
  | { readonly kind: 'file'; readonly file: FileRow }
  | { readonly kind: 'replica'; readonly step: ReplicaChange }
  | { readonly kind: 'done'; readonly last_seq: number }
