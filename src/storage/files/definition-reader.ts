/** Reads the definitions that ingestion has detected: event names, properties with their types, group types. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import { ClockCache } from '../clock-cache.ts'
import { openReader } from '../sqlite/sqlite.ts'
import { type ColumnOwner, type NeededColumn, neededColumnName } from './property-columns.ts'

/** The type of a property, detected from its first typed value. */
export type DetectedType = 'Boolean' | 'DateTime' | 'Numeric' | 'String'

/** Property → detected type, under `event:price`, `person:age` or `group_0:seats`. */
export type PropertyTypes = ReadonlyMap<string, DetectedType>

/**
 * Property → its column in the relation it is read from: under `text:plan`, `number:price`, `boolean:coupon` or
 * `json:items` for events, `person/text:email` and `group/number:seats` for others.
 */
export type PropertyColumns = { get(key: string): `p_${string}` | undefined }

const KEY = /^(?:(person|group)\/)?(text|number|boolean|json):(.*)$/s

/** The columns of every project, since a column's name is computed from the property alone. */
export const PROPERTY_COLUMNS: PropertyColumns = {
  get(key) {
    const [, owner = 'event', kind, name = ''] = KEY.exec(key) ?? []
    return isKind(kind) && isOwner(owner) ? neededColumnName({ owner, kind, name }) : undefined
  },
}

function isOwner(owner: string): owner is ColumnOwner {
  return owner === 'event' || owner === 'person' || owner === 'group'
}

function isKind(kind: string | undefined): kind is NeededColumn['kind'] {
  return kind === 'text' || kind === 'number' || kind === 'boolean' || kind === 'json'
}

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
  readonly last_seen: number
}

/** The owner of properties; groups are distinguished by type. */
export type DetectedOwner = {
  readonly kind: 'event' | 'person' | 'group'
  /** -1 for events and persons. */
  readonly group_type_index: number
}

type DetectedRow = {
  readonly kind: 'event' | 'person' | 'group'
  readonly group_type_index: number
  readonly name: string
  readonly property_type: DetectedType
}

type CachedTypes = { readonly change: number; readonly types: PropertyTypes }

/** Projects with cached types. */
const PROJECTS_CACHED_MAX = 256

/** A reader of events.db, which the data thread creates and writes. */
export class DefinitionReader {
  readonly #db: Database
  readonly #types = new ClockCache<CachedTypes>(PROJECTS_CACHED_MAX)
  readonly #newest: Statement<{ change: number | null }, [number]>
  readonly #changed: Statement<DetectedRow, [number, number]>
  readonly #group_types: Statement<{ count: number }, [number]>

  constructor(data_dir: string) {
    this.#db = openReader(join(data_dir, 'events.db'))
    this.#newest = this.#db.prepare(
      'select max(change) as change from property_definitions where project_id = ?',
    )
    this.#changed = this.#db.prepare(
      `select kind, group_type_index, name, property_type from property_definitions
       where project_id = ? and change > ? and property_type is not null`,
    )
    this.#group_types = this.#db.prepare(
      'select count(*) as count from group_types where project_id = ?',
    )
  }

  /** The detected types as of the last commit. Reads only the changes since the last call. */
  propertyTypes(project_id: number): PropertyTypes {
    const key = String(project_id)
    const cached = this.#types.get(key) ?? { change: -1, types: new Map() }
    const change = this.#newest.get(project_id)?.change ?? -1
    if (change === cached.change) return cached.types
    const types = new Map(cached.types)
    for (const row of this.#changed.all(project_id, cached.change)) {
      types.set(`${ownerOf(row)}:${row.name}`, row.property_type)
    }
    this.#types.set(key, { change, types })
    return types
  }

  /** The columns that queries use; the worker reads each from whatever a file has of the property. */
  propertyColumns(_project_id: number): PropertyColumns {
    return PROPERTY_COLUMNS
  }

  /** True once a project has groups. */
  hasGroupTypes(project_id: number): boolean {
    return (this.#group_types.get(project_id)?.count ?? 0) > 0
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
        `select name, property_type, last_seen from property_definitions
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
