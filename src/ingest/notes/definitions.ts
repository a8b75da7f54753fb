/** Definitions: the event and property names of a project, with detected types, updated by the commits of events. */
import type { Statement } from 'bun:sqlite'
import { ClockCache } from '../../storage/clock-cache.ts'
import type { EventLog } from '../../storage/log/event-log.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'

type DetectedPropertyType = 'String' | 'Numeric' | 'Boolean' | 'DateTime'

/** The owner of a property: event, person, or a group by the index of its type. */
export type DefinitionOwner = 'event' | 'person' | 0 | 1 | 2 | 3 | 4

/** Longer names get no definition. */
export const NAME_LENGTH_MAX = 200
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

/** A date, year first or last, perhaps with a time of the day after it. */
const DATE_LIKE =
  /^(?:\d{4}[/-][0-2]\d[/-][0-3]\d|[0-2]\d[/-][0-3]\d[/-]\d{4})(?:[ T][0-2]\d:[0-6]\d:[0-6]\d.*)?$/
/** RFC 3339 without seconds, which clients write too. */
const MINUTE_LIKE = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?:Z|[+-]\d{2}:?\d{2})?$/
/** RFC 2822: `Tue, 10 Mar 2026 12:34:56 +0000`. */
const MAIL_DATE_LIKE =
  /^(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}(?::\d{2})? (?:[+-]\d{4}|GMT|UTC?|Z)$/
const BOOLEAN_LIKE = /^(?:true|false|TRUE|FALSE)$/
/** A number of a property with such a name may be a time. */
const TIME_NAME = /time|date|_at|-at|createdat|updatedat/
/** Whole numbers below the seconds since 1970 of half a year ago are no times. */
const RECENT_S = 15_768_000

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

const RETYPE_PROPERTY = `
update property_definitions set property_type = ?, change = ?
where project_id = ? and kind = ? and group_type_index = ? and name = ?`

/** Another type of a known property; null to detect it again from its next value. */
export type PropertyTypeChange = {
  readonly project_id: number
  readonly owner: DefinitionOwner
  readonly name: string
  readonly property_type: DetectedPropertyType | null
}

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
  readonly #retype_property: Statement

  constructor(log: EventLog) {
    this.#log = log
    this.#upsert_event = log.db.prepare(UPSERT_EVENT)
    this.#upsert_property = log.db.prepare(UPSERT_PROPERTY)
    this.#retype_property = log.db.prepare(RETYPE_PROPERTY)
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

  /** Changes the type with which a property is read from now on; its values stay as they were sent. */
  changeType({ project_id, owner, name, property_type }: PropertyTypeChange): void {
    const change = this.#log.nextChange()
    const [kind, group_type_index] = ownerColumns(owner)
    this.#retype_property.run(property_type, change, project_id, kind, group_type_index, name)
    const noted = this.#openProperties(project_id, owner).get(name)
    if (noted !== undefined) noted.type = property_type
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
    const type = before?.type ?? detectType(name, value, now)
    if (before === undefined) {
      if (noted.size >= NAMES_MAX || name.length > NAME_LENGTH_MAX || NOT_DEFINED.has(name)) return
    } else if (type === before.type && now - before.seen_at < SEEN_EVERY_US) return
    this.#upsert_property.run(
      project_id,
      ...ownerColumns(owner),
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

/**
 * The type of a value, also by its name and spelling; null for null, lists and objects. A whole number is a time if it
 * may be recent seconds or milliseconds since 1970 and the name says so. `now` in µs.
 */
function detectType(name: string, value: unknown, now: number): DetectedPropertyType | null {
  const lowered = name.toLowerCase()
  if (isAlwaysText(lowered)) return 'String'
  if (typeof value === 'boolean') return 'Boolean'
  if (typeof value === 'number') {
    const is_recent = Number.isInteger(value) && value >= now / 1_000_000 - RECENT_S
    return is_recent && TIME_NAME.test(lowered) ? 'DateTime' : 'Numeric'
  }
  if (typeof value !== 'string') return null
  const text = value.trim()
  if (BOOLEAN_LIKE.test(text)) return 'Boolean'
  return isDate(text) ? 'DateTime' : 'String'
}

const isDate = (text: string): boolean =>
  [DATE_LIKE, MINUTE_LIKE, MAIL_DATE_LIKE].some((form) => form.test(text))

function isAlwaysText(name: string): boolean {
  return (
    name.startsWith('utm_') ||
    name.startsWith('$initial_utm_') ||
    name.startsWith('$feature/') ||
    name === '$feature_flag_response' ||
    name.startsWith('$survey_response')
  )
}

/** The columns `kind` and `group_type_index` of an owner. */
const ownerColumns = (owner: DefinitionOwner): [kind: string, group_type_index: number] =>
  typeof owner === 'number' ? ['group', owner] : [owner, -1]

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
