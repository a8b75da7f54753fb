/** Reads batches of the newer capture protocol: bytes → the same events as a batch of the older one, and a result for each. */

import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { isDeeperThan } from '../../../ingest/pipeline/clean.ts'
import { parseTimestamp } from '../../../ingest/pipeline/timestamps.ts'
import { CAPTURE_LIMITS } from '../../../ingest/threads/messages.ts'
import { isObject } from '../../../json.ts'
import { parseUuid } from '../../../uuid.ts'

/** The most bytes of a batch, as sent and unpacked. */
export const BATCH_BYTES_MAX = 4 * 1024 * 1024
const EVENTS_MAX = 10_000
/**
 * Bytes that ingestion may add to an event: its address, the place of that, the time of sending. An event without this
 * room is dropped here: there it would refuse the whole batch.
 */
const ADDED_BYTES_MAX = 4 * 1024

/** A batch as it was sent, as plain data. Missing headers are ''. */
export type SentBatch = {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly api_key: string
  readonly content_encoding: string
  /** `posthog-sdk-info`, such as `posthog-node/5.1.0`. */
  readonly sdk_info: string
  /** `posthog-request-timestamp`: the sender's clock when it sent the batch. */
  readonly sent_at: string
}

/** A batch that was read or refused as a whole; `too_long` when it has more bytes, unpacked, than its reader allows. */
export type BatchReading =
  | {
      readonly kind: 'read'
      /** Body of a request to `/batch`; null when no event can be stored. */
      readonly body: Uint8Array<ArrayBuffer> | null
      /** JSON of the answer, once the events are stored. */
      readonly answer: string
    }
  | { readonly kind: 'refused'; readonly reason: BatchReason }
  | { readonly kind: 'too_long' }

/** The reason why a batch is refused: the status, the protocol's word, and a sentence. */
export type BatchReason = {
  readonly status: number
  readonly tag: string
  readonly detail: string
}

/** The refusal of a batch beyond `BATCH_BYTES_MAX`. */
export const TOO_LARGE: BatchReason = {
  status: 413,
  tag: 'payload_too_large',
  detail: `A batch has at most ${BATCH_BYTES_MAX} bytes.`,
}

/** The result of one event; `drop` means that a retry is pointless. */
type EventResult = { readonly result: 'drop' | 'ok'; readonly details?: string }

/** Refuses a batch as a whole. */
export class BatchRefusal extends Error {
  override readonly name = 'BatchRefusal'
  readonly reason: BatchReason

  constructor(reason: BatchReason) {
    super(reason.detail)
    this.reason = reason
  }
}

const refuseBatch = (status: number, tag: string, detail: string): BatchRefusal =>
  new BatchRefusal({ status, tag, detail })

type Members = Readonly<Record<string, unknown>>

/** An event of the batch as it is stored, or the reason why it is not. */
type ReadEvent =
  | { readonly kind: 'stored'; readonly text: string }
  | { readonly kind: 'dropped'; readonly details: string }

/** Reads a batch of at most `bytes_max` unpacked bytes, in up to 100 ms for each MiB of them. */
export function readBatch(sent: SentBatch, bytes_max: number = BATCH_BYTES_MAX): BatchReading {
  try {
    const bytes = unpack(sent, bytes_max)
    return bytes === null ? { kind: 'too_long' } : readUnpacked(sent, bytes)
  } catch (error) {
    if (error instanceof BatchRefusal) return { kind: 'refused', reason: error.reason }
    throw error
  }
}

function readUnpacked({ api_key, sdk_info, sent_at }: SentBatch, bytes: Uint8Array): BatchReading {
  const batch = parseBatch(bytes)
  const results = new Map<string, EventResult>()
  const texts: string[] = []
  for (const event of batch.events) {
    const uuid = requireUuid(event, results)
    const read = readEvent(event, sdk_info)
    if (read.kind === 'dropped') {
      results.set(uuid, { result: 'drop', details: read.details })
      continue
    }
    texts.push(read.text)
    results.set(uuid, { result: 'ok' })
  }
  const head = JSON.stringify({
    api_key,
    historical_migration: batch.is_historical,
    sent_at: parseTimestamp(sent_at) === null ? undefined : sent_at,
  })
  const text = `${head.slice(0, -1)},"batch":[${texts.join(',')}]}`
  return {
    kind: 'read',
    body: texts.length === 0 ? null : new TextEncoder().encode(text),
    answer: JSON.stringify({ results: Object.fromEntries(results) }),
  }
}

/** Deflate has the header of zlib (RFC 1950), as posthog-go sends it. */
const UNPACK = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
} as const

/** Encodings by their names in the header; gzip is found by its magic bytes, announced or not. */
const ENCODINGS: ReadonlyMap<string, keyof typeof UNPACK | null> = new Map([
  ['', null],
  ['identity', null],
  ['gzip', null],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
])

/** The bytes in a batch; null when there are too many. Refuses a body that does not unpack. */
function unpack({ bytes, content_encoding }: SentBatch, bytes_max: number): Uint8Array | null {
  const announced = ENCODINGS.get(content_encoding.trim().toLowerCase())
  if (announced === undefined) {
    throw refuseBatch(415, 'unsupported_encoding', 'Unsupported content encoding.')
  }
  const is_gzip = bytes[0] === 0x1f && bytes[1] === 0x8b
  const encoding = announced ?? (is_gzip ? 'gzip' : null)
  const unpacked = encoding === null ? bytes : decode(bytes, encoding, bytes_max)
  if (unpacked === null || unpacked.length > bytes_max) return null
  if (unpacked.length === 0) throw refuseBatch(400, 'empty_body', 'Request body is empty.')
  return unpacked
}

function decode(bytes: Uint8Array, encoding: keyof typeof UNPACK, bytes_max: number) {
  try {
    return UNPACK[encoding](bytes, { maxOutputLength: bytes_max + 1 })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw refuseBatch(400, 'request_decoding_error', 'Failed to decode request body.')
  }
}

function parseBatch(bytes: Uint8Array): {
  readonly events: readonly Members[]
  readonly is_historical: boolean
} {
  const value = parseBody(bytes)
  const events = isObject(value) ? value['batch'] : undefined
  if (!isObject(value) || !Array.isArray(events) || !events.every(isObject)) throw unreadable()
  if (events.length === 0) throw refuseBatch(400, 'empty_batch', 'Request batch is empty.')
  if (events.length > EVENTS_MAX) {
    throw refuseBatch(400, 'invalid_batch', `A batch has at most ${EVENTS_MAX} events.`)
  }
  return { events, is_historical: value['historical_migration'] === true }
}

function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw unreadable()
  }
}

const unreadable = (): BatchRefusal =>
  refuseBatch(400, 'request_parsing_error', 'Failed to parse request body.')

/** Results are by uuid: without one, or with one twice, the batch cannot be answered. */
function requireUuid({ uuid }: Members, results: ReadonlyMap<string, EventResult>): string {
  const text = typeof uuid === 'string' ? uuid.trim() : ''
  if (parseUuid(text) === null) {
    throw refuseBatch(400, 'missing_event_uuid', 'An event has no valid uuid.')
  }
  if (!results.has(text)) return text
  throw refuseBatch(400, 'duplicate_event_uuid', `Duplicate event uuid: ${text}`)
}

const dropEvent = (details: string): ReadEvent => ({ kind: 'dropped', details })

/** The event as batches have it. A fault that would refuse a whole batch there drops the event here. */
function readEvent(sent: Members, sdk_info: string): ReadEvent {
  const { event, distinct_id, timestamp, properties = {} } = sent
  if (typeof event !== 'string' || event.trim() === '') return dropEvent('missing_event_name')
  if (typeof distinct_id !== 'string' || distinct_id.trim() === '') {
    return dropEvent('missing_distinct_id')
  }
  if (typeof timestamp !== 'string' || parseTimestamp(timestamp) === null) {
    return dropEvent('invalid_event_timestamp')
  }
  const { depth_max, event_bytes_max, properties_max } = CAPTURE_LIMITS
  if (!isObject(properties) || isDeeperThan(sent, depth_max - 1)) {
    return dropEvent('malformed_event_properties')
  }
  const added = addedProperties(sent, sdk_info)
  if (added === null) return dropEvent('invalid_options')
  const all = { ...properties, ...added }
  const uuid = String(sent['uuid']).trim()
  const stored = { event, uuid, distinct_id: distinct_id.trim(), timestamp, properties: all }
  const text = JSON.stringify(stored)
  const is_large = Buffer.byteLength(text) > event_bytes_max - ADDED_BYTES_MAX
  if (is_large || Object.keys(all).length > properties_max) return dropEvent('payload_too_large')
  return { kind: 'stored', text }
}

/** Options of the protocol, by the event properties that they set. */
const OPTIONS = [
  ['cookieless_mode', '$cookieless_mode', readBoolean],
  ['disable_skew_correction', '$ignore_sent_at', readBoolean],
  ['process_person_profile', '$process_person_profile', readBoolean],
  ['product_tour_id', '$product_tour_id', readText],
] as const

/** Members that the protocol sends beside the properties; null where an option has no meaning. */
function addedProperties({ options, session_id, window_id }: Members, sdk_info: string) {
  const [, lib, lib_version] = /^([\w.@/-]{1,100})\/([\w.+-]{1,100})$/.exec(sdk_info) ?? []
  const added: Record<string, unknown> = {
    ...(lib === undefined ? {} : { $lib: lib, $lib_version: lib_version }),
    ...(typeof session_id === 'string' ? { $session_id: session_id } : {}),
    ...(typeof window_id === 'string' ? { $window_id: window_id } : {}),
  }
  if (options === undefined || options === null) return added
  if (!isObject(options)) return null
  for (const [name, property, read] of OPTIONS) {
    const value = options[name] ?? null
    const meaning = value === null ? undefined : read(value)
    if (meaning === null) return null
    if (meaning !== undefined) added[property] = meaning
  }
  return added
}

function readBoolean(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') return value !== 0
  const word = typeof value === 'string' ? value.trim().toLowerCase() : ''
  return word === 'true' || word === '1' ? true : word === 'false' || word === '0' ? false : null
}

function readText(value: unknown): string | null {
  return typeof value === 'string' ? value : Number.isInteger(value) ? String(value) : null
}
