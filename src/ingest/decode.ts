/** Bytes of a request → the JSON value in them, whatever wrapping they came in (wire.md 1.3). */
import { isUtf8 } from 'node:buffer'
import { gunzipSync } from 'node:zlib'
import { Refusal } from '../errors.ts'
import { expandLz64 } from './lz64.ts'
import type { RawCapture } from './messages.ts'

/** What a request says, before anybody asked what it means. */
export type Decoded = {
  readonly value: unknown
  /** Query string and form fields together; the query string wins. */
  readonly fields: Fields
  /** False when some string may hold a NUL or half a surrogate pair. */
  readonly is_text_clean: boolean
  /** Characters of the JSON, with every wrapping taken off. */
  readonly length: number
}

export type Fields = { readonly [name: string]: string | undefined }

/** Only a JSON escape can bring these in: the bytes were checked to be UTF-8, and raw NULs are no JSON. */
const UNCLEAN_ESCAPE = /\\u(?:d[89a-f]|0000)/i

const UTF8 = new TextDecoder('utf-8', { fatal: true })

const FORM_START = /^(?:data|_|ip|compression|ver|beacon|verbose)=/
const BASE64_START = /^[A-Za-z0-9+/_-]+={0,2}$/
const LZ64_NAME = /^(?:lz64|lz-string)$/i

/** How much of a body is looked at to tell base64 from JSON. */
const BASE64_SAMPLE = 128

/** Wrappings inside wrappings (gzip in base64 in gzip …) that are taken off. */
const WRAPPINGS_MAX = 4

const NO_DATA =
  'No data found. Make sure to use a POST request when sending the payload in the body of the request.'

/** Decodes a request. Refuses with `no_data`, `invalid_payload` or `request_too_large`. */
export function decodeRequest(request: RawCapture, body_bytes_max: number): Decoded {
  if (request.body.length > body_bytes_max) throw tooLarge()
  const query = request.query === '' ? {} : readFields(request.query)
  if (request.body.length === 0) {
    const data = query['data']
    if (data === undefined || data === '') throw new Refusal('no_data', NO_DATA)
    return decodeText(data, query, body_bytes_max)
  }
  const bytes = unzip(request.body, body_bytes_max)
  const first = bytes[0]
  const text = textOf(bytes)
  if (first === 0x7b || first === 0x5b) return parsed(text, query)
  if (isForm(request, text)) {
    const fields = { ...readFields(text), ...query }
    const data = readFields(text)['data'] ?? query['data']
    if (data === undefined || data === '') throw new Refusal('no_data', NO_DATA)
    return decodeText(data, fields, body_bytes_max)
  }
  return decodeText(text, { compression: request.content_encoding, ...query }, body_bytes_max)
}

function isForm(request: RawCapture, text: string): boolean {
  if (FORM_START.test(text)) return true
  return request.content_type.includes('x-www-form-urlencoded') && text.includes('=')
}

/** Takes off what wraps the JSON: lz64 when it is named, else base64 with perhaps gzip or base64 again below it. */
function decodeText(data: string, fields: Fields, body_bytes_max: number): Decoded {
  let text = LZ64_NAME.test(fields['compression'] ?? '') ? expand(data, body_bytes_max) : data
  for (let wrapping = 0; wrapping < WRAPPINGS_MAX && isBase64(text); wrapping += 1) {
    const bytes = unzip(Buffer.from(text.replaceAll(' ', '+'), 'base64'), body_bytes_max)
    // Words without spaces look like base64 too: `undefined` is told what it is.
    if (!isUtf8(bytes)) break
    text = textOf(bytes)
  }
  return parsed(text, fields)
}

/** Clients name compressions they did not use: what cannot be expanded is taken for what it is. */
function expand(data: string, body_bytes_max: number): string {
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

function parsed(text: string, fields: Fields): Decoded {
  // Most bodies have no such escape at all, and looking for one is ten times cheaper than matching.
  const is_text_clean = !text.includes('\\u') || !UNCLEAN_ESCAPE.test(text)
  return { value: parseJson(text), fields, is_text_clean, length: text.length }
}

function parseJson(text: string): unknown {
  if (text.trim() === '') throw new Refusal('no_data', NO_DATA)
  try {
    return JSON.parse(text)
  } catch (error) {
    const repaired = withoutNonNumbers(text)
    if (repaired !== null) return repaired
    const cause = error instanceof Error ? error.message : 'not JSON'
    throw new Refusal('invalid_payload', `Malformed request data: ${cause}`)
  }
}

/** Python's JSON writes NaN and Infinity, which JSON does not have: they become null, outside of strings only. */
function withoutNonNumbers(text: string): unknown {
  if (!/NaN|Infinity/.test(text)) return null
  const repaired = text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (token) =>
    token.startsWith('"') ? token : 'null',
  )
  try {
    return JSON.parse(repaired)
  } catch {
    return null
  }
}

function unzip(bytes: Uint8Array, body_bytes_max: number): Uint8Array {
  let plain = bytes
  for (let wrapping = 0; wrapping < WRAPPINGS_MAX && isGzip(plain); wrapping += 1) {
    plain = gunzip(plain, body_bytes_max)
  }
  return plain
}

/** By the magic bytes alone: clients announce gzip wrongly, or not at all. */
function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 0x08
}

function gunzip(bytes: Uint8Array, body_bytes_max: number): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: body_bytes_max })
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

function readFields(text: string): Fields {
  const fields: { [name: string]: string } = Object.create(null)
  // The first of several wins, as it does for the clients' own server.
  for (const [name, value] of new URLSearchParams(text)) fields[name] ??= value
  return fields
}

function tooLarge(): Refusal {
  return new Refusal('request_too_large', 'Request too large.')
}
