/** The key of a query: whoever asks the same of the same project, in whatever words, has the same one. */
import { createHash } from 'node:crypto'
import type { QueriedProject } from '../kinds/prepared-query.ts'

/** Raised when answers mean something else than before, so that none is taken from an older server's cache. */
const VERSION = 1

/** `parts` are all that the answer depends on besides the project's data; members of objects may come in any order. */
export function cacheKey(project: QueriedProject, kind: string, parts: readonly unknown[]): string {
  const { id, timezone, week_start_day, hidden_tables = [] } = project
  const sees = hidden_tables.length === 0 ? [] : [{ hidden_tables }]
  const whole = [VERSION, id, timezone, week_start_day ?? 0, kind, ...parts, ...sees]
  return `cache_${createHash('md5').update(JSON.stringify(whole, orderly)).digest('hex')}`
}

/** Objects with their members in order, and integers too wide for JSON as what they are. */
function orderly(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return { integer: String(value) }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
