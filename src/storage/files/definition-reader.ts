/** Reads the definitions that ingestion has detected: event names, properties with their types, group types. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import { ClockCache } from '../clock-cache.ts'
import { openReader } from '../sqlite/sqlite.ts'

/** The type of a property, detected from its first typed value or chosen later. */
type DetectedType = 'Boolean' | 'DateTime' | 'Numeric' | 'String'

/** Property → detected type, under `event:price`, `person:age` or `group_0:seats`. */
type PropertyTypes = ReadonlyMap<string, DetectedType>

/** A detected event name. Times are microseconds since 1970 UTC. */
export type EventDefinition = {
  readonly name: string
  readonly first_seen: number
  readonly last_seen: number
}

/** A detected property; its type is null until a value has one. Times are microseconds. */
export type PropertyDefinition = {
  readonly name: string
  readonly property_type: DetectedType | null
  readonly first_seen: number
  readonly last_seen: number
}

/** The owner of properties; groups are distinguished by type. */
export type DetectedOwner = {
  readonly kind: 'event' | 'person' | 'group'
  /** -1 for events and persons. */
  readonly group_type_index: number
}

type DetectedRow = DetectedOwner & Pick<PropertyDefinition, 'name' | 'property_type'>

/** The index of each group type by name. */
type GroupTypes = ReadonlyMap<string, number>

const NO_GROUPS: GroupTypes = new Map()

type ClickHouseState = {
  /** Events of some ids belong to the persons that have them today. */
  readonly has_id_overrides: boolean
  /** Events of some persons are still to be deleted. */
  readonly has_removed_persons: boolean
}

type CachedTypes = { readonly change: number; readonly types: PropertyTypes }

/** Of a project without properties: one map, since compiled queries are kept for the map they were compiled with. */
const NO_TYPES: CachedTypes = { change: -1, types: new Map() }

/** Projects with cached types. */
const PROJECTS_CACHED_MAX = 256

/** A reader of events.db, which the data thread creates and writes. */
export class DefinitionReader {
  readonly #db: Database
  readonly #are_in_clickhouse: boolean
  readonly #types = new ClockCache<CachedTypes>(PROJECTS_CACHED_MAX)
  readonly #newest: Statement<{ change: number | null }, [number]>
  readonly #changed: Statement<DetectedRow, [number, number]>
  readonly #groups = new ClockCache<GroupTypes>(PROJECTS_CACHED_MAX)
  readonly #group_types_count: Statement<{ count: number }, [number]>

  /** `are_in_clickhouse`: whether the folder's events are, so that queries are compiled for it. */
  constructor(data_dir: string, are_in_clickhouse = false) {
    this.#are_in_clickhouse = are_in_clickhouse
    this.#db = openReader(join(data_dir, 'events.db'))
    this.#newest = this.#db.prepare(
      'select max(change) as change from property_definitions where project_id = ?',
    )
    this.#changed = this.#db.prepare(
      `select kind, group_type_index, name, property_type from property_definitions
       where project_id = ? and change > ?`,
    )
    this.#group_types_count = this.#db.prepare(
      'select count(*) as count from group_types where project_id = ?',
    )
  }

  /** The detected types as of the last commit. Reads only the changes since the last call. */
  propertyTypes(project_id: number): PropertyTypes {
    const key = String(project_id)
    const cached = this.#types.get(key) ?? NO_TYPES
    const change = this.#newest.get(project_id)?.change ?? -1
    if (change === cached.change) return cached.types
    const types = new Map(cached.types)
    for (const row of this.#changed.all(project_id, cached.change)) {
      const key_of_property = `${ownerOf(row)}:${row.name}`
      if (row.property_type === null) types.delete(key_of_property)
      else types.set(key_of_property, row.property_type)
    }
    this.#types.set(key, { change, types })
    return types
  }

  /** The index of each group type by name, as of the last commit: the same map until there are more of them. */
  groupTypes(project_id: number): GroupTypes {
    const key = String(project_id)
    const cached = this.#groups.get(key) ?? NO_GROUPS
    const count = this.#group_types_count.get(project_id)?.count ?? 0
    if (count === cached.size) return cached
    const rows = this.#db
      .query<{ group_type: string; group_type_index: number }, [number]>(
        'select group_type, group_type_index from group_types where project_id = ?',
      )
      .all(project_id)
    const types = new Map(rows.map((row) => [row.group_type, row.group_type_index]))
    this.#groups.set(key, types)
    return types
  }

  /** Facts about a project's tables in ClickHouse; null where the events are on this machine. */
  clickhouseState(project_id: number): ClickHouseState | null {
    if (!this.#are_in_clickhouse) return null
    const has = (table: 'distinct_id_overrides' | 'event_removals'): boolean =>
      this.#db.query(`select 1 from ${table} where project_id = ? limit 1`).get(project_id) !== null
    return {
      has_id_overrides: has('distinct_id_overrides'),
      has_removed_persons: has('event_removals'),
    }
  }

  /** Lists the detected event names, sorted. */
  listEvents(project_id: number): readonly EventDefinition[] {
    return this.#db
      .query<EventDefinition, [number]>(
        'select name, first_seen, last_seen from event_definitions where project_id = ? order by name',
      )
      .all(project_id)
  }

  /** Lists the detected properties, sorted by name. */
  listProperties(
    project_id: number,
    { kind, group_type_index }: DetectedOwner,
  ): readonly PropertyDefinition[] {
    return this.#db
      .query<PropertyDefinition, [number, string, number]>(
        `select name, property_type, first_seen, last_seen from property_definitions
         where project_id = ? and kind = ? and group_type_index = ?
         order by name`,
      )
      .all(project_id, kind, group_type_index)
  }

  close(): void {
    this.#db.close()
  }
}

function ownerOf({ kind, group_type_index }: DetectedRow): string {
  return kind === 'group' ? `group_${group_type_index}` : kind
}
