/** Keys for flags that other objects create. */
import type { CompiledFlags } from '../../flags/definition.ts'

const KEY_LENGTH_MAX = 100
const SUFFIX_BYTES = 4

/** Returns the name as a valid key. */
export function keyFromName(name: string, fallback: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, KEY_LENGTH_MAX)
    .replaceAll(/^-|-$/g, '')
  return plain === '' ? fallback : plain
}

/** Returns the name as a valid key, with a suffix if a flag has that key. */
export function uniqueKey(definitions: CompiledFlags, name: string, fallback: string): string {
  const key = keyFromName(name, fallback)
  if (!definitions.positions.has(key)) return key
  return `${key}-${crypto.getRandomValues(new Uint8Array(SUFFIX_BYTES)).toHex()}`
}
