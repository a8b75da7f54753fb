/** Group types and groups in events.db. */
import type { Database, Statement } from 'bun:sqlite'
import { ClockCache } from '../clock-cache.ts'
import type { EventLog } from '../log/event-log.ts'
import { measure, type PersonProperties, type PropertiesSize, setOwn } from './person-store.ts'

export type GroupTypeIndex = 0 | 1 | 2 | 3 | 4

/** Assigned in order of arrival; a project has at most five types. */
const INDEXES: readonly GroupTypeIndex[] = [0, 1, 2, 3, 4]

/** Projects with cached group types. */
const PROJECTS_CACHED_MAX = 10_000

const UPSERT_GROUP = `
insert into groups (project_id, group_type_index, group_key, created_at, updated_at, properties, change)
values (?, ?, ?, ?, ?, ?, ?)
on conflict (project_id, group_type_index, group_key) do update set
  created_at = case
    when groups.is_deleted = 1 then excluded.created_at
    else min(groups.created_at, excluded.created_at)
  end,
  updated_at = excluded.updated_at,
  properties = excluded.properties,
  is_deleted = 0,
  change = excluded.change`

const DELETE_GROUP = `
update groups
set properties = '{}', is_deleted = 1, change = ?
where project_id = ? and group_type_index = ? and group_key = ? and is_deleted = 0`

/** The key of a group. */
export type GroupName = {
  readonly project_id: number
  readonly group_type_index: number
  readonly group_key: string
}

/** A group in memory until the next flush. */
export type OpenGroup = {
  readonly name: GroupName
  readonly properties: PersonProperties
  /** Whether the group is stored, or will be by the next flush. */
  is_stored: boolean
  size: PropertiesSize
  /** Times of the earliest and the last event that changed it, µs; null before the first. */
  times: { readonly created_at: number; readonly updated_at: number } | null
}

/** Limits of open groups, and of the bytes of their properties. */
const OPEN_MAX = 5000
const OPEN_BYTES_MAX = 4 * 1024 * 1024

/** Reads and writes groups inside the data thread's transactions. */
export class GroupStore {
  readonly #db: Database
  readonly #log: EventLog
  readonly #types = new ClockCache<Map<string, GroupTypeIndex>>(PROJECTS_CACHED_MAX)
  readonly #select: Statement<{ properties: string }, [number, number, string]>
  readonly #upsert: Statement
  readonly #delete: Statement
  readonly #open = new Map<string, OpenGroup>()
  #open_bytes = 0

  constructor(log: EventLog) {
    this.#db = log.db
    this.#log = log
    this.#select = this.#db.prepare(
      'select properties from groups where project_id = ? and group_type_index = ? and group_key = ? and is_deleted = 0',
    )
    this.#upsert = this.#db.prepare(UPSERT_GROUP)
    this.#delete = this.#db.prepare(DELETE_GROUP)
  }

  /** Finds or assigns the index of a group type; null for a type beyond the fifth. */
  ensureTypeIndex(project_id: number, group_type: string): GroupTypeIndex | null {
    const types = this.#typesOf(project_id)
    const known = this.findTypeIndex(project_id, group_type)
    if (known !== null) return known
    const index = INDEXES[types.size]
    if (index === undefined) return null
    this.#db
      .query('insert into group_types (project_id, group_type, group_type_index) values (?, ?, ?)')
      .run(project_id, group_type, index)
    types.set(group_type, index)
    return index
  }

  /** Finds the index of a group type; null for a type that has none. */
  findTypeIndex(project_id: number, group_type: string): GroupTypeIndex | null {
    return this.#typesOf(project_id).get(group_type) ?? null
  }

  /** Opens a group, which is read once until the next flush. */
  open(name: GroupName): OpenGroup {
    const key = `${name.project_id}:${name.group_type_index}:${name.group_key}`
    const known = this.#open.get(key)
    if (known !== undefined) return known
    const text = this.#select.get(
      name.project_id,
      name.group_type_index,
      name.group_key,
    )?.properties
    const properties = JSON.parse(text ?? '{}') as PersonProperties
    const size = measure(properties, text ?? null)
    const is_full = this.#open.size >= OPEN_MAX || this.#open_bytes + size.bytes > OPEN_BYTES_MAX
    if (is_full) this.flush()
    const is_stored = text !== undefined
    const group: OpenGroup = { name, properties, is_stored, size, times: null }
    this.#open.set(key, group)
    this.#open_bytes += size.bytes
    return group
  }

  /**
   * Changes an open group, to be written by `flush`: sets, then unsets. `at` is the time of the event that says so (µs), and the earliest
   * one is its creation.
   */
  save(
    group: OpenGroup,
    change: {
      readonly set: PersonProperties
      readonly unset: ReadonlySet<string>
      readonly size: PropertiesSize
    },
    at: number,
  ): void {
    for (const name of Object.keys(change.set)) setOwn(group.properties, name, change.set[name])
    for (const name of change.unset) delete group.properties[name]
    group.is_stored = true
    if (group.times === null) this.#log.noteWrite(1, change.size.bytes)
    this.#open_bytes += change.size.bytes - group.size.bytes
    group.size = change.size
    group.times = { created_at: Math.min(at, group.times?.created_at ?? at), updated_at: at }
  }

  /** Writes every changed group. Called inside the transaction, before its commit. */
  flush(): void {
    for (const { name, properties, times } of this.#open.values()) {
      if (times === null) continue
      this.#upsert.run(
        name.project_id,
        name.group_type_index,
        name.group_key,
        times.created_at,
        times.updated_at,
        JSON.stringify(properties),
        this.#log.nextChange(),
      )
    }
    this.#forgetOpen()
  }

  /** Deletes a group; events keep its key. Returns false when no such group is stored. */
  remove({ project_id, group_type_index, group_key }: GroupName): boolean {
    // A change that is not written yet would bring the group back.
    this.flush()
    const change = this.#log.nextChange()
    return this.#delete.run(change, project_id, group_type_index, group_key).changes > 0
  }

  #forgetOpen(): void {
    this.#open.clear()
    this.#open_bytes = 0
  }

  /** Drops everything in memory, after a rollback. */
  forget(): void {
    this.#types.clear()
    this.#forgetOpen()
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
