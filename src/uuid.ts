/** UUIDs as 16 bytes: parsed from text, and generated in order of time (version 7). */

const UUID =
  /^\{?(?:urn:uuid:)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/i

const USUAL_SPELLING = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Parses a UUID in any usual form (braces, `urn:uuid:`, without hyphens); null for anything else. */
export function parseUuid(text: string): Uint8Array | null {
  const bytes = text.length === 36 ? parseHyphenated(text) : null
  if (bytes !== null) return bytes
  const parts = UUID.exec(text)
  return parts === null ? null : Uint8Array.fromHex(parts.slice(1).join(''))
}

/** Parses the form `8-4-4-4-12` that SDKs send, without the cost of the pattern. */
function parseHyphenated(text: string): Uint8Array | null {
  const hex = text.replaceAll('-', '')
  if (hex.length !== 32 || text.charAt(8) !== '-' || text.charAt(23) !== '-') return null
  try {
    return Uint8Array.fromHex(hex)
  } catch {
    return null
  }
}

/** Whether a text has the usual spelling `8-4-4-4-12`, in either case: the only one that `uuidBytes` takes. */
export function isUuid(text: string): boolean {
  return USUAL_SPELLING.test(text)
}

/** Generates a UUIDv7. They sort by time, so that inserts into the deduplication index touch few pages. */
export function makeUuid(): Uint8Array {
  return Bun.randomUUIDv7('buffer')
}

/** Bytes → the usual lower-case spelling. */
export function formatUuid(bytes: Uint8Array): string {
  const hex = bytes.toHex()
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The bytes of a UUID in the usual spelling. Throws for anything else. */
export const uuidBytes = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.fromHex(text.replaceAll('-', ''))
