/** Definitions: the event and property names of a project, with detected types, updated by the commits of events. */
import type { Statement } from 'bun:sqlite'
import { ClockCache } from '../../storage/clock-cache.ts'
import type { EventLog } from '../../storage/log/event-log.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'

export type DetectedPropertyType = 'String' | 'Numeric' | 'Boolean' | 'DateTime'

/** The owner of a property: event, person, or a group by the index of its type. */
export type DefinitionOwner = 'event' | 'person' | 0 | 1 | 2 | 3 | 4

/** Longer names get no definition. */
const NAME_LENGTH_MAX = 200
/** Definitions of each kind per project; events with further names are stored without one. */
const NAMES_MAX = 10_000
/** Projects whose definitions are cached. */
const PROJECTS_CACHED_MAX = 200
/** Interval of writes to `last_seen`. */
const SEEN_EVERY_US = 3_600_000_000

/** Properties with a meaning for ingestion, which describe no event. */
const NOT_DEFINED: ReadonlySet<string> = new Set([
  '$set',
  '$set_once',
  '$unset',
  '$groups',
  '$group_0',
  '$group_1',
  '$group_2',
  '$group_3',
  '$group_4',
])

const ISO_LIKE =
  /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/
const BOOLEAN_LIKE = /^(?:true|false|TRUE|FALSE)$/

const UPSERT_EVENT = `
insert into event_definitions (project_id, name, first_seen, last_seen, change)
values (?, ?, ?, ?, ?)
on conflict (project_id, name) do update set
  last_seen = excluded.last_seen,
  change = excluded.change`

const UPSERT_PROPERTY = `
insert into property_definitions (
  project_id, kind, group_type_index, name, property_type, first_seen, last_seen, change
)
values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict (project_id, kind, group_type_index, name) do update set
  property_type = coalesce(property_definitions.property_type, excluded.property_type),
  last_seen = excluded.last_seen,
  change = excluded.change`

type NotedProperty = { type: DetectedPropertyType | null; seen_at: number }

type ProjectNames = {
  readonly events: Map<string, number>
  readonly properties: Map<DefinitionOwner, Map<string, NotedProperty>>
}

type PropertyRow = {
  kind: string
  group_type_index: number
  name: string
  property_type: DetectedPropertyType | null
  last_seen: number
}

/** Writes new names inside the data thread's transactions; a known name costs one lookup in memory. */
export class DefinitionNoter {
  readonly #log: EventLog
  readonly #projects = new ClockCache<ProjectNames>(PROJECTS_CACHED_MAX)
  readonly #upsert_event: Statement
  readonly #upsert_property: Statement

  constructor(log: EventLog) {
    this.#log = log
    this.#upsert_event = log.db.prepare(UPSERT_EVENT)
    this.#upsert_property = log.db.prepare(UPSERT_PROPERTY)
  }

  /** Notes an event's name. `now` in µs. */
  noteEvent(project_id: number, name: string, now: number): void {
    const { events } = this.#namesOf(project_id)
    const seen_at = events.get(name)
    if (seen_at !== undefined && now - seen_at < SEEN_EVERY_US) return
    if (seen_at === undefined && (events.size >= NAMES_MAX || name.length > NAME_LENGTH_MAX)) return
    this.#upsert_event.run(project_id, name, now, now, this.#log.nextChange())
    events.set(name, now)
  }

  /** Notes the names and types of properties. `now` in µs. */
  noteProperties(
    project_id: number,
    owner: DefinitionOwner,
    properties: PersonProperties,
    now: number,
  ): void {
    const noted = this.#openProperties(project_id, owner)
    for (const name in properties) {
      const before = noted.get(name)
      if (
        before !== undefined &&
        now - before.seen_at < SEEN_EVERY_US &&
        (before.type !== null || properties[name] === null)
      ) {
        continue
      }
      this.#noteProperty(project_id, owner, { name, value: properties[name], before, now })
    }
  }

  /** Clears the cache after a rollback. */
  forget(): void {
    this.#projects.clear()
  }

  #noteProperty(
    project_id: number,
    owner: DefinitionOwner,
    seen: { name: string; value: unknown; before: NotedProperty | undefined; now: number },
  ): void {
    const { name, value, before, now } = seen
    const noted = this.#openProperties(project_id, owner)
    const type = before?.type ?? detectType(name, value)
    if (before === undefined) {
      if (noted.size >= NAMES_MAX || name.length > NAME_LENGTH_MAX || NOT_DEFINED.has(name)) return
    } else if (type === before.type && now - before.seen_at < SEEN_EVERY_US) return
    const is_group = typeof owner === 'number'
    this.#upsert_property.run(
      project_id,
      is_group ? 'group' : owner,
      is_group ? owner : -1,
      name,
      type,
      now,
      now,
      this.#log.nextChange(),
    )
    noted.set(name, { type, seen_at: now })
  }

  #openProperties(project_id: number, owner: DefinitionOwner): Map<string, NotedProperty> {
    const { properties } = this.#namesOf(project_id)
    const noted = properties.get(owner)
    if (noted !== undefined) return noted
    const fresh = new Map<string, NotedProperty>()
    properties.set(owner, fresh)
    return fresh
  }

  #namesOf(project_id: number): ProjectNames {
    const key = String(project_id)
    const noted = this.#projects.get(key)
    if (noted !== undefined) return noted
    const names = this.#readNames(project_id)
    this.#projects.set(key, names)
    return names
  }

  #readNames(project_id: number): ProjectNames {
    const names: ProjectNames = { events: new Map(), properties: new Map() }
    const events = this.#log.db
      .query<{ name: string; last_seen: number }, [number]>(
        'select name, last_seen from event_definitions where project_id = ?',
      )
      .all(project_id)
    for (const row of events) names.events.set(row.name, row.last_seen)
    const rows = this.#log.db
      .query<PropertyRow, [number]>(
        'select kind, group_type_index, name, property_type, last_seen from property_definitions where project_id = ?',
      )
      .all(project_id)
    for (const row of rows) {
      const owner = ownerOf(row)
      const noted = names.properties.get(owner) ?? new Map<string, NotedProperty>()
      noted.set(row.name, { type: row.property_type, seen_at: row.last_seen })
      names.properties.set(owner, noted)
    }
    return names
  }
}

/** The type of a value, also by its name and spelling; null for null, lists and objects. */
function detectType(name: string, value: unknown): DetectedPropertyType | null {
  if (isAlwaysText(name)) return 'String'
  const is_time = name.toLowerCase().includes('time')
  if (typeof value === 'boolean') return 'Boolean'
  if (typeof value === 'number') return is_time ? 'DateTime' : 'Numeric'
  if (typeof value !== 'string') return null
  if (BOOLEAN_LIKE.test(value)) return 'Boolean'
  return ISO_LIKE.test(value) ? 'DateTime' : 'String'
}

function isAlwaysText(name: string): boolean {
  return (
    name.startsWith('utm_') ||
    name.startsWith('$feature/') ||
    name === '$feature_flag_response' ||
    name.startsWith('$survey_response')
  )
}

function ownerOf(row: PropertyRow): DefinitionOwner {
  if (row.kind === 'event' || row.kind === 'person') return row.kind
  switch (row.group_type_index) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return row.group_type_index
    default:
      throw new Error(`property definition of an impossible group type ${row.group_type_index}`)
  }
}
