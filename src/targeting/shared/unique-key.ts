/** Keys for flags that other things make for themselves. */
import type { CompiledFlags } from '../../flags/definition.ts'

const KEY_LENGTH_MAX = 100
const SUFFIX_BYTES = 4

/** The name as a key may be written, or with something behind it when a flag is called so already. */
export function uniqueKey(definitions: CompiledFlags, name: string, fallback: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, KEY_LENGTH_MAX)
    .replaceAll(/^-|-$/g, '')
  const key = plain === '' ? fallback : plain
  if (!definitions.positions.has(key)) return key
  return `${key}-${crypto.getRandomValues(new Uint8Array(SUFFIX_BYTES)).toHex()}`
}
