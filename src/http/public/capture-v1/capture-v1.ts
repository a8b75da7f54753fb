/** Receives batches of the newer capture protocol, which answers for each event; they are stored as any other batch. */

import { Refusal } from '../../../errors.ts'
import type { CaptureAnswer } from '../../../ingest/threads/messages.ts'
import { DeadlineWorker } from '../../../threads/deadline-worker.ts'
import { noteProject, resumeWork } from '../../../threads/this-thread.ts'
import { answerJson, answerJsonText } from '../../answers/answers.ts'
import { answerPreflight, withCors } from '../../answers/cors.ts'
import type { PublicContext } from '../../app-context.ts'
import { clientIpFinder } from '../../callers/client-ip.ts'
import type { ClientSocket, Endpoint } from '../../endpoint.ts'
import { bearerOf } from '../../route.ts'
import {
  BATCH_BYTES_MAX,
  type BatchReading,
  type BatchReason,
  BatchRefusal,
  readBatch,
  type SentBatch,
  TOO_LARGE,
} from './read-batch.ts'

const PATHS = ['/i/v1/analytics/events', '/i/v1/ai/events'] as const
const RETRY_AFTER_S = '1'

/** Longer batches, unpacked, are read on a thread: 64 KiB take 7 ms at most, 4 MiB 70 to 470 ms. */
const INLINE_BYTES_MAX = 64 * 1024
/** The largest batch takes half a second; the rest is for a busy machine. */
const DEADLINE_MS = 10_000
/** Batches that wait for the thread: together they have 64 MiB. */
const WAITING_MAX = 16
const IDLE_MS = 60_000

const reader = new DeadlineWorker<SentBatch, BatchReading>({
  url: new URL('./read-batch-thread.ts', import.meta.url).href,
  waiting_max: WAITING_MAX,
  idle_ms: IDLE_MS,
  refuseLate: () => new Refusal('storage_unavailable', 'Reading the batch took too long.'),
})

/** The endpoints of the protocol, answered to callers who send a project's token as their bearer token. */
export function captureV1Endpoints(app: PublicContext): readonly Endpoint[] {
  const findClientIp = clientIpFinder(app.trusted_proxies)
  const answer: Endpoint['answer'] = async (request, _params, socket) => {
    try {
      return await answerBatch(app, request, {
        socket,
        client_ip: findClientIp(request, socket),
      })
    } catch (error) {
      if (error instanceof BatchRefusal) return answerRefused(request, error)
      throw error
    }
  }
  return PATHS.flatMap((path) => [
    { method: 'POST', path, answer } as const,
    { method: 'OPTIONS', path, answer: answerPreflight } as const,
  ])
}

async function answerBatch(
  app: PublicContext,
  request: Request,
  { socket, client_ip }: { readonly socket: ClientSocket; readonly client_ip: string },
) {
  const token = bearerOf(request)
  const project = token === null ? null : app.flags.findProject(token)
  if (token === null || project === null) throw new BatchRefusal(UNKNOWN_TOKEN)
  noteProject(project.id)
  const received_at_ms = app.now().getTime()
  const { headers, signal } = request
  const sent: SentBatch = {
    bytes: await app.bodies.read(request, BATCH_BYTES_MAX, socket).catch(refuseTooLarge),
    api_key: token,
    content_encoding: headers.get('content-encoding') ?? '',
    sdk_info: headers.get('posthog-sdk-info') ?? '',
    sent_at: headers.get('posthog-request-timestamp') ?? '',
  }
  resumeWork()
  const { body, answer } = await readHereOrOnThread(sent, project.id, signal)
  if (body !== null) {
    const head = { content_type: 'application/json', content_encoding: '' }
    const capture = { path: '/batch', query: '', ...head, client_ip, received_at_ms, body }
    requireStored(await app.capture.send(capture))
  }
  return withCors(request, answerJsonText(answer))
}

/**
 * Reads a batch, on another thread if it is long. Refuses an unreadable batch with 400, and with 503 when there is no
 * room for it.
 */
async function readHereOrOnThread(sent: SentBatch, project_id: number, signal: AbortSignal) {
  const here: BatchReading =
    sent.bytes.length > INLINE_BYTES_MAX ? { kind: 'too_long' } : readBatch(sent, INLINE_BYTES_MAX)
  const options = { owner: project_id, deadline_ms: DEADLINE_MS, signal }
  const reading =
    here.kind === 'too_long' ? await reader.run(sent, options).catch(refuseBusy) : here
  if (reading.kind === 'read') return reading
  throw new BatchRefusal(reading.kind === 'refused' ? reading.reason : TOO_LARGE)
}

const UNKNOWN_TOKEN: BatchReason = {
  status: 401,
  tag: 'invalid_api_token',
  detail: 'The provided API token is not valid.',
}

const serviceUnavailable = (detail: string): BatchRefusal =>
  new BatchRefusal({ status: 503, tag: 'service_unavailable', detail })

/** Turns the thread's refusals into the protocol's. */
function refuseBusy(error: unknown): never {
  throw error instanceof Refusal ? serviceUnavailable(error.detail) : error
}

/** Turns the body reader's refusal into the protocol's. */
function refuseTooLarge(error: unknown): never {
  const is_too_large = error instanceof Refusal && error.code === 'request_too_large'
  throw is_too_large ? new BatchRefusal(TOO_LARGE) : error
}

/** Nothing of a batch is stored when this refuses: the same may be sent again, unless its content is at fault. */
function requireStored(answer: CaptureAnswer): void {
  if (answer.kind === 'stored') return
  if (answer.code === 'storage_unavailable') throw serviceUnavailable(answer.detail)
  throw new BatchRefusal({ status: 400, tag: 'invalid_batch', detail: answer.detail })
}

function answerRefused(request: Request, { reason }: BatchRefusal): Response {
  const { status, tag, detail } = reason
  const body = { error: tag, error_description: detail }
  const headers = status === 503 ? { 'Retry-After': RETRY_AFTER_S } : {}
  return withCors(request, answerJson(body, status, headers))
}
