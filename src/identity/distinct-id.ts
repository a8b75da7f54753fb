/** Distinct ids: the person id derived from one, and ids that must never join persons. */

const NAMESPACE = Uint8Array.fromHex('932979b465c3442484670b66ec27bc22')

/** Placeholders that many users send, in upper or lower case: merging by one would make them one person. */
const ILLEGAL_IN_ANY_CASE = new Set([
  'anonymous',
  'guest',
  'distinctid',
  'distinct_id',
  'id',
  'not_authenticated',
  'email',
  'undefined',
  'true',
  'false',
])

/** Texts that broken clients print for a missing id. */
const ILLEGAL_EXACTLY = new Set(['[object Object]', 'NaN', 'None', 'none', 'null', '0'])

/** The id of the person that a distinct id creates: a UUIDv5, so that a retry gives the same id. */
export function personIdOf(project_id: number, distinct_id: string): Uint8Array {
  const hasher = new Bun.CryptoHasher('sha1').update(NAMESPACE)
  const id = new Uint8Array(hasher.update(`${project_id}:${distinct_id}`).digest().subarray(0, 16))
  id[6] = ((id[6] ?? 0) & 0x0f) | 0x50
  id[8] = ((id[8] ?? 0) & 0x3f) | 0x80
  return id
}

/** Whether two ids of persons are the same. */
export function isSameId(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/** True for an id that must never join two persons, also when it comes in quotes. */
export function isIllegalId(distinct_id: string): boolean {
  const bare = withoutQuotes(distinct_id)
  return (
    bare.trim() === '' || ILLEGAL_EXACTLY.has(bare) || ILLEGAL_IN_ANY_CASE.has(bare.toLowerCase())
  )
}

function withoutQuotes(text: string): string {
  const first = text.charAt(0)
  const is_quoted = text.length >= 2 && (first === '"' || first === "'") && text.endsWith(first)
  return is_quoted ? text.slice(1, -1) : text
}
