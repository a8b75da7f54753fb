/** What the data thread has learnt about a project's names, read by the main thread: types of properties, group types. */
import type { Database, Statement } from 'bun:sqlite'
import { join } from 'node:path'
import { ClockCache } from '../clock-cache.ts'
import { openReader } from '../sqlite/sqlite.ts'
import { type ColumnOwner, type NeededColumn, neededColumnName } from './property-columns.ts'

/** The first type that a property's values showed. */
export type DetectedType = 'Boolean' | 'DateTime' | 'Numeric' | 'String'

/** Property → detected type, under `event:price`, `person:age` or `group_0:seats`. */
export type PropertyTypes = ReadonlyMap<string, DetectedType>

/**
 * Property → its column in the relation it is read from: under `text:plan`, `number:price`, `boolean:coupon` or
 * `json:items` for events, `person/text:email` and `group/number:seats` for others.
 */
export type PropertyColumns = { get(key: string): `p_${string}` | undefined }

const KEY = /^(?:(person|group)\/)?(text|number|boolean|json):(.*)$/s

/** The same for every project, since a name says all. */
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

/** A name that events had. Times are microseconds since 1970 UTC. */
export type EventDefinition = {
  readonly name: string
  readonly first_seen: number
  readonly last_seen: number
}

/** A property that events, persons or groups had; without a type until a value showed one. Times are microseconds. */
export type PropertyDefinition = {
  readonly name: string
  readonly property_type: DetectedType | null
  readonly last_seen: number
}

/** Whose properties: those of groups are told apart by type. */
export type DetectedOwner = {
  readonly kind: 'event' | 'person' | 'group'
  /** -1 unless of groups. */
  readonly group_type_index: number
}

type DetectedRow = {
  readonly kind: 'event' | 'person' | 'group'
  readonly group_type_index: number
  readonly name: string
  readonly property_type: DetectedType
}

type CachedTypes = { readonly change: number; readonly types: PropertyTypes }

/** Projects whose types are kept in memory. */
const PROJECTS_CACHED_MAX = 256

/** Reads events.db, which the data thread has made and writes. */
export class DefinitionReader {
  readonly #db: Database
  readonly #known = new ClockCache<CachedTypes>(PROJECTS_CACHED_MAX)
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

  /** The types detected in what is committed now. Only what has changed since the last call is read. */
  propertyTypes(project_id: number): PropertyTypes {
    const key = String(project_id)
    const known = this.#known.get(key) ?? { change: -1, types: new Map() }
    const change = this.#newest.get(project_id)?.change ?? -1
    if (change === known.change) return known.types
    const types = new Map(known.types)
    for (const row of this.#changed.all(project_id, known.change)) {
      types.set(`${ownerOf(row)}:${row.name}`, row.property_type)
    }
    this.#known.set(key, { change, types })
    return types
  }

  /** What queries call the columns of properties: whoever answers finds each in whatever a file has of it. */
  propertyColumns(_project_id: number): PropertyColumns {
    return PROPERTY_COLUMNS
  }

  /** True once a project has groups. */
  hasGroupTypes(project_id: number): boolean {
    return (this.#group_types.get(project_id)?.count ?? 0) > 0
  }

  /** The names that events had so far, in order. */
  listEvents(project_id: number): readonly EventDefinition[] {
    return this.#db
      .query<EventDefinition, [number]>(
        'select name, first_seen, last_seen from event_definitions where project_id = ? order by name',
      )
      .all(project_id)
  }

  /** The properties seen so far, in order of their names. */
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
