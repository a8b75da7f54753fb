/** Tells a disk that cannot be written now from a database that must not be written any more. */
import { SQLiteError } from 'bun:sqlite'

/** `unavailable`: ask again later. `damaged`: stop. */
export type StorageFault = 'unavailable' | 'damaged'

const UNAVAILABLE = new Set([
  'BUSY',
  'LOCKED',
  'NOMEM',
  'READONLY',
  'IOERR',
  'FULL',
  'CANTOPEN',
  'PROTOCOL',
])
const DAMAGED = new Set(['CORRUPT', 'NOTADB'])

/** What an error says about the storage; null when it says nothing about it. */
export function faultOf(error: unknown): StorageFault | null {
  if (!(error instanceof SQLiteError)) return null
  const code = (error.code ?? '').replace('SQLITE_', '').split('_')[0] ?? ''
  if (DAMAGED.has(code)) return 'damaged'
  return UNAVAILABLE.has(code) ? 'unavailable' : null
}
