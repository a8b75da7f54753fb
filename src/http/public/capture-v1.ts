/** Receives batches of the newer capture protocol, which answers for each event; they are stored as any other batch. */

import { gunzipSync } from 'node:zlib'
import { Refusal } from '../../errors.ts'
import { isDeeperThan } from '../../ingest/pipeline/clean.ts'
import { parseTimestamp } from '../../ingest/pipeline/timestamps.ts'
import { CAPTURE_LIMITS, type CaptureAnswer } from '../../ingest/threads/messages.ts'
import { isObject } from '../../json.ts'
import { resumeWork } from '../../threads/this-thread.ts'
import { parseUuid } from '../../uuid.ts'
import { pathOf } from '../addresses.ts'
import { answerJson } from '../answers.ts'
import type { AppContext } from '../app-context.ts'
import { clientIpFinder } from '../client-ip.ts'
import { corsHeaders, preflightHeaders, withCors } from '../cors.ts'
import type { ClientSocket, Endpoint } from '../endpoint.ts'
import { answerError, type Report } from '../refusals.ts'
import { bearerOf } from '../route.ts'

const PATHS = ['/i/v1/analytics/events', '/i/v1/ai/events'] as const

/** A batch, unpacked: it is read on the main thread, 10 ms for each MiB, where everything else waits meanwhile. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024
const EVENTS_MAX = 10_000
const RETRY_AFTER_S = '1'

/** The result of one event; `drop` means that a retry is pointless. */
type EventResult = { readonly result: 'drop' | 'ok'; readonly details?: string }

/** A batch that cannot be taken as a whole. */
class BatchRefusal extends Error {
  override readonly name = 'BatchRefusal'
  readonly status: number
  readonly tag: string

  constructor(status: number, tag: string, detail: string) {
    super(detail)
    this.status = status
    this.tag = tag
  }
}

type Members = Readonly<Record<string, unknown>>

/** An event of the batch as it is stored, or the reason why it is not. */
type ReadEvent =
  | { readonly kind: 'stored'; readonly text: string }
  | { readonly kind: 'dropped'; readonly details: string }

/** The endpoints of the protocol, answered to callers who send a project's token as their bearer token. */
export function captureV1Endpoints(app: AppContext): readonly Endpoint[] {
  const findClientIp = clientIpFinder(app.trusted_proxies)
  const answer: Endpoint['answer'] = async (request, _params, socket) => {
    try {
      return await answerBatch(app, request, {
        socket,
        client_ip: ipOf(findClientIp, request, socket),
      })
    } catch (error) {
      if (error instanceof BatchRefusal) return answerRefused(request, error)
      const path = pathOf(request.url)
      const report: Report = (err, error_id) => app.log.error({ err, error_id, path })
      return withCors(request, answerError(error, report))
    }
  }
  return PATHS.flatMap((path) => [
    { method: 'POST', path, answer } as const,
    { method: 'OPTIONS', path, answer: answerPreflight } as const,
  ])
}

const ipOf = (
  find: ReturnType<typeof clientIpFinder>,
  request: Request,
  socket: ClientSocket,
): string => find(socket?.requestIP(request)?.address ?? '', request.headers)

async function answerBatch(
  app: AppContext,
  request: Request,
  { socket, client_ip }: { readonly socket: ClientSocket; readonly client_ip: string },
) {
  const token = bearerOf(request)
  if (token === null || app.flags.findProject(token) === null) {
    throw new BatchRefusal(401, 'invalid_api_token', 'The provided API token is not valid.')
  }
  const received_at_ms = Date.now()
  const bytes = unpack(
    request,
    await app.bodies.read(request, BATCH_BYTES_MAX, socket).catch(refuseTooLarge),
  )
  resumeWork()
  const batch = readBatch(bytes)
  const results = new Map<string, EventResult>()
  const texts: string[] = []
  for (const event of batch.events) {
    const uuid = uuidOf(event, results)
    const read = readEvent(event, request.headers)
    if (read.kind === 'stored') texts.push(read.text)
    const is_stored = read.kind === 'stored'
    results.set(uuid, is_stored ? { result: 'ok' } : { result: 'drop', details: read.details })
  }
  if (texts.length > 0) {
    const head = JSON.stringify({
      api_key: token,
      historical_migration: batch.is_historical,
      sent_at: sentAt(request.headers) ?? undefined,
    })
    const body = new TextEncoder().encode(`${head.slice(0, -1)},"batch":[${texts.join(',')}]}`)
    const headers = { content_type: 'application/json', content_encoding: '' }
    const sent = { path: '/batch', query: '', ...headers, client_ip, received_at_ms, body }
    requireStored(await app.capture.send(sent))
  }
  const answer = { results: Object.fromEntries(results) }
  return answerJson(answer, 200, { ...corsHeaders(request) })
}

/** Refuses what does not unpack, and what is too large then. */
function unpack(request: Request, bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity' && encoding !== 'gzip') {
    throw new BatchRefusal(415, 'unsupported_encoding', 'Unsupported content encoding.')
  }
  const is_packed = bytes[0] === 0x1f && bytes[1] === 0x8b
  const unpacked = is_packed ? gunzip(bytes) : bytes
  if (unpacked.length > BATCH_BYTES_MAX) throw tooLarge()
  if (unpacked.length === 0) throw new BatchRefusal(400, 'empty_body', 'Request body is empty.')
  return unpacked
}

function gunzip(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: BATCH_BYTES_MAX + 1 })
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge()
    throw new BatchRefusal(400, 'request_decoding_error', 'Failed to decode request body.')
  }
}

/** Turns the reader's refusal into the protocol's. */
function refuseTooLarge(error: unknown): never {
  throw error instanceof Refusal && error.code === 'request_too_large' ? tooLarge() : error
}

const tooLarge = (): BatchRefusal =>
  new BatchRefusal(413, 'payload_too_large', `A batch has at most ${BATCH_BYTES_MAX} bytes.`)

function readBatch(bytes: Uint8Array): {
  readonly events: readonly Members[]
  readonly is_historical: boolean
} {
  const value = parseBody(bytes)
  const events = isObject(value) ? value['batch'] : undefined
  if (!isObject(value) || !Array.isArray(events) || !events.every(isObject)) throw unreadable()
  if (events.length === 0) throw new BatchRefusal(400, 'empty_batch', 'Request batch is empty.')
  if (events.length > EVENTS_MAX) {
    throw new BatchRefusal(400, 'invalid_batch', `A batch has at most ${EVENTS_MAX} events.`)
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
  new BatchRefusal(400, 'request_parsing_error', 'Failed to parse request body.')

/** Results are by uuid: without one, or with one twice, the batch cannot be answered. */
function uuidOf({ uuid }: Members, results: ReadonlyMap<string, EventResult>): string {
  const text = typeof uuid === 'string' ? uuid.trim() : ''
  if (parseUuid(text) === null) {
    throw new BatchRefusal(400, 'missing_event_uuid', 'An event has no valid uuid.')
  }
  if (!results.has(text)) return text
  throw new BatchRefusal(400, 'duplicate_event_uuid', `Duplicate event uuid: ${text}`)
}

const dropped = (details: string): ReadEvent => ({ kind: 'dropped', details })

/** The event as batches have it. What would refuse a whole batch there drops the event here. */
function readEvent(sent: Members, headers: Headers): ReadEvent {
  const { event, distinct_id, timestamp, properties = {} } = sent
  if (typeof event !== 'string' || event.trim() === '') return dropped('missing_event_name')
  if (typeof distinct_id !== 'string' || distinct_id.trim() === '') {
    return dropped('missing_distinct_id')
  }
  if (typeof timestamp !== 'string' || parseTimestamp(timestamp) === null) {
    return dropped('invalid_event_timestamp')
  }
  const { depth_max, event_bytes_max, properties_max } = CAPTURE_LIMITS
  if (!isObject(properties) || isDeeperThan(sent, depth_max - 1)) {
    return dropped('malformed_event_properties')
  }
  const added = addedProperties(sent, headers)
  if (added === null) return dropped('invalid_options')
  const all = { ...properties, ...added }
  const uuid = String(sent['uuid']).trim()
  const stored = { event, uuid, distinct_id: distinct_id.trim(), timestamp, properties: all }
  const text = JSON.stringify(stored)
  const is_large = Buffer.byteLength(text) > event_bytes_max
  if (is_large || Object.keys(all).length > properties_max) return dropped('payload_too_large')
  return { kind: 'stored', text }
}

/** Options, by the properties that they stand for. */
const OPTIONS = [
  ['cookieless_mode', '$cookieless_mode', readTruth],
  ['disable_skew_correction', '$ignore_sent_at', readTruth],
  ['process_person_profile', '$process_person_profile', readTruth],
  ['product_tour_id', '$product_tour_id', readText],
] as const

/** Members that the protocol sends beside the properties; null where an option has no meaning. */
function addedProperties({ options, session_id, window_id }: Members, headers: Headers) {
  const [, lib, lib_version] =
    /^([\w.@/-]{1,100})\/([\w.+-]{1,100})$/.exec(headers.get('posthog-sdk-info') ?? '') ?? []
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

function readTruth(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') return value !== 0
  const word = typeof value === 'string' ? value.trim().toLowerCase() : ''
  return word === 'true' || word === '1' ? true : word === 'false' || word === '0' ? false : null
}

function readText(value: unknown): string | null {
  return typeof value === 'string' ? value : Number.isInteger(value) ? String(value) : null
}

/** The sender's clock when it sent the batch, as ISO text; null where it does not say. */
function sentAt(headers: Headers): string | null {
  const text = headers.get('posthog-request-timestamp')
  return text !== null && parseTimestamp(text) !== null ? text : null
}

/** Nothing of a batch is stored when this refuses: the same may be sent again, unless its content is at fault. */
function requireStored(answer: CaptureAnswer): void {
  if (answer.kind === 'stored') return
  if (answer.code === 'storage_unavailable') {
    throw new BatchRefusal(503, 'service_unavailable', answer.detail)
  }
  throw new BatchRefusal(400, 'invalid_batch', answer.detail)
}

function answerRefused(request: Request, { status, tag, message }: BatchRefusal): Response {
  const body = { error: tag, error_description: message }
  return answerJson(body, status, {
    ...corsHeaders(request),
    ...(status === 503 ? { 'Retry-After': RETRY_AFTER_S } : {}),
  })
}

/** Answers a browser that asks whether it may send. */
function answerPreflight(request: Request): Response {
  return new Response(null, { status: 204, headers: { ...preflightHeaders(request) } })
}
