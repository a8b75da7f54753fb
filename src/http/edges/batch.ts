/** Receives batches of edges: unpacks one, and passes its entries to the data thread with the projects it may write to. */
import { promisify } from 'node:util'
import { gunzip, zstdDecompress } from 'node:zlib'
import { MIB } from '../../bytes.ts'
import { readReport } from '../../edge/report.ts'
import { Refusal } from '../../errors.ts'
import { isHexId } from '../../ingest/threads/forwarded-entry.ts'
import type { Caller } from '../../projects/rights/access.ts'
import { listMovedProjects } from '../../projects/settings/moved-project.ts'
import { listProjectIds } from '../../projects/settings/project.ts'
import { FairBudget } from '../../threads/fair-budget.ts'
import { resumeWork } from '../../threads/this-thread.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import type { ClientSocket, Endpoint } from '../endpoint.ts'
import { edgeEndpoint, requireEdgeProjects } from './edge-caller.ts'

/** An unpacked batch. An edge sends about 4 MiB; a single entry with the longest events may have some more. */
const BATCH_BYTES_MAX = 24 * MIB

/** The length of ordinary batches; only one with a single long entry has more. */
const ORDINARY_BYTES_MAX = 6 * MIB

/** All unpacked batches that are not stored yet: a few hundred bytes unpack to the longest one. */
const UNPACKED_BYTES_MAX = 256 * MIB

const UNPACK = { gzip: promisify(gunzip), zstd: promisify(zstdDecompress) } as const

/** Output comes in pieces of this size: the usual 16 KiB cost as much processor time as the unpacking itself. */
const UNPACKED_PIECE_BYTES = MIB

/** The endpoint of `POST /_edge/v1/batch`; see `edge/README.md`, 1. */
export function batchEndpoint(app: AppContext): Endpoint {
  const budget = new FairBudget(UNPACKED_BYTES_MAX)
  return edgeEndpoint(
    app,
    { method: 'POST', path: '/_edge/v1/batch' },
    (caller, request, _, socket) => answerBatch(app, { caller, request, socket, budget }),
  )
}

type BatchRequest = {
  readonly caller: Caller
  readonly request: Request
  readonly socket: ClientSocket
  readonly budget: FairBudget
}

async function answerBatch(
  app: AppContext,
  { caller, request, socket, budget }: BatchRequest,
): Promise<Response> {
  const { headers } = request
  const edge = requireId(headers, 'Tidemark-Edge')
  const epoch = requireId(headers, 'Tidemark-Epoch')
  const after = readAfter(headers.get('tidemark-after'))
  const edge_report = readReport(headers.get('tidemark-report') ?? '')
  if (edge_report === null) throw invalidHeader('Tidemark-Report', 'a report as JSON')
  const projects = requireEdgeProjects(app, caller)
  const allowed = projects.map(({ id }) => id)
  const is_allowed = new Set(allowed)
  // Others list the edges of the projects that they see.
  const report = JSON.stringify({
    ...edge_report,
    projects: edge_report.projects.filter((id) => is_allowed.has(id)),
  })
  const body = await app.bodies.read(request, undefined, socket)
  resumeWork()
  await requireDigest(headers, body)
  const encoding = headers.get('content-encoding') ?? ''
  using charge = chargeOf(budget, caller)
  const entries = await unpack(encoding, body, charge)
  const forbidden = listProjectIds(app.control).filter((id) => !is_allowed.has(id))
  const moved = listMovedProjects(app.control)
  const now = app.now().getTime() * 1000
  const { user_id } = caller
  const sender = { user_id, edge, epoch }
  const batch = { ...sender, entries, after, allowed, forbidden, moved, report, now }
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

/** Compares the body with its digest: a proxy may have cut or changed it. Computed on another thread. */
async function requireDigest(headers: Headers, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', body)).toHex()
  resumeWork()
  if (headers.get('tidemark-digest') === digest) return
  throw invalidHeader('Tidemark-Digest', 'the SHA-256 of the body as it was sent')
}

function invalidHeader(name: string, expected: string): Refusal {
  return new Refusal('invalid_payload', `The header ${name} must be ${expected}.`, { attr: name })
}

/** The bytes of one batch that are charged to the user of its edge until it is answered. */
type UnpackedCharge = Disposable & { readonly set: (bytes: number) => void }

function chargeOf(budget: FairBudget, { user_id }: Caller): UnpackedCharge {
  const owners = [String(user_id)]
  let taken = 0
  return {
    set(bytes) {
      budget.release(owners, taken)
      taken = 0
      if (!budget.hasRoom(bytes) || !budget.isFair(owners, bytes)) throw tooMuchAtOnce()
      budget.take(owners, bytes)
      taken = bytes
    },
    [Symbol.dispose]: () => budget.release(owners, taken),
  }
}

/** Unpacks a body. Its size is charged before: first what ordinary batches have, then what the largest may have. */
async function unpack(
  encoding: string,
  body: Uint8Array<ArrayBuffer>,
  charge: UnpackedCharge,
): Promise<Uint8Array<ArrayBuffer>> {
  if (encoding === '' || encoding === 'identity') {
    charge.set(body.length)
    return body
  }
  if (encoding !== 'gzip' && encoding !== 'zstd') {
    throw new Refusal('unsupported_media_type', 'A batch is encoded as zstd, gzip or not at all.')
  }
  for (const maxOutputLength of [ORDINARY_BYTES_MAX, BATCH_BYTES_MAX]) {
    charge.set(maxOutputLength)
    try {
      const limits = { maxOutputLength, chunkSize: UNPACKED_PIECE_BYTES }
      const bytes = await UNPACK[encoding](body, limits)
      charge.set(bytes.length)
      return bytes
    } catch (error) {
      if (error instanceof Refusal) throw error
      if (!(error instanceof RangeError))
        throw new Refusal('invalid_payload', `A batch could not be unpacked as ${encoding}.`)
    } finally {
      resumeWork()
    }
  }
  throw new Refusal('request_too_large', `A batch has at most ${BATCH_BYTES_MAX} bytes.`)
}

const tooMuchAtOnce = (): Refusal =>
  new Refusal('storage_unavailable', 'Too many batches are waiting to be stored. Please try again.')
