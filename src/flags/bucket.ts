/** Where an identifier falls: the stable number from 0 to 1 that rollouts, variants and holdouts are cut from. */

/** 15 hex digits are 60 bits; as a double, 0xFFFFFFFFFFFFFFF is exactly this. */
const SCALE = 2 ** 60

/** Scratch space, overwritten by every hash before it is read: one allocation less for each of millions of hashes. */
const DIGEST = new Uint8Array(20)
const DIGEST_VIEW = new DataView(DIGEST.buffer)

/** The bucket of a flag's rollout. All condition sets of one flag share it, so widening a set only adds people. */
export function rolloutBucket(flag_key: string, identifier: string): number {
  return bucketOf(`${flag_key}.${identifier}`)
}

/** The bucket that picks a flag's variant; salted, so that it does not depend on the rollout's. */
export function variantBucket(flag_key: string, identifier: string): number {
  return bucketOf(`${flag_key}.${identifier}${VARIANT_SALT}`)
}

/** The bucket of a holdout. It knows no flag key: the same people stay out of every flag that has the holdout. */
export function holdoutBucket(identifier: string): number {
  return bucketOf(`holdout-${identifier}`)
}

/** The first 15 hex digits of the text's SHA-1 (of its UTF-8 bytes) as a fraction of the largest such number. */
export function bucketOf(text: string | Uint8Array): number {
  Bun.SHA1.hash(text, DIGEST)
  const first_8_digits = DIGEST_VIEW.getUint32(0)
  const next_7_digits = DIGEST_VIEW.getUint32(4) >>> 4
  return (first_8_digits * 2 ** 28 + next_7_digits) / SCALE
}

const VARIANT_SALT = 'variant'
const SALT_BYTES = new TextEncoder().encode(VARIANT_SALT)

/** Longer keys and identifiers, and those beyond ASCII, are hashed as texts: few are. */
const KEY_BYTES_MAX = 64
const IDENTIFIER_CHARS_MAX = 64

/** A flag's key, and the bytes that stand for it in front of an identifier; null where it is hashed as a text. */
export type BucketKey = { readonly text: string; readonly bytes: Uint8Array | null }

/** Prepares a flag's key for many hashes. */
export function bucketKey(text: string): BucketKey {
  const bytes = new TextEncoder().encode(`${text}.`)
  return { text, bytes: bytes.length > KEY_BYTES_MAX ? null : bytes }
}

/**
 * The buckets of one identifier after the other, each for many flags: what their texts share is laid down once, and the
 * flags' keys in front of it by turns. Joining texts costs half as much again as hashing, and leaves two of them behind.
 */
export class Buckets {
  readonly #bytes = new Uint8Array(KEY_BYTES_MAX + IDENTIFIER_CHARS_MAX + SALT_BYTES.length)
  /** Parts of the bytes, by the lengths before and behind the identifier's start; few of them ever come up. */
  readonly #parts: Uint8Array[][] = []
  #identifier = ''
  /** How many bytes are laid down; 0 where the identifier is hashed as a text. */
  #length = 0

  /** From now on it is about this identifier. */
  turnTo(identifier: string): void {
    this.#identifier = identifier
    this.#length = 0
    const { length } = identifier
    if (length > IDENTIFIER_CHARS_MAX) return
    for (let index = 0; index < length; index += 1) {
      const code = identifier.charCodeAt(index)
      if (code > 0x7f) return
      this.#bytes[KEY_BYTES_MAX + index] = code
    }
    this.#bytes.set(SALT_BYTES, KEY_BYTES_MAX + length)
    this.#length = length
  }

  /** `rolloutBucket` of a flag. */
  rollout({ text, bytes }: BucketKey): number {
    if (bytes === null || this.#length === 0) return rolloutBucket(text, this.#identifier)
    return this.#bucketBehind(bytes, this.#length)
  }

  /** `variantBucket` of a flag. */
  variant({ text, bytes }: BucketKey): number {
    if (bytes === null || this.#length === 0) return variantBucket(text, this.#identifier)
    return this.#bucketBehind(bytes, this.#length + SALT_BYTES.length)
  }

  #bucketBehind(key: Uint8Array, length: number): number {
    const before = key.length
    const start = KEY_BYTES_MAX - before
    for (let index = 0; index < before; index += 1) this.#bytes[start + index] = key[index] ?? 0
    const parts = (this.#parts[before] ??= [])
    parts[length] ??= this.#bytes.subarray(start, KEY_BYTES_MAX + length)
    return bucketOf(parts[length])
  }
}
