/** Scalars over a text's bytes: base 58, single bits, character sets, numbers and ids read from bytes. */

import { type ScalarFunction, ScalarRefusal } from './definition.ts'

const UTF8 = new TextEncoder()
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** Base conversion takes time quadratic in the length. */
const BASE58_LENGTH_MAX = 4000

/** Refuses bytes that are not UTF-8: a text column cannot hold them. */
function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new ScalarRefusal('The result is not text: bytes that are not UTF-8 cannot be answered')
  }
}

function requireShort(text: string): void {
  if (text.length > BASE58_LENGTH_MAX)
    throw new ScalarRefusal(`Base 58 is limited to ${BASE58_LENGTH_MAX} characters`)
}

/** The Bitcoin alphabet; each leading zero byte is one leading 1. */
function encodeBase58(text: string): string {
  requireShort(text)
  const bytes = UTF8.encode(text)
  const zeros = bytes.findIndex((byte) => byte !== 0)
  const leading = zeros === -1 ? bytes.length : zeros
  let rest = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)
  let digits = ''
  while (rest > 0n) {
    digits = (ALPHABET[Number(rest % 58n)] ?? '') + digits
    rest /= 58n
  }
  return '1'.repeat(leading) + digits
}

/** Decodes base 58; null for a character outside the alphabet. */
function bytesOfBase58(text: string): Uint8Array | null {
  requireShort(text)
  let value = 0n
  for (const letter of text) {
    const digit = ALPHABET.indexOf(letter)
    if (digit < 0) return null
    value = value * 58n + BigInt(digit)
  }
  const leading = /^1*/.exec(text)?.[0].length ?? 0
  const hex = value === 0n ? '' : value.toString(16)
  const body = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return Buffer.concat([Buffer.alloc(leading), body])
}

function decodeBase58(text: string): string {
  const bytes = bytesOfBase58(text)
  if (bytes === null) throw new ScalarRefusal('base58Decode was given a text that is not base 58')
  return textOf(bytes)
}

function tryDecodeBase58(text: string): string {
  const bytes = bytesOfBase58(text)
  if (bytes === null) return ''
  try {
    return textOf(bytes)
  } catch {
    return ''
  }
}

/** `length` bits from a 1-based position (negative: from the end); the last byte is padded with zeros. */
function sliceBits(text: string, position: bigint, length: bigint): string {
  const bytes = UTF8.encode(text)
  const count = BigInt(bytes.length) * 8n
  const start = position > 0n ? position - 1n : position === 0n ? count : count + position
  const from = start < 0n ? 0n : start
  const end_bit = length < 0n ? count + length : start + length
  const until = end_bit > count ? count : end_bit
  if (from >= until) return ''
  const size = Number(until - from)
  const out = new Uint8Array(Math.ceil(size / 8))
  for (let bit = 0; bit < size; bit += 1) {
    const source = Number(from) + bit
    const value = ((bytes[source >> 3] ?? 0) >> (7 - (source & 7))) & 1
    out[bit >> 3] = (out[bit >> 3] ?? 0) | (value << (7 - (bit & 7)))
  }
  return textOf(out)
}

/** Source character sets; the result must be text again, so the target is UTF-8 or ASCII. */
function convertCharset(text: string, from: string, to: string): string {
  const read = readAs(UTF8.encode(text), from)
  if (/^utf-?8$/i.test(to)) return read
  const is_ascii = /^[\0-\x7f]*$/.test(read)
  if (is_ascii && !/^utf-?(16|32)/i.test(to)) return read
  throw new ScalarRefusal('The result is not text: bytes that are not UTF-8 cannot be answered')
}

function readAs(bytes: Uint8Array, charset: string): string {
  // The web's latin1 is windows-1252, which has letters where ISO 8859-1 has control characters.
  if (/^(latin-?1|iso-?8859-?1)$/i.test(charset)) return Buffer.from(bytes).toString('latin1')
  const known = CHARSETS.find((name) => name === charset.toLowerCase())
  if (known === undefined) throw new ScalarRefusal('That character set is not known')
  return new TextDecoder(known).decode(bytes)
}

const CHARSETS = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'ascii',
  'windows-1251',
  'windows-1252',
  'koi8-r',
  'gb18030',
  'big5',
  'euc-jp',
  'shift_jis',
  'euc-kr',
] as const

/** The first 16 bytes as a UUID: two little-endian halves. */
function idOfBytes(text: string): string {
  const bytes = Buffer.alloc(16)
  bytes.set(UTF8.encode(text).subarray(0, 16))
  const halves = [bytes.subarray(0, 8), bytes.subarray(8)].map((half) =>
    Buffer.from(half.toReversed()).toString('hex'),
  )
  const hex = halves.join('')
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([from, until]) => hex.slice(from, until))
    .join('-')
}

/** The first eight bytes, zero-padded, as a little-endian number. */
function viewOfText(text: string): DataView {
  const bytes = new Uint8Array(8)
  bytes.set(UTF8.encode(text).subarray(0, 8))
  return new DataView(bytes.buffer)
}

function viewOfNumber(value: bigint): DataView {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigInt64(0, value, true)
  return view
}

const floatOf = (view: DataView): number => view.getFloat32(0, true)
const doubleOf = (view: DataView): number => view.getFloat64(0, true)

export const BYTES: readonly ScalarFunction[] = [
  { name: 'js_base58_encode', takes: ['text'], gives: 'text', compute: encodeBase58 },
  { name: 'js_base58_decode', takes: ['text'], gives: 'text', compute: decodeBase58 },
  { name: 'js_base58_try', takes: ['text'], gives: 'text', compute: tryDecodeBase58 },
  {
    name: 'js_slice_bits',
    takes: ['text', 'integer', 'integer'],
    gives: 'text',
    compute: sliceBits,
  },
  {
    name: 'js_convert_charset',
    takes: ['text', 'text', 'text'],
    gives: 'text',
    compute: convertCharset,
  },
  { name: 'js_id_of_bytes', takes: ['text'], gives: 'text', compute: idOfBytes },
  {
    name: 'js_float_of_bytes',
    takes: ['text'],
    gives: 'number',
    compute: (text: string) => floatOf(viewOfText(text)),
  },
  {
    name: 'js_float_of_bits',
    takes: ['integer'],
    gives: 'number',
    compute: (value: bigint) => floatOf(viewOfNumber(value)),
  },
  {
    name: 'js_double_of_bytes',
    takes: ['text'],
    gives: 'number',
    compute: (text: string) => doubleOf(viewOfText(text)),
  },
  {
    name: 'js_double_of_bits',
    takes: ['integer'],
    gives: 'number',
    compute: (value: bigint) => doubleOf(viewOfNumber(value)),
  },
]
