/** Remembers which names of events and properties were met lately, so that only others are looked at again. */

import { ClockCache } from '../../storage/clock-cache.ts'
import type { PersonProperties } from '../../storage/persons/person-store.ts'
import type { NewNames } from '../threads/batch.ts'

/** Projects watched. */
const PROJECTS_MAX = 200
/** Names remembered per project and kind; further ones are told each time, and the definitions have a limit of their own. */
const NAMES_MAX = 10_000
/** After this time a name is told again; the definitions move their "last seen" by the hour. */
const REMEMBERED_US = 900_000_000
/** Names of each kind that one request may tell: a write for each of them is made in one transaction. Others are told later. */
const LISTED_MAX = 2000
/** Kinds of events of one request whose lists of properties are remembered, and the longest such list. */
const ALIKE_MAX = 50
const ALIKE_NAMES_MAX = 200

/** When each name was last told, µs. A property without a value that shows its type is told again when one comes. */
type SeenNames = {
  readonly events: Map<string, number>
  readonly properties: Map<string, number>
  readonly untyped_properties: Map<string, number>
}

/** Watches the names of all projects. */
export class DefinitionTracker {
  readonly #projects = new ClockCache<SeenNames>(PROJECTS_MAX)

  /** Starts the list of one request, received at `now` (µs). */
  list(project_id: number, now: number): NameList {
    const key = String(project_id)
    let seen = this.#projects.get(key)
    if (seen === undefined) {
      seen = { events: new Map(), properties: new Map(), untyped_properties: new Map() }
      this.#projects.set(key, seen)
    }
    return new NameList(seen, now)
  }

  /** Forgets everything: what was told has not been written. */
  forget(): void {
    this.#projects.clear()
  }
}

/** Gathers what one request has to tell. */
export class NameList {
  readonly #reported: SeenNames
  readonly #now: number
  readonly #events = new Set<string>()
  readonly #properties = new Map<string, unknown>()
  /** By event, the properties of one that had nothing to tell: the next one with the same list has nothing either. */
  #alike: Map<string, readonly string[]> | null = null
  #has_several = false

  constructor(seen: SeenNames, now: number) {
    this.#reported = seen
    this.#now = now
  }

  /** Notes an event. */
  note(event: string, properties: PersonProperties): void {
    const alike = this.#alike?.get(event)
    if (alike !== undefined && hasNames(properties, alike)) return
    const is_event_told = this.#isRecent(this.#reported.events.get(event))
    if (!is_event_told && this.#events.size < LISTED_MAX) this.#events.add(event)
    let are_all_told = is_event_told
    for (const name in properties) {
      if (this.#isRecent(this.#reported.properties.get(name))) continue
      are_all_told = false
      this.#noteProperty(name, properties[name])
    }
    // Most requests have one event, to which no other can be alike.
    if (are_all_told && this.#has_several) this.#rememberAlike(event, properties)
    this.#has_several = true
  }

  /** What is to be told. From now on it counts as told, so the request must have been taken. */
  close(): NewNames {
    for (const event of this.#events) this.#remember(this.#reported.events, event)
    for (const [name, value] of this.#properties) {
      const { properties, untyped_properties } = this.#reported
      this.#remember(showsType(value) ? properties : untyped_properties, name)
    }
    return { events: [...this.#events], properties: Object.fromEntries(this.#properties) }
  }

  #noteProperty(name: string, value: unknown): void {
    if (this.#properties.size >= LISTED_MAX && !this.#properties.has(name)) return
    if (showsType(value)) this.#properties.set(name, value)
    else if (!this.#isRecent(this.#reported.untyped_properties.get(name))) {
      if (!this.#properties.has(name)) this.#properties.set(name, value)
    }
  }

  #rememberAlike(event: string, properties: PersonProperties): void {
    const names = Object.keys(properties)
    this.#alike ??= new Map()
    if (names.length > ALIKE_NAMES_MAX || this.#alike.size >= ALIKE_MAX) return
    this.#alike.set(event, names)
  }

  #isRecent(told_at: number | undefined): boolean {
    return told_at !== undefined && this.#now - told_at < REMEMBERED_US
  }

  #remember(seen: Map<string, number>, name: string): void {
    if (seen.size < NAMES_MAX || seen.has(name)) seen.set(name, this.#now)
  }
}

function showsType(value: unknown): boolean {
  return value !== null && typeof value !== 'object'
}

/** Whether these are the names of all properties, in this order. */
function hasNames(properties: PersonProperties, names: readonly string[]): boolean {
  let index = 0
  for (const name in properties) {
    if (name !== names[index]) return false
    index += 1
  }
  return index === names.length
}
