/** The protocol between server and worker over a pipe: length-prefixed frames of a JSON head and bytes. */

import { KIB } from '../../bytes.ts'

import type { QueryReads } from '../../hogql/query-reads.ts'
import type { Confinement } from '../../storage/process/confinement/confine.ts'

/** The worker's command-line argument, one JSON text. */
export type ProcessOptions = {
  readonly data_dir: string
  /** A folder of the worker; the server deletes it after its exit. */
  readonly work_dir: string
  readonly memory_mb: number
  /** Disk that all queries may spill to together, in MiB. */
  readonly spill_mb: number
  readonly threads: number
  readonly result_bytes_max: number
  readonly projects_max: number
  readonly spare_slots: number
  /** True enters Landlock and seccomp, as far as the system allows. */
  readonly is_confined: boolean
}

/** Server → worker. */
export type ToQueryProcess =
  | { readonly kind: 'run'; readonly id: number; readonly query: WorkerQuery }
  | { readonly kind: 'interrupt'; readonly id: number }
  /** Requests the progress of a query; answered by `progress`. */
  | { readonly kind: 'probe'; readonly id: number; readonly probe: number }
  /** A part was consumed; the worker may send the next. */
  | { readonly kind: 'more'; readonly id: number }
  /** Adopts the newest manifest in every open project; answered by `adopted`. */
  | { readonly kind: 'adopt'; readonly id: number }
  /** Closes a project; its next query opens and checks its files again. */
  | { readonly kind: 'reopen'; readonly project_id: number }
  /** Loads the engine ahead of the first query. */
  | { readonly kind: 'warm' }

/** Worker → server. The bytes of an `answer` are its rows; empty when they were sent as parts before it. */
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
      /** An error code, or one of the codes for failures of the engine in `engine-refusals.ts`. */
      readonly code: string
      readonly detail: string
    }
  | { readonly kind: 'adopted'; readonly id: number }
  /** Little address space is left, and DuckDB returns none: the server should replace the worker when nothing runs. */
  | { readonly kind: 'worn' }

/** A compiled query as sent to the worker. */
export type WorkerQuery = {
  readonly project_id: number
  readonly sql: string
  readonly values: readonly WorkerValue[]
  /** ClickHouse type names of the columns. */
  readonly types: readonly string[]
  readonly reads: QueryReads
  readonly timezone: string
  /** Maximum number of rows in the answer; a further row only sets `has_more`. */
  readonly rows_max: number
  /** True when more rows than `rows_max` are an error, not the end of a page. */
  readonly more_is_too_many: boolean
  /** True asks for the plan of the statement instead of its rows: rows of a name and a text. */
  readonly is_plan?: true
  /** Statements of ClickHouse whose rows `sql` reads from files; the path of the n-th is bound to the value `FILE` n. */
  readonly gathers?: readonly GatherStatement[]
  /** Reads the rows of `sql` from the file 0, for formats that only the worker writes. */
  readonly file_statement?: GatherStatement
  /** The format of rows sent in parts; when missing, the answer is one JSON array. */
  readonly parts?: { readonly form: RowForm; readonly columns: readonly string[] }
}

/** A statement with its values. */
export type GatherStatement = { readonly sql: string; readonly values: readonly WorkerValue[] }

/** The formats of streamed rows. */
export type RowForm = 'csv' | 'ndjson' | 'arrow' | 'parquet' | 'xlsx'

/** The progress of a query. Rows are DuckDB's estimate of its work, not rows of the answer. */
export type QueryProgressCounts = {
  /** The query's share of the rows, bytes and time of its worker since the query began. */
  readonly bytes_read: number
  readonly cpu_us: number
  readonly rows_read: number
  readonly rows_total: number
  readonly elapsed_ms: number
}

/** A bound value: the engine's type name, and the value as text (null stays null) so that no digit is lost. */
export type WorkerValue = { readonly type: string; readonly text: string | null }

type AnswerHead = {
  readonly row_count: number
  /** True when the query has more rows than its `rows_max`. */
  readonly has_more: boolean
  /** Milliseconds spent on catching up with the log, in DuckDB until the first rows, and on reading the rest. */
  readonly timings: AnswerTimings
}

/** An answer on the server's side. */
export type WorkerAnswer = AnswerHead & {
  /** A JSON array of row arrays, UTF-8, with `ROW_END` between rows. */
  readonly rows_json: Uint8Array
}

type AnswerTimings = {
  readonly follow_ms: number
  readonly execute_ms: number
  readonly read_ms: number
}

const PREFIX_BYTES = 8
const NOTHING = new Uint8Array(0)

/**
 * Encodes a frame as parts: length of the head, length of the rest, head; then the rest as it is. Joined with an answer of
 * 64 MiB, it needed as much memory again, at the moment at which the query has used up its own.
 */
export function encodeFrame(head: object, rest: readonly Uint8Array[] = []): readonly Uint8Array[] {
  const text = Buffer.from(JSON.stringify(head))
  const rest_bytes = rest.reduce((sum, part) => sum + part.length, 0)
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32LE(text.length, 0)
  prefix.writeUInt32LE(rest_bytes, 4)
  return [Buffer.concat([prefix, text]), ...rest]
}

/** Texts from this length on follow the head as bytes: as JSON, 8 MB of them took 20 ms more of the server's thread. */
const BESIDE_LENGTH_MIN = 64 * KIB

/** A value whose text follows the head, as `bytes` bytes; the texts are in the order of the values. */
type ValueBeside = { readonly type: string; readonly bytes: number }
type SentMessage =
  | Exclude<ToQueryProcess, { kind: 'run' }>
  | {
      readonly kind: 'run'
      readonly id: number
      readonly query: Omit<WorkerQuery, 'values'> & {
        readonly values: readonly (ValueBeside | WorkerValue)[]
      }
    }

/** Encodes a message to the worker; the long texts of a query follow its head. */
export function encodeMessage(message: ToQueryProcess): readonly Uint8Array[] {
  if (message.kind !== 'run') return encodeFrame(message)
  const rest: Uint8Array[] = []
  const values = message.query.values.map((value) => {
    const { type, text } = value
    // JSON keeps a lone surrogate, UTF-8 does not.
    if (text === null || text.length < BESIDE_LENGTH_MIN || !text.isWellFormed()) return value
    const bytes = Buffer.from(text)
    rest.push(bytes)
    return { type, bytes: bytes.length }
  })
  return encodeFrame({ ...message, query: { ...message.query, values } }, rest)
}

/** Reads the messages of the server: the reverse of `encodeMessage`. */
export function messageReader(): (bytes: Uint8Array) => readonly ToQueryProcess[] {
  const read = frameReader<SentMessage>()
  return (bytes) => read(bytes).map(messageOf)
}

function messageOf({ head, rest }: ProtocolFrame<SentMessage>): ToQueryProcess {
  if (head.kind !== 'run') return head
  let start = 0
  const values = head.query.values.map((value) => {
    if (!('bytes' in value)) return value
    const text = Buffer.from(rest.buffer, rest.byteOffset + start, value.bytes).toString()
    start += value.bytes
    return { type: value.type, text }
  })
  return { ...head, query: { ...head.query, values } }
}

type ProtocolFrame<Head> = { readonly head: Head; readonly rest: Uint8Array }

/** Makes a reader that cuts a byte stream into frames. Bytes may come in pieces of any length; a frame is returned when complete. */
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
