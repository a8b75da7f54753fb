/** What the server and the query process say to each other over a pipe: a JSON head and bytes, length-prefixed. */

import type { Confinement } from '../../storage/process/confinement/confine.ts'

/** What the server tells the query process on its command line, as one JSON text. */
export type ProcessOptions = {
  readonly data_dir: string
  /** A folder of this process alone; the server deletes it when the process has died. */
  readonly work_dir: string
  readonly memory_mb: number
  /** Disk that all queries may use together, when they do not fit into memory. */
  readonly spill_mb: number
  readonly threads: number
  readonly result_bytes_max: number
  readonly projects_max: number
  readonly spare_slots: number
  /** Whether the process gives up what it does not need, as far as the system lets it. */
  readonly is_confined: boolean
}

/** Server → query process. */
export type ToQueryProcess =
  | { readonly kind: 'ask'; readonly id: number; readonly query: WorkerQuery }
  | { readonly kind: 'interrupt'; readonly id: number }
  /** Tell how far a query is; answered by `progress`. */
  | { readonly kind: 'probe'; readonly id: number; readonly probe: number }
  /** A part was taken; send the next. */
  | { readonly kind: 'more'; readonly id: number }
  /** Take the newest manifest into every open project; answered by `adopted`. */
  | { readonly kind: 'adopt'; readonly id: number }
  /** Forget a project; what it reads is looked at again with its next query. */
  | { readonly kind: 'reopen'; readonly project_id: number }

/** Query process → server. The bytes of an `answer` are its rows, or nothing where they came as parts before it. */
export type FromQueryProcess =
  | {
      readonly kind: 'ready'
      readonly memory_is_limited: boolean
      readonly confinement: Confinement
    }
  | ({ readonly kind: 'answer'; readonly id: number } & AnswerHead)
  | { readonly kind: 'part'; readonly id: number }
  | {
      readonly kind: 'progress'
      readonly probe: number
      readonly progress: QueryProgressCounts | null
    }
  | {
      readonly kind: 'refused'
      readonly id: number
      /** An error code, or one of those that `engine-refusals.ts` has for the engine's own failures. */
      readonly code: string
      readonly detail: string
    }
  | { readonly kind: 'adopted'; readonly id: number }
  /** Little address space is left, and none comes back: a fresh process should take over when nothing runs. */
  | { readonly kind: 'worn' }

/** A compiled query as it crosses the pipe. */
export type WorkerQuery = {
  readonly project_id: number
  readonly sql: string
  readonly values: readonly WorkerValue[]
  /** ClickHouse type names of the columns. */
  readonly types: readonly string[]
  /** Relations the SQL touches. */
  readonly reads: readonly string[]
  /** Days since 1970 in UTC whose events it reads, `until` left out; all when it is not there. */
  readonly event_days?: EventDayRange
  readonly timezone: string
  /** Rows to answer; one more only says that there are more. */
  readonly rows_max: number
  /** True when more rows than `rows_max` are a fault of the query, not a page. */
  readonly more_is_too_many: boolean
  /** How the rows are written when they are sent in parts; as one JSON array when it is not there. */
  readonly parts?: { readonly form: RowForm; readonly columns: readonly string[] }
}

/** Null where there is no bound. */
export type EventDayRange = { readonly from: number | null; readonly until: number | null }

/** The ways of writing rows one after the other. */
export type RowForm = 'csv' | 'ndjson' | 'arrow' | 'parquet'

/** How far the engine is. The rows are its own estimate of its work, not those of the answer. */
export type QueryProgressCounts = {
  /** The query's share of what the process read and computed since it began. */
  readonly bytes_read: number
  readonly cpu_us: number
  readonly rows_read: number
  readonly rows_total: number
  readonly elapsed_ms: number
}

/** A bound value: the engine's type name, and the value as text (null stays null) so that no digit is lost. */
export type WorkerValue = { readonly type: string; readonly text: string | null }

export type AnswerHead = {
  readonly row_count: number
  /** There were more rows than the query's `rows_max`. */
  readonly has_more: boolean
  /** Milliseconds spent in following the log, in the engine until the first rows, and in reading the rest. */
  readonly timings: AnswerTimings
}

/** An answer as the server has it. */
export type WorkerAnswer = AnswerHead & {
  /** A JSON array of row arrays, UTF-8, with `ROW_END` between rows. */
  readonly rows_json: Uint8Array
}

export type AnswerTimings = {
  readonly follow_ms: number
  readonly execute_ms: number
  readonly read_ms: number
}

const PREFIX_BYTES = 8
const NOTHING = new Uint8Array(0)

/** A frame as bytes: length of the head, length of the rest, head, rest. */
export function encodeFrame(head: object, rest: readonly Uint8Array[] = []): Uint8Array {
  const text = Buffer.from(JSON.stringify(head))
  const rest_bytes = rest.reduce((sum, part) => sum + part.length, 0)
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32LE(text.length, 0)
  prefix.writeUInt32LE(rest_bytes, 4)
  return Buffer.concat([prefix, text, ...rest])
}

export type ProtocolFrame<Head> = { readonly head: Head; readonly rest: Uint8Array }

/** Cuts a byte stream into frames. Bytes come in pieces of any length; a frame comes out when it is whole. */
export function frameReader<Head>(): (bytes: Uint8Array) => readonly ProtocolFrame<Head>[] {
  let pieces: Uint8Array[] = []
  let have = 0
  let need = PREFIX_BYTES
  return (bytes) => {
    pieces.push(bytes)
    have += bytes.length
    const frames: ProtocolFrame<Head>[] = []
    while (have >= need) {
      const all = pieces.length === 1 ? (pieces[0] ?? NOTHING) : Buffer.concat(pieces)
      const { head_bytes, size } = readPrefix(all)
      need = size
      pieces = [all]
      if (have < need) break
      const head = JSON.parse(
        Buffer.from(all.subarray(PREFIX_BYTES, PREFIX_BYTES + head_bytes)).toString(),
      )
      frames.push({ head, rest: all.subarray(PREFIX_BYTES + head_bytes, size) })
      pieces = [all.subarray(size)]
      have -= size
      need = PREFIX_BYTES
    }
    return frames
  }
}

function readPrefix(bytes: Uint8Array): { readonly head_bytes: number; readonly size: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, PREFIX_BYTES)
  const head_bytes = view.getUint32(0, true)
  return { head_bytes, size: PREFIX_BYTES + head_bytes + view.getUint32(4, true) }
}
