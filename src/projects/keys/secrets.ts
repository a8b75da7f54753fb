/** Generates project tokens, personal API keys and invite tokens; their hashes and masks. */
import { randomBytes, timingSafeEqual } from 'node:crypto'

const TOKEN_BYTES = 32
const KEY_BYTES = 35
const MASKED_LENGTH_MIN = 24
const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const BASE = BigInt(DIGITS.length)

/** Generates a project token. It is public: web pages contain it, and it only allows to send events. */
export const makeProjectToken = (): string => `phc_${base62(randomBytes(TOKEN_BYTES))}`

/** Generates a personal API key. It is secret, and shown once. */
export const makePersonalKey = (): string => `phx_${base62(randomBytes(KEY_BYTES))}`

/** Generates the token of an invite's link. */
export const makeInviteToken = (): string => base62(randomBytes(TOKEN_BYTES))

/** Generates the token of a session's cookie. */
export const makeSessionToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url')

/** Digits and letters that are not mistaken for one another: no I, L, O and U. 32 of them, so 5 bits each. */
const CODE_LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE_LENGTH = 12
const CODE_GROUP = 4

/** Generates a code of 60 bits for people to type: `K7QP-2MXT-9RWD`. */
export function makeSetupCode(): string {
  const letters = [...randomBytes(CODE_LENGTH)].map((byte) => CODE_LETTERS.charAt(byte % 32))
  return [0, CODE_GROUP, 2 * CODE_GROUP]
    .map((start) => letters.slice(start, start + CODE_GROUP).join(''))
    .join('-')
}

/** The stored form of a key: keys are long and random, so a plain SHA-256 cannot be reversed by guessing. */
export const hashKey = (value: string): string => Bun.SHA256.hash(value, 'hex')

/** Compares two hashes in constant time. */
export const equalHashes = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'))

/** A mask that identifies a key without revealing it; nothing of a short preset key. */
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
