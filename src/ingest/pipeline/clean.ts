/** Makes JSON values storable: valid strings, bounded depth. */

/** Replaces lone surrogates and NULs by U+FFFD: SQLite and DuckDB cannot store them. */
function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** Cleans every string and key inside a value. The value's depth must have been checked before. */
export function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map(cleanValue)
  if (typeof value !== 'object' || value === null) return value
  // fromEntries makes `__proto__` an ordinary key, as JSON.parse does.
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [cleanText(key), cleanValue(member)]),
  )
}

/**
 * Whether objects and arrays nest deeper than `depth_max`. The check stops at that depth, so that bodies with millions
 * of levels cannot exhaust the stack, and allocates nothing, since it sees every event.
 */
export function isDeeperThan(value: unknown, depth_max: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth_max === 0) return true
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(item, depth_max - 1))
  const object = value as { readonly [key: string]: unknown }
  for (const key in object) {
    const member = object[key]
    if (typeof member === 'object' && isDeeperThan(member, depth_max - 1)) return true
  }
  return false
}
