/** Group types and groups in events.db. */
import type { Database, Statement } from 'bun:sqlite'
import type { EventLog } from './event-log.ts'
import type { Properties } from './person-store.ts'
import { RecentCache } from './recent-cache.ts'

export type GroupTypeIndex = 0 | 1 | 2 | 3 | 4

/** In order of arrival; a project has no further ones. */
const INDEXES: readonly GroupTypeIndex[] = [0, 1, 2, 3, 4]

/** Projects whose group types are kept in memory. */
const PROJECTS_CACHED_MAX = 10_000

const UPSERT_GROUP = `
insert into groups (project_id, group_type_index, group_key, created_at, updated_at, properties, change)
values (?, ?, ?, ?, ?, ?, ?)
on conflict (project_id, group_type_index, group_key) do update set
  created_at = min(groups.created_at, excluded.created_at),
  updated_at = excluded.updated_at,
  properties = excluded.properties,
  change = excluded.change`

/** What identifies a group within a project. */
export type GroupName = {
  readonly project_id: number
  readonly group_type_index: number
  readonly group_key: string
}

/** Reads and writes groups inside the data thread's transactions. */
export class GroupStore {
  readonly #db: Database
  readonly #log: EventLog
  readonly #types = new RecentCache<Map<string, GroupTypeIndex>>(PROJECTS_CACHED_MAX)
  readonly #select: Statement<{ properties: string }, [number, number, string]>
  readonly #upsert: Statement

  constructor(log: EventLog) {
    this.#db = log.db
    this.#log = log
    this.#select = this.#db.prepare(
      'select properties from groups where project_id = ? and group_type_index = ? and group_key = ?',
    )
    this.#upsert = this.#db.prepare(UPSERT_GROUP)
  }

  /** The index of a group type, given to it on first sight; null for a type beyond the fifth. */
  typeIndex(project_id: number, group_type: string): GroupTypeIndex | null {
    const types = this.#typesOf(project_id)
    const known = types.get(group_type)
    if (known !== undefined) return known
    const index = INDEXES[types.size]
    if (index === undefined) return null
    this.#db
      .query('insert into group_types (project_id, group_type, group_type_index) values (?, ?, ?)')
      .run(project_id, group_type, index)
    types.set(group_type, index)
    return index
  }

  /** A group's properties, or null when there is no such group yet. */
  findProperties(group: GroupName): Properties | null {
    const row = this.#select.get(group.project_id, group.group_type_index, group.group_key)
    return row === null ? null : (JSON.parse(row.properties) as Properties)
  }

  /** Writes a group; `at` is the time of the event that says so (µs), and the earliest one is its creation. */
  save(group: GroupName, properties: Properties, at: number): void {
    this.#upsert.run(
      group.project_id,
      group.group_type_index,
      group.group_key,
      at,
      at,
      JSON.stringify(properties),
      this.#log.nextChange(),
    )
  }

  /** Forgets everything in memory: after a rollback it may be wrong. */
  forget(): void {
    this.#types.clear()
  }

  #typesOf(project_id: number): Map<string, GroupTypeIndex> {
    const known = this.#types.get(String(project_id))
    if (known !== undefined) return known
    const rows = this.#db
      .query<{ group_type: string; group_type_index: GroupTypeIndex }, [number]>(
        'select group_type, group_type_index from group_types where project_id = ?',
      )
      .all(project_id)
    const types = new Map(rows.map((row) => [row.group_type, row.group_type_index]))
    this.#types.set(String(project_id), types)
    return types
  }
}
