/** Reads request bodies: never more than the limit, JSON only as well-formed UTF-8, checked against a schema. */
import type { Static, TSchema } from 'elysia'
import { Refusal } from '../errors.ts'
import type { Shape } from './shape.ts'

/** A management body deeper than this is nobody's: checks and the rooms behind recurse over it. */
const DEPTH_MAX = 128
const EMPTY = new Uint8Array(0)

/** Reads a body as bytes. Refuses one above the limit before it has arrived, also when its length is not announced. */
export async function readBytes(
  request: Request,
  bytes_max: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const announced = request.headers.get('content-length')
  if (announced === null) {
    return request.body === null ? EMPTY : readStream(request.body, bytes_max)
  }
  if (Number(announced) > bytes_max) throw tooLarge()
  return new Uint8Array(await request.arrayBuffer())
}

/** Reads a body as JSON of a shape. Refuses anything else, naming the first field at fault. */
export async function readJson<Schema extends TSchema>(
  request: Request,
  shape: Shape<Schema>,
  bytes_max: number,
): Promise<Static<Schema>> {
  const value = parseJson(await readBytes(request, bytes_max))
  requireDepth(value)
  return shape.require(value)
}

async function readStream(
  stream: ReadableStream<Uint8Array>,
  bytes_max: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    length += chunk.length
    if (length > bytes_max) throw tooLarge()
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    const cause = error instanceof SyntaxError ? error.message : 'not UTF-8'
    throw new Refusal(
      'parse_error',
      `JSON parse error - ${cause.replace(/^JSON Parse error: /, '')}`,
    )
  }
}

/** Level by level, since a recursive check would be what deep bodies break. */
function requireDepth(value: unknown): void {
  let level: readonly unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) {
      throw new Refusal('parse_error', `JSON parse error - nested deeper than ${DEPTH_MAX} levels`)
    }
    level = level.flatMap((item) =>
      typeof item === 'object' && item !== null ? Object.values(item) : [],
    )
  }
}

const tooLarge = (): Refusal => new Refusal('request_too_large', 'Request too large.')
