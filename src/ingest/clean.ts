/** Makes what clients send fit to be stored: valid strings, bounded depth (contract C10, F18, F19). */

/** Valid UTF-16 without NULs: what cannot be stored becomes U+FFFD. */
export function cleanText(text: string): string {
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

/** Whether objects and arrays nest deeper than `depth_max`, without recursion: bodies nest by the million. */
export function isDeeperThan(value: unknown, depth_max: number): boolean {
  let level: object[] = typeof value === 'object' && value !== null ? [value] : []
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > depth_max) return true
    const next: object[] = []
    for (const node of level) pushChildren(node, next)
    level = next
  }
  return false
}

function pushChildren(node: object, children: object[]): void {
  for (const child of Array.isArray(node) ? node : Object.values(node)) {
    if (typeof child === 'object' && child !== null) children.push(child)
  }
}
