/** Buckets: a stable hash of an identifier from 0 to 1, which rollouts, variants and holdouts compare with. */

/** 15 hex digits are 60 bits; as a double, 0xFFFFFFFFFFFFFFF is exactly this. */
const SCALE = 2 ** 60

/** Scratch memory, overwritten by every hash: saves an allocation per hash. */
const DIGEST = new Uint8Array(20)
const DIGEST_VIEW = new DataView(DIGEST.buffer)

/** The bucket of a flag's rollout. All condition sets of a flag share it, so a larger percentage only adds persons. */
export function rolloutBucket(flag_key: string, identifier: string): number {
  return bucketOf(`${flag_key}.${identifier}`)
}

/** The bucket that picks a flag's variant; salted, so that it does not depend on the rollout's. */
export function variantBucket(flag_key: string, identifier: string): number {
  return bucketOf(`${flag_key}.${identifier}${VARIANT_SALT}`)
}

/** The bucket of a holdout. Independent of the flag: the same persons stay out of every flag with the holdout. */
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

/** Longer keys and identifiers, and non-ASCII ones, are rare and hashed as strings. */
const KEY_BYTES_MAX = 64
const IDENTIFIER_CHARS_MAX = 64

/** A flag's key, and the bytes that precede the identifier in a hash; null if the key is hashed as a string. */
export type BucketKey = { readonly text: string; readonly bytes: Uint8Array | null }

/** Prepares a flag's key for many hashes. */
export function bucketKey(text: string): BucketKey {
  const bytes = new TextEncoder().encode(`${text}.`)
  return { text, bytes: bytes.length > KEY_BYTES_MAX ? null : bytes }
}

/**
 * Buckets of one identifier for many flags. The identifier's bytes are written once into a buffer, and each flag's key
 * in front of it. Concatenating strings would cost half as much as the hash itself, and two garbage strings.
 */
export class Buckets {
  readonly #bytes = new Uint8Array(KEY_BYTES_MAX + IDENTIFIER_CHARS_MAX + SALT_BYTES.length)
  /** Views of the buffer by the lengths before and after the identifier's start; few different ones occur. */
  readonly #views: Uint8Array[][] = []
  #identifier = ''
  /** Bytes of the identifier in the buffer; 0 if it is hashed as a string. */
  #length = 0

  /** Sets the identifier of the following buckets. */
  setIdentifier(identifier: string): void {
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
    return this.#bucketAfter(bytes, this.#length)
  }

  /** `variantBucket` of a flag. */
  variant({ text, bytes }: BucketKey): number {
    if (bytes === null || this.#length === 0) return variantBucket(text, this.#identifier)
    return this.#bucketAfter(bytes, this.#length + SALT_BYTES.length)
  }

  #bucketAfter(key: Uint8Array, length: number): number {
    const before = key.length
    const start = KEY_BYTES_MAX - before
    for (let index = 0; index < before; index += 1) this.#bytes[start + index] = key[index] ?? 0
    const views = (this.#views[before] ??= [])
    views[length] ??= this.#bytes.subarray(start, KEY_BYTES_MAX + length)
    return bucketOf(views[length])
  }
}
