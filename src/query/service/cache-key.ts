/** The cache key of a query: equal queries of one project have equal keys, however their JSON is ordered. */
import { createHash } from 'node:crypto'
import type { QueriedProject } from '../kinds/prepared-query.ts'

/** Raise this when the meaning of answers changes: answers that an older version cached are then no longer found. */
const VERSION = 1

/** `parts` is everything the answer depends on besides the project's data; the order of object members does not matter. */
export function cacheKey(project: QueriedProject, kind: string, parts: readonly unknown[]): string {
  const { id, timezone, week_start_day, hidden_tables = [] } = project
  const visibility = hidden_tables.length === 0 ? [] : [{ hidden_tables }]
  const key_parts = [VERSION, id, timezone, week_start_day ?? 0, kind, ...parts, ...visibility]
  return `cache_${createHash('md5').update(JSON.stringify(key_parts, sortMembers)).digest('hex')}`
}

/** A replacer for JSON.stringify that sorts the members of objects and writes a bigint as `{integer: "…"}`. */
function sortMembers(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return { integer: String(value) }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
