/** Distinct ids: the person id made from one, and which ones are nobody's own. */

const NAMESPACE = Uint8Array.fromHex('932979b465c3442484670b66ec27bc22')

/** Ids that whole crowds would share if they were merged, in any case. */
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

/** What broken clients print for "nothing". */
const ILLEGAL_AS_WRITTEN = new Set(['[object Object]', 'NaN', 'None', 'none', 'null', '0'])

/** The id (UUIDv5, 16 bytes) of the person that a distinct id creates: the same on every try. */
export function personIdOf(project_id: number, distinct_id: string): Uint8Array {
  const hasher = new Bun.CryptoHasher('sha1').update(NAMESPACE)
  const id = new Uint8Array(hasher.update(`${project_id}:${distinct_id}`).digest().subarray(0, 16))
  id[6] = ((id[6] ?? 0) & 0x0f) | 0x50
  id[8] = ((id[8] ?? 0) & 0x3f) | 0x80
  return id
}

/** Bytes → the usual lower-case spelling. */
export function formatUuid(bytes: Uint8Array): string {
  const hex = bytes.toHex()
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** True for an id that must never join two persons, also when it comes in quotes. */
export function isIllegalId(distinct_id: string): boolean {
  const bare = withoutQuotes(distinct_id)
  return (
    bare.trim() === '' ||
    ILLEGAL_AS_WRITTEN.has(bare) ||
    ILLEGAL_IN_ANY_CASE.has(bare.toLowerCase())
  )
}

function withoutQuotes(text: string): string {
  const first = text.charAt(0)
  const is_quoted = text.length >= 2 && (first === '"' || first === "'") && text.endsWith(first)
  return is_quoted ? text.slice(1, -1) : text
}
