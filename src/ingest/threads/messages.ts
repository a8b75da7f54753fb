/** The messages between the main, data and decode threads, and how a group of requests is packed into one. */
import { MIB } from '../../bytes.ts'
import type { ErrorCode } from '../../errors.ts'
import type { PersonChange, PersonChanged } from '../../identity/changes.ts'
import type { GroupDeletion } from '../../identity/group.ts'
import type { EdgeEpoch } from '../../storage/log/edge-positions.ts'
import type { NewFiles } from '../../storage/log/event-log.ts'
import type { ShippingStep } from '../../storage/log/shipments.ts'
import type { CohortChange, OverrideRow } from '../../storage/persons/flag-rows.ts'
import type { CommitTimings } from '../../threads/timings.ts'
import type { PropertyTypeChange } from '../notes/definitions.ts'
import type { PackedEvents, PackedSlice } from './event-packing.ts'
import type { ForwardedEntry } from './prepared-request.ts'

/** One HTTP request as the edge received it. `path` has no query string; missing headers are ''. */
export type RawCapture = {
  readonly path: string
  /** The text after `?`, still encoded; '' without one. */
  readonly query: string
  readonly content_type: string
  readonly content_encoding: string
  /** '' when unknown. */
  readonly client_ip: string
  readonly received_at_ms: number
  readonly body: Uint8Array<ArrayBuffer>
}

/** The outcome of a request. `stored` is sent only after the commit that contains all of it. */
export type CaptureAnswer =
  | {
      readonly kind: 'stored'
      /** Events that this request added to the log. */
      readonly accepted: number
      /** Events dropped with a reason: no name, no distinct id, or a kind that is not stored. */
      readonly dropped: number
      /** Events whose uuid was stored already. */
      readonly repeated: number
    }
  | CaptureRefusal

export type CaptureRefusal = {
  readonly kind: 'refused'
  readonly code: ErrorCode
  readonly detail: string
  readonly attr: string | null
  /** The error of the storage as text: for the log, not for the client. */
  readonly reason?: string
}

/** A bug that this request met: answered 500, logged by the main thread. */
export type CaptureFailure = { readonly kind: 'failed'; readonly message: string }

/** A request's number with its answer. */
export type NumberedAnswer = readonly [id: number, answer: CaptureAnswer | CaptureFailure]

/** Not stored, and not the client's fault: it may repeat the request. */
export const UNAVAILABLE: CaptureRefusal = {
  kind: 'refused',
  code: 'storage_unavailable',
  detail: 'Unable to store event. Please try again.',
  attr: null,
}

/** The refusal of a request that the storage could not take, with the error's text for the log. */
export function refuseForFault(error: unknown): CaptureRefusal {
  return { ...UNAVAILABLE, reason: String(error) }
}

/** A batch as the main thread passes it on, after it has found the edge's rights. */
export type ForwardedBatch = EdgeEpoch & {
  /** The entries, two lines each, as UTF-8. */
  readonly entries: Uint8Array<ArrayBuffer>
  /** The last entry of the batch before it, which may be on its way; null if that one is stored. */
  readonly after: number | null
  /** Projects that the edge may write to. */
  readonly allowed: readonly number[]
  /** Projects that exist, but not for this edge: its entry is refused, and waits for the right. */
  readonly forbidden: readonly number[]
  /** Projects that another server has now: the edge keeps their entries. */
  readonly moved: readonly number[]
  /** The edge's report (`edge/report.ts`) as JSON. */
  readonly report: string
  /** Time of receipt by this server's clock, µs. */
  readonly now: number
}

/**
 * `seq`: the edge's entries up to it are stored. `dropped`: events of projects that do not exist any more. `moved`: the
 * project of the next entry, if another server has it.
 */
export type ForwardedOutcome =
  | {
      readonly kind: 'forwarded'
      readonly seq: number
      readonly accepted: number
      readonly repeated: number
      readonly dropped: number
      readonly moved?: number
    }
  | CaptureRefusal

/** The two lines of an entry, and the call of its batch. */
export type LongEntryLines = {
  readonly call: number
  readonly head: string
  readonly texts: string
}

/** A long entry as the decode thread has parsed and checked it: its events are packed in slices. */
export type LongEntry = Omit<ForwardedEntry, 'events'> & {
  readonly slices: readonly PackedEvents[]
}

export type LongEntryOutcome =
  | { readonly kind: 'read'; readonly entry: LongEntry }
  | CaptureFailure
  | CaptureRefusal

/** Limits of ingestion. */
export type CaptureLimits = {
  /** A body, as sent and after decompression. */
  readonly body_bytes_max: number
  /** One event's properties as JSON. */
  readonly event_bytes_max: number
  readonly properties_max: number
  readonly depth_max: number
  /** The properties of a person or a group, as JSON. */
  readonly person_bytes_max: number
  /** Number of properties of a person or a group. */
  readonly person_properties_max: number
  /** Processor time of one request on the data thread in one turn, ms; the rest of it is applied in slices, in later turns. */
  readonly request_ms_max: number
  /** Processor time of one slice of a large request on the data thread, with its commit, ms. */
  readonly slice_ms_max: number
  /** Rows that a transaction writes before it takes no further event: most of them are written at its end. */
  readonly transaction_rows_max: number
  /** The same in bytes of properties, of events, persons and groups. */
  readonly transaction_bytes_max: number
  /** Bodies of all requests received and not answered yet, together. */
  readonly in_flight_bytes_max: number
}

export const CAPTURE_LIMITS: CaptureLimits = {
  body_bytes_max: 20 * MIB,
  event_bytes_max: MIB,
  properties_max: 10_000,
  depth_max: 128,
  person_bytes_max: 640 * 1024,
  person_properties_max: 2000,
  request_ms_max: 15,
  slice_ms_max: 30,
  transaction_rows_max: 2000,
  transaction_bytes_max: 2 * MIB,
  in_flight_bytes_max: 256 * MIB,
}

/**
 * Events become garbage soon: `smol` threads collect it more often and need a third less memory, at no measurable cost.
 */
export const THREAD_OPTIONS = { smol: true } as const

/** The settings of the data thread and the decode thread. */
export type DataThreadSettings = {
  readonly data_dir: string
  readonly limits: CaptureLimits
  /** Databases that map addresses to places; without any, events are not located. */
  readonly geoip_files: readonly string[]
  /** Days after its receipt for which a repeated uuid is recognized. */
  readonly dedup_days: number
  /** Shared memory in which the thread records its heartbeat and the work in hand. */
  readonly event_loop: SharedArrayBuffer
}

/** Main thread → data thread. */
export type ToDataThread =
  | (DataThreadSettings & { readonly kind: 'open'; readonly timings: CommitTimings })
  | { readonly kind: 'requests'; readonly heads: string; readonly bodies: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'files'; readonly call: number; readonly files: NewFiles }
  | { readonly kind: 'shipping'; readonly call: number; readonly step: ShippingStep }
  | { readonly kind: 'trim'; readonly call: number; readonly up_to_seq: number }
  | { readonly kind: 'overrides'; readonly call: number; readonly rows: readonly OverrideRow[] }
  | { readonly kind: 'cohort'; readonly call: number; readonly change: CohortChange }
  | {
      readonly kind: 'person'
      readonly call: number
      readonly change: GroupDeletion | PersonChange
    }
  | { readonly kind: 'property_type'; readonly call: number; readonly change: PropertyTypeChange }
  | { readonly kind: 'link'; readonly from_decode_thread: MessagePort }
  | { readonly kind: 'forwarded'; readonly call: number; readonly batch: ForwardedBatch }
  | { readonly kind: 'forget'; readonly call: number; readonly project_id: number }
  | { readonly kind: 'remove_events'; readonly call: number; readonly removal_id: number }
  | { readonly kind: 'finish_removal'; readonly call: number; readonly removal_id: number }
  /** `tail_from`: the frame of the write-ahead log from which standbys lack it; null when none follows. */
  | { readonly kind: 'checkpoint'; readonly tail_from: number | null }
  | { readonly kind: 'close' }

/** Main thread → decode thread. */
export type ToDecodeThread =
  | {
      readonly kind: 'open'
      readonly settings: DataThreadSettings
      readonly is_for_large: boolean
      readonly to_data_thread: MessagePort
    }
  | { readonly kind: 'requests'; readonly heads: string; readonly bodies: Uint8Array<ArrayBuffer> }
  | (LongEntryLines & { readonly kind: 'entry' })
  /** These requests are answered: their share of the memory limit is free. */
  | { readonly kind: 'settled'; readonly ids: readonly number[] }
  | { readonly kind: 'forget' }
  | { readonly kind: 'close' }

/** Decode thread → main thread. */
export type FromDecodeThread =
  | { readonly kind: 'opened' }
  /** Requests that decompress to much: the main thread posts them to the decode thread for large ones. */
  | { readonly kind: 'diverted'; readonly heads: string; readonly bodies: Uint8Array<ArrayBuffer> }
  | CommittedAnswers
  | { readonly kind: 'closed' }

/** Decode thread → data thread. */
export type DecodedSlice =
  | { readonly kind: 'decoded'; readonly slice: PackedSlice; readonly project_id: number }
  | { readonly kind: 'abandoned'; readonly id: number }
  | { readonly kind: 'entry'; readonly call: number; readonly outcome: LongEntryOutcome }

/** Data thread → main thread. */
export type FromDataThread =
  | { readonly kind: 'opened'; readonly projects_with_events: readonly number[] }
  | { readonly kind: 'open_failed'; readonly message: string; readonly code: string | null }
  | CommittedAnswers
  /** Requests that decompress to much more than was sent: the main thread posts them to the decode thread for large ones. */
  | { readonly kind: 'diverted'; readonly heads: string; readonly bodies: Uint8Array<ArrayBuffer> }
  /** An entry that takes too long to parse here: the main thread posts it there too. */
  | (LongEntryLines & { readonly kind: 'entry' })
  | { readonly kind: 'done'; readonly call: number; readonly error: string | null }
  | { readonly kind: 'person_changed'; readonly call: number; readonly outcome: PersonChanged }
  | (ForwardedCommit & { readonly kind: 'forwarded' })
  | { readonly kind: 'broken'; readonly message: string }
  | { readonly kind: 'closed' }

/** The work of the main thread after a commit. */
export type CommitEffects = {
  /** Projects whose first event this commit stored. */
  readonly first_events: readonly number[]
  /** Bytes that the commit added to the write-ahead log, estimated. */
  readonly bytes_written: number
}

/** The answers of one commit. */
export type CommittedAnswers = CommitEffects & {
  readonly kind: 'answers'
  readonly answers: readonly NumberedAnswer[]
}

/** The answer of a batch that an edge sent. */
type ForwardedCommit = CommitEffects & {
  readonly call: number
  readonly outcome: ForwardedOutcome
}

/** A request with the id that its answer repeats. */
export type NumberedCapture = RawCapture & { readonly id: number }

type CaptureHead = readonly [
  id: number,
  path: string,
  query: string,
  content_type: string,
  content_encoding: string,
  client_ip: string,
  received_at_ms: number,
  body_bytes: number,
]

/**
 * Packs requests into one text and one buffer, which the caller transfers: five times cheaper to post
 * than an object and a buffer for each of them.
 */
export function packRequests(requests: readonly NumberedCapture[]): {
  heads: string
  bodies: Uint8Array<ArrayBuffer>
} {
  const heads = JSON.stringify(requests.map(headOf))
  const [first, second] = requests
  if (first !== undefined && second === undefined && ownsItsBuffer(first.body)) {
    return { heads, bodies: first.body }
  }
  const bodies = new Uint8Array(requests.reduce((sum, request) => sum + request.body.length, 0))
  let offset = 0
  for (const request of requests) {
    bodies.set(request.body, offset)
    offset += request.body.length
  }
  return { heads, bodies }
}

/** The reverse of `packRequests`; the bodies are views of one buffer. */
export function unpackRequests(
  heads: string,
  bodies: Uint8Array<ArrayBuffer>,
): readonly NumberedCapture[] {
  let offset = 0
  return (JSON.parse(heads) as CaptureHead[]).map((head) => {
    const body = bodies.subarray(offset, offset + head[7])
    offset += head[7]
    return {
      id: head[0],
      path: head[1],
      query: head[2],
      content_type: head[3],
      content_encoding: head[4],
      client_ip: head[5],
      received_at_ms: head[6],
      body,
    }
  })
}

function headOf(request: NumberedCapture): CaptureHead {
  return [
    request.id,
    request.path,
    request.query,
    request.content_type,
    request.content_encoding,
    request.client_ip,
    request.received_at_ms,
    request.body.length,
  ]
}

/** Whether a body can be transferred. All empty bodies share one buffer, which could be transferred only once. */
function ownsItsBuffer(bytes: Uint8Array<ArrayBuffer>): boolean {
  const is_whole = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength
  return is_whole && bytes.byteLength > 0
}
