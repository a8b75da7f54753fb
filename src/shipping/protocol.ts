/** The protocol between server and shipping process: lines of JSON, one answer per piece of work. */

import type { FileRow } from '../storage/log/event-log.ts'
import type { ShippingFault } from './fault-injection.ts'

/** A piece of work. `path` is that of the file to write. */
export type ShippingWork = { readonly fault?: ShippingFault | null } & (
  | {
      /** Writes events of the log as a batch. */
      readonly kind: 'events'
      readonly path: string
      readonly log_id: string
      readonly after_seq: number
      readonly up_to_seq: number
    }
  | {
      /** Writes a batch again without the events that are there already. */
      readonly kind: 'rest'
      readonly path: string
      readonly from: string
      readonly seqs: readonly number[]
    }
  | {
      /** Writes events of a snapshot file, in the order of their numbers, after the first ones. */
      readonly kind: 'file'
      readonly path: string
      readonly log_id: string
      readonly file: FileRow
      readonly offset: number
      readonly rows_max: number
    }
  | {
      /** Adds up what snapshot files have, in terms that ClickHouse can add up too. */
      readonly kind: 'sums'
      readonly files: readonly FileRow[]
    }
  | {
      /** Writes changed rows of persons, groups and cohorts as files of lines. */
      readonly kind: 'persons'
      readonly folder: string
      readonly after: number
      readonly up_to: number
    }
)

/** A batch as it was written. Times are µs. */
export type WrittenBatch = {
  readonly kind: 'batch'
  readonly row_count: number
  readonly last_seq: number
  readonly byte_count: number
  readonly sha256: string
  readonly min_timestamp: number
  readonly max_timestamp: number
}

/** Lines of one table. */
export type PersonFile = { readonly table: string; readonly path: string; readonly rows: number }

/** Sums over events, as texts, modulo 2^64. */
export type EventSums = {
  readonly rows: string
  readonly seqs: string
  /** The last eight bytes of their uuids. */
  readonly uuids: string
  /** Bytes of their properties as text. */
  readonly property_bytes: string
}

export type ShippingAnswer =
  | WrittenBatch
  | { readonly kind: 'persons'; readonly files: readonly PersonFile[] }
  | { readonly kind: 'sums'; readonly sums: EventSums }
  | { readonly kind: 'failed'; readonly message: string }
