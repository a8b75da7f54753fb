/** Keys for flags that other objects create. */
import { findFlagByKey } from '../flags/flag.ts'
import type { TargetingEditor } from './editor.ts'

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

/** Returns the name as a valid key, with a suffix if a flag has that key: also one that this transaction has created. */
export function uniqueKey(
  { control, project }: Pick<TargetingEditor, 'control' | 'project'>,
  name: string,
  fallback: string,
): string {
  const key = keyFromName(name, fallback)
  if (findFlagByKey(control, project.id, key) === null) return key
  return `${key}-${crypto.getRandomValues(new Uint8Array(SUFFIX_BYTES)).toHex()}`
}
