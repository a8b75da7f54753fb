/** Bytes of a request → the JSON value in them: removes gzip, base64, lz64 and form encoding, however nested. */
import { isUtf8 } from 'node:buffer'
import { Refusal } from '../../errors.ts'
import type { RawCapture } from '../threads/messages.ts'
import { expandLz64 } from './lz64.ts'
import { boundaryOf, readParts } from './multipart.ts'
import { isGzip, loadZlib, requireNamedToken } from './token.ts'

/** The JSON value of a body, not interpreted yet. */
export type DecodedBody = {
  readonly value: unknown
  /** Query string and form fields; the query string takes precedence. */
  readonly fields: FormFields
  /** False if some string may have a NUL or a lone surrogate. */
  readonly is_text_clean: boolean
  /** Characters of the JSON, after every decoding. */
  readonly length: number
}

export type FormFields = { readonly [name: string]: string | undefined }

/** Limits of decoding. */
type DecodeLimits = {
  /** Bytes as sent and after each decompression. */
  readonly body_bytes_max: number
  /** Whether a project has this token: a long body without a valid token is refused before it is parsed. */
  readonly knowsToken: (token: string) => boolean
}

/** JSON escapes of NUL and surrogates, their only source: the bytes are valid UTF-8, and JSON forbids raw NULs. */
const UNCLEAN_ESCAPE = /\\u(?:d[89a-f]|0000)/i

const UTF8 = new TextDecoder('utf-8', { fatal: true })

const FORM_START = /^(?:data|_|ip|compression|ver|beacon|verbose)=/
const BASE64_START = /^[A-Za-z0-9+/_-]+={0,2}$/
const LZ64_NAME = /^(?:lz64|lz-string)$/i

/** Characters of a body that are tested for base64. */
const BASE64_SAMPLE = 128

/** Nested encodings (gzip in base64 in gzip …) that are removed. */
const ENCODINGS_MAX = 4

/** Fields of a form or query string that are read; SDKs send six at most. */
const FIELDS_MAX = 100

/** Length limit of lz64, which takes a hundred times as long as gzip to expand. Only old browser SDKs send it. */
const LZ64_LENGTH_MAX = 1024 * 1024

/** Longer JSON is parsed only after a valid token was found in it. */
const UNKNOWN_LENGTH_MAX = 64 * 1024

/**
 * Decodes a request. Refuses with `no_data`, `invalid_payload` or `request_too_large`; a long one that names no known
 * token also with the refusals of a missing, malformed or unknown one.
 */
export function decodeRequest(request: RawCapture, context: DecodeLimits): DecodedBody {
  const { body_bytes_max } = context
  if (request.body.length > body_bytes_max) throw tooLarge()
  const query = request.query === '' ? {} : readFields(request.query)
  if (request.body.length === 0) {
    const data = query['data']
    if (data === undefined || data === '') throw noData()
    return decodeText(data, query, context)
  }
  const bytes = unzip(request.body, body_bytes_max)
  const first = bytes[0]
  const text = textOf(bytes)
  if (first === 0x7b || first === 0x5b) return parseBody(text, query, context)
  const boundary = boundaryOf(request.content_type)
  if (boundary !== null || isForm(request, text)) {
    const form = boundary === null ? readFields(text) : readParts(text, boundary, FIELDS_MAX)
    const fields = { ...form, ...query }
    const data = form['data'] ?? query['data']
    if (data === undefined || data === '') throw noData()
    return decodeText(data, fields, context)
  }
  return decodeText(text, { compression: request.content_encoding, ...query }, context)
}

function isForm(request: RawCapture, text: string): boolean {
  if (FORM_START.test(text)) return true
  return request.content_type.includes('x-www-form-urlencoded') && text.includes('=')
}

/** Decodes text to JSON: lz64 if `compression` names it, else base64, of gzip or of base64 again. */
function decodeText(data: string, fields: FormFields, context: DecodeLimits): DecodedBody {
  const { body_bytes_max } = context
  let text = LZ64_NAME.test(fields['compression'] ?? '') ? expand(data, body_bytes_max) : data
  for (let wrapping = 0; wrapping < ENCODINGS_MAX && isBase64(text); wrapping += 1) {
    const packed = Buffer.from(text.replaceAll(' ', '+'), 'base64')
    const bytes = joinSurrogates(unzip(packed, body_bytes_max))
    // A bare word such as `undefined` looks like base64 too: left alone, it is refused as malformed JSON.
    if (!isUtf8(bytes)) break
    text = textOf(bytes)
  }
  return parseBody(text, fields, context)
}

/**
 * Converts CESU-8 to UTF-8: the base64 of posthog-js up to 1.261 writes the two surrogates of an emoji as two
 * characters. Other bytes that are not UTF-8 stay.
 */
function joinSurrogates(bytes: Uint8Array): Uint8Array {
  if (isUtf8(bytes)) return bytes
  const joined = Buffer.alloc(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const high = surrogateAt(bytes, at)
    const low = high === 0 ? 0 : surrogateAt(bytes, at + 3)
    if (high < 0xdc00 && low >= 0xdc00) {
      length = joined.writeUInt32BE(utf8Of(high, low), length)
      at += 5
    } else {
      joined[length] = bytes[at] ?? 0
      length += 1
    }
  }
  return joined.subarray(0, length)
}

/** The surrogate in the three bytes from `at`; 0 if there is none. */
function surrogateAt(bytes: Uint8Array, at: number): number {
  const second = bytes[at + 1] ?? 0
  const third = bytes[at + 2] ?? 0
  if (bytes[at] !== 0xed || second < 0xa0 || second > 0xbf || third >> 6 !== 2) return 0
  return 0xd000 | ((second & 0x3f) << 6) | (third & 0x3f)
}

/** The four bytes of the character of two surrogates, as one number. */
function utf8Of(high: number, low: number): number {
  const code = 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff)
  const last = (((code >> 12) & 0x3f) << 16) | (((code >> 6) & 0x3f) << 8) | (code & 0x3f)
  return (0xf0 | (code >> 18)) * 0x1000000 + 0x808080 + last
}

/** Expands lz64. Input in another form is returned unchanged: some SDKs name a compression that they did not use. */
function expand(data: string, body_bytes_max: number): string {
  if (data.length > LZ64_LENGTH_MAX) throw tooLarge()
  const expanded = expandLz64(data.replaceAll(' ', '+'), body_bytes_max)
  switch (expanded.kind) {
    case 'text':
      return expanded.text.toWellFormed()
    case 'malformed':
      return data
    case 'too_large':
      throw tooLarge()
  }
}

function isBase64(text: string): boolean {
  return BASE64_START.test(text.trim().slice(0, BASE64_SAMPLE).replaceAll(' ', '+'))
}

function parseBody(text: string, fields: FormFields, { knowsToken }: DecodeLimits): DecodedBody {
  if (text.length > UNKNOWN_LENGTH_MAX) {
    requireNamedToken(text, fields['token'] ?? fields['api_key'], knowsToken)
  }
  // Most bodies have no such escape, and `includes` is ten times cheaper than the pattern.
  const is_text_clean = !text.includes('\\u') || !UNCLEAN_ESCAPE.test(text)
  return { value: parseJson(text), fields, is_text_clean, length: text.length }
}

function parseJson(text: string): unknown {
  if (text.trim() === '') throw noData()
  try {
    return JSON.parse(text)
  } catch (error) {
    const repaired = repairNonNumbers(text)
    if (repaired !== null) return repaired
    const cause = error instanceof Error ? error.message : 'not JSON'
    throw new Refusal('invalid_payload', `Malformed request data: ${cause}`)
  }
}

/** The start of a string, or a non-JSON number outside of strings. */
const STRING_OR_NON_NUMBER = /"|-?\b(?:NaN|Infinity)\b/g

/** Replaces NaN and Infinity outside of strings by null: Python's encoder writes them. `{"a":NaN}` → `{"a":null}`. */
function repairNonNumbers(text: string): unknown {
  if (!/NaN|Infinity/.test(text)) return null
  let repaired = ''
  let copied = 0
  const tokens = new RegExp(STRING_OR_NON_NUMBER)
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    if (match[0] === '"') {
      const end = stringEnd(text, tokens.lastIndex)
      // With an unterminated string it cannot become valid JSON.
      if (end === -1) return null
      tokens.lastIndex = end
      continue
    }
    repaired += `${text.slice(copied, match.index)}null`
    copied = tokens.lastIndex
  }
  try {
    return JSON.parse(repaired + text.slice(copied))
  } catch {
    return null
  }
}

/**
 * The index after the closing quote of a string whose text begins at `start`; -1 without one. Reads each character
 * once.
 */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let first = quote
    while (first > start && text.charCodeAt(first - 1) === BACKSLASH) first -= 1
    // An odd number of backslashes escapes the quote.
    if ((quote - first) % 2 === 0) return quote + 1
  }
  return -1
}

const BACKSLASH = 0x5c

function unzip(bytes: Uint8Array, body_bytes_max: number): Uint8Array {
  let plain = bytes
  for (let wrapping = 0; wrapping < ENCODINGS_MAX && isGzip(plain); wrapping += 1) {
    plain = gunzip(plain, body_bytes_max)
  }
  return plain
}

function gunzip(bytes: Uint8Array, body_bytes_max: number): Uint8Array {
  try {
    return loadZlib().gunzipSync(bytes, { maxOutputLength: body_bytes_max })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw tooLarge()
    }
    throw new Refusal('invalid_payload', 'Malformed request data: the gzip stream is broken')
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new Refusal('invalid_payload', 'Malformed request data: not UTF-8')
  }
}

/** Reads the first fields of a form or query string. */
export function readFields(text: string): FormFields {
  const fields: { [name: string]: string } = Object.create(null)
  // The first of repeated fields wins, as on PostHog.
  for (const [name, value] of new URLSearchParams(firstFields(text))) fields[name] ??= value
  return fields
}

/** The first `FIELDS_MAX` fields of a form. */
function firstFields(form: string): string {
  let end = -1
  for (let count = 0; count < FIELDS_MAX; count += 1) {
    end = form.indexOf('&', end + 1)
    if (end === -1) return form
  }
  return form.slice(0, end)
}

/** The refusal of a request with nothing in it. */
export function noData(): Refusal {
  return new Refusal(
    'no_data',
    'No data found. Make sure to use a POST request when sending the payload in the body of the request.',
  )
}

function tooLarge(): Refusal {
  return new Refusal('request_too_large', 'Request too large.')
}
