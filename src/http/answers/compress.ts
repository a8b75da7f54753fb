/** Compresses JSON answers: zstd where the client accepts it, else gzip, and nothing that contains a secret. */
import { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import {
  constants,
  createGzip,
  createZstdCompress,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
} from 'node:zlib'
import type { Resource, Scope } from '../../projects/rights/scopes.ts'
import { accepts } from './accept-encoding.ts'
import { isInParts } from './answers.ts'

/** Smaller bodies fit into one packet anyway. */
const COMPRESSED_BYTES_MIN = 1024

/** Larger bodies are compressed by the runtime's thread pool: 128 KiB take 0.6 ms, 10 MB 60 to 120 ms. */
const INLINE_BYTES_MAX = 128 * 1024

/** 145 kB of an insight become 7 kB in 0.5 ms with zstd 3, 120 kB become 7 kB in 0.2 ms with gzip 1. */
const ZSTD_OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }
const GZIP_OPTIONS = { level: 1 }

const gzipInPool = promisify(gzip)
const zstdInPool = promisify(zstdCompress)

/**
 * Resources whose answers contain tokens, invite links or keys. A page that can send requests with a visitor's cookie, and
 * measure the length of a compressed answer in which its own text is repeated, can guess a secret beside it (BREACH).
 */
const SECRET_RESOURCES: readonly Resource[] = [
  'alert',
  'organization',
  'organization_member',
  'plugin',
  'project',
  'sharing_configuration',
  'subscription',
  'user',
]

const SECRET_SCOPES: ReadonlySet<Scope> = new Set(
  SECRET_RESOURCES.flatMap((resource): Scope[] => [`${resource}:read`, `${resource}:write`]),
)

/** Whether answers of routes with this scope may contain a secret. */
export function tellsSecrets(scope: Scope): boolean {
  return SECRET_SCOPES.has(scope)
}

type ContentCoding = keyof typeof CODERS

/**
 * Compresses an answer in JSON of at least 1 kB, in the coding that the request accepts; returns other answers as they
 * are. An answer in parts remains one, so that no more than a part is compressed at a time.
 */
export async function compressAnswer(request: Request, answer: Response): Promise<Response> {
  if (!isJson(answer.headers)) return answer
  addVary(answer.headers)
  const coding = codingOf(request.headers.get('accept-encoding'))
  if (coding === null || answer.status === 304) return answer
  const { status, headers } = answer
  const { inline, inPool, stream } = CODERS[coding]
  if (isInParts(answer) && answer.body !== null) {
    markCompressed(headers, coding)
    return new Response(answer.body.pipeThrough(pair(stream())), { status, headers })
  }
  const bytes = await answer.bytes()
  if (bytes.length < COMPRESSED_BYTES_MIN) return new Response(bytes, { status, headers })
  markCompressed(headers, coding)
  const body = bytes.length <= INLINE_BYTES_MAX ? inline(bytes) : await inPool(bytes)
  return new Response(body, { status, headers })
}

function codingOf(accept_encoding: string | null): ContentCoding | null {
  if (accepts(accept_encoding, 'zstd')) return 'zstd'
  return accepts(accept_encoding, 'gzip') ? 'gzip' : null
}

function isJson(headers: Headers): boolean {
  return headers.get('content-type') === 'application/json' && !headers.has('content-encoding')
}

/** Tells caches that the body depends on Accept-Encoding. */
function addVary(headers: Headers): void {
  const vary = headers.get('vary')
  headers.set('Vary', vary === null ? 'Accept-Encoding' : `${vary}, Accept-Encoding`)
}

/** A strong tag names one sequence of bytes, so a compressed body has a weak one. */
function markCompressed(headers: Headers, coding: ContentCoding): void {
  headers.set('Content-Encoding', coding)
  headers.delete('Content-Length')
  const etag = headers.get('etag')
  if (etag?.startsWith('"')) headers.set('ETag', `W/${etag}`)
}

/** One line per coding: how a small body, a large one and one in parts are compressed; the last two in the thread pool. */
const CODERS = {
  gzip: {
    inline: (bytes: Uint8Array) => gzipSync(bytes, GZIP_OPTIONS),
    inPool: (bytes: Uint8Array) => gzipInPool(bytes, GZIP_OPTIONS),
    stream: () => createGzip(GZIP_OPTIONS),
  },
  zstd: {
    inline: (bytes: Uint8Array) => zstdCompressSync(bytes, ZSTD_OPTIONS),
    inPool: (bytes: Uint8Array) => zstdInPool(bytes, ZSTD_OPTIONS),
    stream: () => createZstdCompress(ZSTD_OPTIONS),
  },
} as const

function pair(compressor: Duplex): ReadableWritablePair<Uint8Array, Uint8Array> {
  return Duplex.toWeb(compressor) as ReadableWritablePair<Uint8Array, Uint8Array>
}
