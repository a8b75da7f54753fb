/** Classifies SQLite errors: the disk is unavailable for now, or the database is damaged. */
import { SQLiteError } from 'bun:sqlite'

/** `unavailable`: the client may retry. `damaged`: writing stops. */
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

/** The storage fault behind an error; null for any other error. */
export function faultOf(error: unknown): StorageFault | null {
  if (!(error instanceof SQLiteError)) return null
  const code = (error.code ?? '').replace('SQLITE_', '').split('_')[0] ?? ''
  if (DAMAGED.has(code)) return 'damaged'
  return UNAVAILABLE.has(code) ? 'unavailable' : null
}
