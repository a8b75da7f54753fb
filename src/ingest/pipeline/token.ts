/** Finds a project token in a request, and validates its form before it is looked up. */
import type * as Zlib from 'node:zlib'
import { type ErrorCode, Refusal } from '../../errors.ts'
import type { RawCapture } from '../threads/messages.ts'

const TOKEN_LENGTH_MAX = 64

/** A member of JSON that may have a token: the names that requests use, with a text of a token's form. */
const TOKEN_MEMBER = /"(?:\$?token|api_key)"\s*:\s*"\s*([\x21\x23-\x5b\x5d-\x7e]{1,64})\s*"/g
const TOKEN_NAMES = ['"api_key"', '"token"', '"$token"'] as const
/** Members read from the start of a body; properties of events may be called `token` too. */
const MEMBERS_MAX = 1000

/** Bytes at either end of a body that are searched for its token: SDKs put it first or last. */
const SEARCHED_BYTES = 4096
/** Compressed bytes that are unpacked for it: 70 µs, 1.4 ms if they are a bomb of half a megabyte. */
const UNPACKED_BYTES = 512

/**
 * Guesses the project's token of a request that is not decoded, from its query string and the ends of its body; null
 * if there is none. Not validated, and a client may name a wrong one here: only good for sharing among projects.
 */
export function guessToken({ query, body }: Pick<RawCapture, 'query' | 'body'>): string | null {
  const named = /(?:^|&)(?:token|api_key)=([^&]{1,64})/.exec(query)?.[1]
  return named ?? searchToken(isGzip(body) ? unpackStart(body) : endsOf(body))
}

function searchToken(text: string): string | null {
  return text.matchAll(TOKEN_MEMBER).next().value?.[1] ?? null
}

function endsOf(body: Uint8Array): string {
  const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, SEARCHED_BYTES))
  return start.toString('latin1') + Buffer.from(body.slice(-SEARCHED_BYTES)).toString('latin1')
}

function unpackStart(body: Uint8Array): string {
  try {
    const start = body.subarray(0, UNPACKED_BYTES)
    const { constants, gunzipSync } = loadZlib()
    const plain = gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH })
    return plain.toString('latin1', 0, SEARCHED_BYTES)
  } catch {
    return ''
  }
}

/** Decides by the magic bytes alone: clients announce gzip wrongly, or not at all. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 0x08
}

/** Loads the module with the first packed body: at the start of each thread it would take 5 ms of processor time. */
export function loadZlib(): typeof Zlib {
  return process.getBuiltinModule('node:zlib')
}

/** The token, trimmed. Refuses a missing or malformed one. */
export function requireToken(token: unknown): string {
  if (token === undefined || token === null) {
    throw new Refusal(
      'missing_api_key',
      'API key not provided. You can find your project API key in the project settings.',
      { attr: 'api_key' },
    )
  }
  if (typeof token !== 'string') throw malformed('not_string')
  const bare = token.trim()
  if (bare === '') throw malformed('empty')
  if (bare.length > TOKEN_LENGTH_MAX) throw malformed('too_long')
  if (!/^[\x21-\x7e]+$/.test(bare)) throw malformed('not_ascii')
  if (bare.startsWith('phx_')) throw malformed('personal_api_key')
  return bare
}

/**
 * Refuses a long JSON text without a valid token, without parsing it. `claimed` is the token in the request's query
 * string or form, which takes precedence. Names with JSON escapes are not found.
 */
export function requireNamedToken(
  text: string,
  claimed: string | undefined,
  knowsToken: (token: string) => boolean,
): void {
  if (claimed !== undefined) {
    if (!knowsToken(requireToken(claimed))) throw unknownToken()
    return
  }
  const tokens = new Set<string>()
  let room = MEMBERS_MAX
  for (const [, token = ''] of text.matchAll(TOKEN_MEMBER)) {
    tokens.add(token)
    room -= 1
    if (room === 0) break
  }
  // The envelope may have its token after the events.
  for (const name of room === 0 ? TOKEN_NAMES : []) {
    for (const [, token = ''] of lastMember(text, name).matchAll(TOKEN_MEMBER)) tokens.add(token)
  }
  if (tokens.values().some((token) => knowsToken(token))) return
  requireToken(tokens.values().next().value)
  throw unknownToken()
}

/** The text from the last member of this name on, long enough for a token. */
function lastMember(text: string, name: string): string {
  const start = text.lastIndexOf(name)
  return start === -1 ? '' : text.slice(start, start + LAST_MEMBER_LENGTH)
}

/** Characters of a name, spaces and a token. */
const LAST_MEMBER_LENGTH = 256

/** The refusal of a well-formed token that no project has. */
export function unknownToken(): Refusal {
  return new Refusal('invalid_api_key', 'Project API key is not valid.', { attr: 'api_key' })
}

/** The refusal of a request for a project that another server has now: what is sent again reaches it. */
export function movedProject(): Refusal {
  return new Refusal(
    'storage_unavailable',
    'The project has moved to another server. Please try again.',
    { attr: 'api_key' },
  )
}

/** The refusal of a token that no project can have: its code is the reason. */
function malformed(reason: ErrorCode): Refusal {
  return new Refusal(reason, `Provided API key is not valid: ${reason}`, { attr: 'api_key' })
}
