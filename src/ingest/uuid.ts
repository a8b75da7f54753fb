/** UUIDs as 16 bytes: read from text, and made in order of time (version 7). */

const UUID =
  /^\{?(?:urn:uuid:)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/i

/** The bytes of a UUID in any of its usual spellings, or null for anything else. */
export function parseUuid(text: string): Uint8Array | null {
  const parts = UUID.exec(text)
  return parts === null ? null : Uint8Array.fromHex(parts.slice(1).join(''))
}

/** A new UUIDv7: later ones sort after earlier ones, which is what makes the exactly-once index cheap. */
export function makeUuid(): Uint8Array {
  return Bun.randomUUIDv7('buffer')
}
