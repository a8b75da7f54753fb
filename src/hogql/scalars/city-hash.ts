/** cityHash64 as in ClickHouse (version 1.0.2 of the algorithm), for sampling with results users know. */

import type { ScalarFunction } from './definition.ts'

const K0 = 0xc3a5c85c97cb3127n
const K1 = 0xb492b66fbe98f273n
const K2 = 0x9ae16a3b2f90404fn
const K3 = 0xc949d7c7509e6557n
const MIX = 0x9ddfea08eb382d69n
const ALL = (1n << 64n) - 1n

const wrap = (value: bigint): bigint => value & ALL
const times = (a: bigint, b: bigint): bigint => (a * b) & ALL
const shiftMix = (value: bigint): bigint => value ^ (value >> 47n)

function rotate(value: bigint, by: bigint): bigint {
  const whole = value & ALL
  return by === 0n ? whole : (whole >> by) | ((whole << (64n - by)) & ALL)
}

/** Folds 128 bits to 64. */
function joinHalves(low: bigint, high: bigint): bigint {
  const a = shiftMix(times(wrap(low) ^ wrap(high), MIX))
  return times(shiftMix(times(wrap(high) ^ a, MIX)), MIX)
}

type Uint128 = readonly [bigint, bigint]

/** Mixes 32 bytes from `at` on into two seeds. */
function stir(view: DataView, at: number, [first, second]: Uint128): Uint128 {
  const [w, x, y, z] = [0, 8, 16, 24].map((offset) => view.getBigUint64(at + offset, true))
  return stirWords([w ?? 0n, x ?? 0n, y ?? 0n, z ?? 0n], [first, second])
}

function stirWords(words: readonly [bigint, bigint, bigint, bigint], seeds: Uint128): Uint128 {
  const [w, x, y, z] = words
  const start = wrap(seeds[0] + w)
  const rotated = rotate(seeds[1] + start + z, 21n)
  const end = wrap(start + x + y)
  return [wrap(end + z), wrap(rotated + rotate(end, 44n) + start)]
}

function hashShort(view: DataView, length: number): bigint {
  const size = BigInt(length)
  if (length > 8) {
    const a = view.getBigUint64(0, true)
    const b = view.getBigUint64(length - 8, true)
    return joinHalves(a, rotate(b + size, size)) ^ b
  }
  if (length >= 4) {
    const a = BigInt(view.getUint32(0, true))
    return joinHalves(size + (a << 3n), BigInt(view.getUint32(length - 4, true)))
  }
  if (length === 0) return K2
  const first = BigInt(view.getUint8(0)) + (BigInt(view.getUint8(length >> 1)) << 8n)
  const last = size + (BigInt(view.getUint8(length - 1)) << 2n)
  return times(shiftMix(times(first, K2) ^ times(last, K3)), K2)
}

function hashMiddle(view: DataView, length: number): bigint {
  const a = times(view.getBigUint64(0, true), K1)
  const b = view.getBigUint64(8, true)
  const c = times(view.getBigUint64(length - 8, true), K2)
  const d = times(view.getBigUint64(length - 16, true), K0)
  return joinHalves(
    rotate(a - b, 43n) + rotate(c, 30n) + d,
    a + rotate(b ^ K3, 20n) - c + BigInt(length),
  )
}

/** Folds four words between a start and an end value. */
function foldWords(start: bigint, words: Uint128, end: bigint): Uint128 {
  const b = rotate(start + end, 52n)
  const first = wrap(start + words[0])
  const c = rotate(start, 37n) + rotate(first, 7n)
  const a = wrap(first + words[1])
  return [wrap(a + end), wrap(b + rotate(a, 31n) + c)]
}

function hashLonger(view: DataView, length: number): bigint {
  const at = (offset: number): bigint => view.getBigUint64(offset, true)
  const start = wrap(at(0) + times(BigInt(length) + at(length - 16), K0))
  const v = foldWords(start, [at(8), at(16)], at(24))
  const other = wrap(at(16) + at(length - 32))
  const w = foldWords(other, [at(length - 24), at(length - 16)], at(length - 8))
  const mixed = shiftMix(wrap(times(v[0] + w[1], K2) + times(w[0] + v[1], K0)))
  return times(shiftMix(wrap(times(mixed, K0) + v[1])), K2)
}

/** Beyond 64 bytes: the end first, then chunks of 64 bytes. */
function hashLong(view: DataView, length: number): bigint {
  const size = BigInt(length)
  let x = view.getBigUint64(0, true)
  let y = view.getBigUint64(length - 16, true) ^ K1
  let z = view.getBigUint64(length - 56, true) ^ K0
  let v = stir(view, length - 64, [size, y])
  let w = stir(view, length - 32, [times(size, K1), K0])
  z = wrap(z + times(shiftMix(v[1]), K1))
  x = times(rotate(z + x, 39n), K1)
  y = times(rotate(y, 33n), K1)
  const end = (length - 1) & ~63
  for (let at = 0; at < end; at += 64) {
    x = times(rotate(x + y + v[0] + view.getBigUint64(at + 16, true), 37n), K1) ^ w[1]
    y = times(rotate(y + v[1] + view.getBigUint64(at + 48, true), 42n), K1) ^ v[0]
    z = rotate(z ^ w[0], 33n)
    v = stir(view, at, [times(v[1], K1), wrap(x + w[0])])
    w = stir(view, at + 32, [wrap(z + w[1]), y])
    const swapped = z
    z = x
    x = swapped
  }
  return joinHalves(joinHalves(v[0], w[0]) + times(shiftMix(y), K1) + z, joinHalves(v[1], w[1]) + x)
}

/** The 64-bit hash of bytes. */
export function cityHash(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { length } = bytes
  if (length <= 16) return hashShort(view, length)
  if (length <= 32) return hashMiddle(view, length)
  return length <= 64 ? hashLonger(view, length) : hashLong(view, length)
}

/** ClickHouse's cityHash64 of an integer: its bits, mixed. */
function mixBits(value: bigint): bigint {
  let bits = wrap(value) ^ 0x4cf2d2baae6da887n
  bits = times(bits ^ (bits >> 33n), 0xff51afd7ed558ccdn)
  bits = times(bits ^ (bits >> 33n), 0xc4ceb9fe1a85ec53n)
  return bits ^ (bits >> 33n)
}

const UTF8 = new TextEncoder()

/** The 16 bytes of a UUID as ClickHouse stores them: two little-endian halves. */
function hashId(id: string): bigint {
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
  const halves = [bytes.subarray(0, 8), bytes.subarray(8)].map((half) => half.toReversed())
  return cityHash(Buffer.concat(halves))
}

export const CITY_HASH: readonly ScalarFunction[] = [
  {
    name: 'js_city_hash',
    takes: ['text'],
    gives: 'wide',
    compute: (text: string) => cityHash(UTF8.encode(text)),
  },
  { name: 'js_city_hash_id', takes: ['text'], gives: 'wide', compute: hashId },
  { name: 'js_spread_bits', takes: ['integer'], gives: 'wide', compute: mixBits },
  { name: 'js_join_hashes', takes: ['wide', 'wide'], gives: 'wide', compute: joinHalves },
]
