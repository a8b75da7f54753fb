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
  return bucketOf(`${flag_key}.${identifier}variant`)
}

/** The bucket of a holdout. It knows no flag key: the same people stay out of every flag that has the holdout. */
export function holdoutBucket(identifier: string): number {
  return bucketOf(`holdout-${identifier}`)
}

/** The first 15 hex digits of the text's SHA-1 (of its UTF-8 bytes) as a fraction of the largest such number. */
export function bucketOf(text: string): number {
  Bun.SHA1.hash(text, DIGEST)
  const first_8_digits = DIGEST_VIEW.getUint32(0)
  const next_7_digits = DIGEST_VIEW.getUint32(4) >>> 4
  return (first_8_digits * 2 ** 28 + next_7_digits) / SCALE
}
