/** Makes project tokens and personal API keys, and what of a key may be stored and shown. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const TOKEN_BYTES = 32
const KEY_BYTES = 35
const MASKED_LENGTH_MIN = 24
const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const BASE = BigInt(DIGITS.length)

/** A new project token. It is public: it stands in web pages and lets its bearer send events. */
export const makeProjectToken = (): string => `phc_${base62(randomBytes(TOKEN_BYTES))}`

/** A new personal API key. It is secret, and shown once. */
export const makePersonalKey = (): string => `phx_${base62(randomBytes(KEY_BYTES))}`

/** What stands at the end of an invite's link. */
export const makeInviteToken = (): string => base62(randomBytes(TOKEN_BYTES))

/** What is stored instead of a key: keys are long and random, so one plain SHA-256 cannot be turned back. */
export const hashKey = (value: string): string => createHash('sha256').update(value).digest('hex')

/** Compares two hashes of keys in a time that does not depend on where they differ. */
export const equalHashes = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'))

/** Enough of a key to tell it from others, too little to use it; of a short preset one nothing. */
export const maskKey = (value: string): string =>
  value.length < MASKED_LENGTH_MIN ? '...' : `${value.slice(0, 4)}...${value.slice(-4)}`

function base62(bytes: Buffer): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  while (rest > 0n) {
    text = DIGITS.charAt(Number(rest % BASE)) + text
    rest /= BASE
  }
  return text
}
