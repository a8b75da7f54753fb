/** Receives batches of edges: unpacks one, and passes its entries to the data thread with the projects it may write to. */
import { promisify } from 'node:util'
import { gunzip, zstdDecompress } from 'node:zlib'
import { MIB } from '../../bytes.ts'
import { readReport } from '../../edge/report.ts'
import { Refusal } from '../../errors.ts'
import { isHexId } from '../../ingest/threads/forwarded-entry.ts'
import type { Caller } from '../../projects/rights/access.ts'
import { listProjectIds } from '../../projects/settings/project.ts'
import { resumeWork } from '../../threads/this-thread.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import type { ClientSocket, Endpoint } from '../endpoint.ts'
import { edgeEndpoint, requireEdgeProjects } from './edge-caller.ts'

/** An unpacked batch. An edge sends about 1 MiB; a single entry with the longest events may have some more. */
const BATCH_BYTES_MAX = 24 * MIB

const UNPACK = { gzip: promisify(gunzip), zstd: promisify(zstdDecompress) } as const

/** The endpoint of `POST /_edge/v1/batch`; see `edge/README.md`, 1. */
export function batchEndpoint(app: AppContext): Endpoint {
  return edgeEndpoint(
    app,
    { method: 'POST', path: '/_edge/v1/batch' },
    (caller, request, _, socket) => answerBatch(app, caller, request, socket),
  )
}

async function answerBatch(
  app: AppContext,
  caller: Caller,
  request: Request,
  socket: ClientSocket,
): Promise<Response> {
  const { headers } = request
  const edge = requireId(headers, 'Tidemark-Edge')
  const epoch = requireId(headers, 'Tidemark-Epoch')
  const after = readAfter(headers.get('tidemark-after'))
  const report = headers.get('tidemark-report') ?? ''
  if (readReport(report) === null) throw invalidHeader('Tidemark-Report', 'a report as JSON')
  const projects = requireEdgeProjects(app, caller)
  const body = await app.bodies.read(request, undefined, socket)
  resumeWork()
  requireDigest(headers, body)
  const text = decode(await unpack(headers.get('content-encoding') ?? '', body))
  const allowed = projects.map(({ id }) => id)
  const is_allowed = new Set(allowed)
  const forbidden = listProjectIds(app.control).filter((id) => !is_allowed.has(id))
  const now = app.now().getTime() * 1000
  const { user_id } = caller
  const sender = { user_id, edge, epoch }
  const batch = { ...sender, text, after, allowed, forbidden, report, now }
  const outcome = await app.forwarding.forward(batch)
  if (outcome.kind === 'refused') {
    throw new Refusal(outcome.code, outcome.detail, { attr: outcome.attr })
  }
  const { kind: _kind, ...stored } = outcome
  return answerJson({ ...stored, keeps_order: true })
}

function readAfter(text: string | null): number | null {
  if (text === null) return null
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw invalidHeader('Tidemark-After', 'the number of an entry')
}

function requireId(headers: Headers, name: string): string {
  const id = headers.get(name)
  if (isHexId(id)) return id
  throw invalidHeader(name, '32 hexadecimal digits')
}

/** Compares the body with its digest: a proxy may have cut or changed it. */
function requireDigest(headers: Headers, body: Uint8Array): void {
  const digest = new Bun.CryptoHasher('sha256').update(body).digest('hex')
  if (headers.get('tidemark-digest') === digest) return
  throw invalidHeader('Tidemark-Digest', 'the SHA-256 of the body as it was sent')
}

function invalidHeader(name: string, expected: string): Refusal {
  return new Refusal('invalid_payload', `The header ${name} must be ${expected}.`, { attr: name })
}

async function unpack(encoding: string, body: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  if (encoding === '' || encoding === 'identity') return body
  if (encoding !== 'gzip' && encoding !== 'zstd') {
    throw new Refusal('unsupported_media_type', 'A batch is encoded as zstd, gzip or not at all.')
  }
  try {
    return await UNPACK[encoding](body, { maxOutputLength: BATCH_BYTES_MAX })
  } catch (error) {
    const is_large = error instanceof RangeError
    if (is_large)
      throw new Refusal('request_too_large', `A batch has at most ${BATCH_BYTES_MAX} bytes.`)
    throw new Refusal('invalid_payload', `A batch could not be unpacked as ${encoding}.`)
  } finally {
    resumeWork()
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Refusal('invalid_payload', 'A batch must be UTF-8.')
  }
}
