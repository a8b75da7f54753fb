/** What the main thread and the data thread say to each other, and how a group of requests is packed. */
import type { ErrorCode } from '../../errors.ts'
import type { PersonChange, PersonChanged } from '../../identity/changes.ts'
import type { FileRow, NewFiles } from '../../storage/log/event-log.ts'
import type { CohortChange, OverrideRow } from '../../storage/persons/flag-rows.ts'
import type { PackedSlice } from './event-packing.ts'

export type { CohortChange, FileRow, NewFiles, OverrideRow, PersonChange, PersonChanged }

/** One request as it came in at the edge. `path` has no query string; missing headers are ''. */
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

/** What became of a request. `stored` only after the commit that holds all of it. */
export type CaptureAnswer =
  | {
      readonly kind: 'stored'
      /** Events now in the log because of this request. */
      readonly accepted: number
      /** The documented cases without a name or a distinct id, and kinds that are not kept. */
      readonly dropped: number
      /** Events whose uuid was stored before. */
      readonly repeated: number
    }
  | CaptureRefusal

export type CaptureRefusal = {
  readonly kind: 'refused'
  readonly code: ErrorCode
  readonly detail: string
  readonly attr: string | null
}

/** What only this request can be blamed for but nobody foresaw: answered 500, logged by the main thread. */
export type CaptureFailure = { readonly kind: 'failed'; readonly message: string }

/** A request's number with its answer. */
export type NumberedAnswer = readonly [id: number, answer: CaptureAnswer | CaptureFailure]

/** Not stored, and not the sender's fault: it may send the same again. */
export const UNAVAILABLE: CaptureRefusal = {
  kind: 'refused',
  code: 'storage_unavailable',
  detail: 'Unable to store event. Please try again.',
  attr: null,
}

/** Limits of ingestion. */
export type CaptureLimits = {
  /** A body, as sent and after decompression. */
  readonly body_bytes_max: number
  /** One event's properties as JSON. */
  readonly event_bytes_max: number
  readonly properties_max: number
  readonly depth_max: number
  /** Properties as JSON that a person, or a group, has. */
  readonly person_bytes_max: number
  /** Properties that a person, or a group, has. */
  readonly person_properties_max: number
  /** How long one request may hold the data thread, in ms: the rest of it is applied in slices, in later turns. */
  readonly request_ms_max: number
  /** How long one slice of a large request may hold the data thread, in ms. */
  readonly slice_ms_max: number
  /** Requests received and not answered yet, together. */
  readonly in_flight_bytes_max: number
}

const MIB = 1024 * 1024

export const CAPTURE_LIMITS: CaptureLimits = {
  body_bytes_max: 20 * MIB,
  event_bytes_max: MIB,
  properties_max: 10_000,
  depth_max: 128,
  person_bytes_max: 640 * 1024,
  person_properties_max: 2000,
  request_ms_max: 50,
  slice_ms_max: 10,
  in_flight_bytes_max: 256 * MIB,
}

/** Events are garbage soon after: threads that clear up often need a third less memory, at no cost that could be measured. */
export const THREAD_OPTIONS = { smol: true } as const

/** What the data thread is opened with. */
export type DataThreadSettings = {
  readonly data_dir: string
  readonly limits: CaptureLimits
  /** Databases that tell where an address is; none means that events are not located. */
  readonly geoip_files: readonly string[]
  /** Days for which a repeated uuid is certainly recognized. */
  readonly dedup_days: number
  /** Where the thread records its heartbeat and what it works on. */
  readonly event_loop: SharedArrayBuffer
}

/** Main thread → data thread. */
export type ToDataThread =
  | (DataThreadSettings & { readonly kind: 'open' })
  | { readonly kind: 'requests'; readonly heads: string; readonly bodies: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'files'; readonly call: number; readonly files: NewFiles }
  | { readonly kind: 'trim'; readonly call: number; readonly up_to_seq: number }
  | { readonly kind: 'overrides'; readonly call: number; readonly rows: readonly OverrideRow[] }
  | { readonly kind: 'cohort'; readonly call: number; readonly change: CohortChange }
  | { readonly kind: 'person'; readonly call: number; readonly change: PersonChange }
  | { readonly kind: 'link'; readonly from_prepare_thread: MessagePort }
  | { readonly kind: 'forget'; readonly call: number; readonly project_id: number }
  | { readonly kind: 'remove_events'; readonly call: number; readonly removal_id: number }
  | { readonly kind: 'finish_removal'; readonly call: number; readonly removal_id: number }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'close' }

/** Main thread → prepare thread. */
export type ToDecodeThread =
  | {
      readonly kind: 'open'
      readonly settings: DataThreadSettings
      readonly to_data_thread: MessagePort
    }
  | { readonly kind: 'requests'; readonly heads: string; readonly bodies: Uint8Array<ArrayBuffer> }
  /** These requests are answered. */
  | { readonly kind: 'settled'; readonly ids: readonly number[] }
  | { readonly kind: 'forget' }
  | { readonly kind: 'close' }

/** Prepare thread → main thread. */
export type FromDecodeThread =
  | { readonly kind: 'opened' }
  | CommittedAnswers
  | { readonly kind: 'closed' }

/** Prepare thread → data thread. */
export type DecodedSlice =
  | { readonly kind: 'prepared'; readonly slice: PackedSlice; readonly project_id: number }
  | { readonly kind: 'abandoned'; readonly id: number }

/** Data thread → main thread. */
export type FromDataThread =
  | { readonly kind: 'opened'; readonly projects_with_events: readonly number[] }
  | { readonly kind: 'open_failed'; readonly message: string }
  | CommittedAnswers
  /** Requests that unpack to much more than was sent: the prepare thread is to take them. */
  | { readonly kind: 'diverted'; readonly heads: string; readonly bodies: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'done'; readonly call: number; readonly error: string | null }
  | { readonly kind: 'person_changed'; readonly call: number; readonly outcome: PersonChanged }
  | { readonly kind: 'broken'; readonly message: string }
  | { readonly kind: 'closed' }

/** One commit's answers, with what the main thread should do about it. */
export type CommittedAnswers = {
  readonly kind: 'answers'
  readonly answers: readonly NumberedAnswer[]
  /** Projects whose first event this commit stored. */
  readonly first_events: readonly number[]
  /** Roughly what the commit added to the write-ahead log. */
  readonly bytes_written: number
}

/** A request with the number its answer will carry. */
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
 * Packs requests into one text and one buffer, which is to be transferred: five times cheaper to hand over
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

/** An empty one is the same for all who send nothing: handed over once, it could not be again. */
function ownsItsBuffer(bytes: Uint8Array<ArrayBuffer>): boolean {
  const is_whole = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength
  return is_whole && bytes.byteLength > 0
}
