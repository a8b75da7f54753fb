/** UUIDs as 16 bytes: read from text, and made in order of time (version 7). */

const UUID =
  /^\{?(?:urn:uuid:)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/i

/** The bytes of a UUID in any of its usual spellings, or null for anything else. */
export function parseUuid(text: string): Uint8Array | null {
  const usual = text.length === 36 ? parseUsual(text) : null
  if (usual !== null) return usual
  const parts = UUID.exec(text)
  return parts === null ? null : Uint8Array.fromHex(parts.slice(1).join(''))
}

/** The spelling all clients use, without the cost of an expression. */
function parseUsual(text: string): Uint8Array | null {
  const hex = text.replaceAll('-', '')
  if (hex.length !== 32 || text.charAt(8) !== '-' || text.charAt(23) !== '-') return null
  try {
    return Uint8Array.fromHex(hex)
  } catch {
    return null
  }
}

/** A new UUIDv7: later ones sort after earlier ones, which is what makes the exactly-once index cheap. */
export function makeUuid(): Uint8Array {
  return Bun.randomUUIDv7('buffer')
}
