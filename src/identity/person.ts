/** A person's properties: how `$set_once`, `$set` and `$unset` change them. */
import type {
  PersonProperties,
  PersonStore,
  StoredPerson,
} from '../storage/persons/person-store.ts'
import {
  type AutomaticValues,
  automaticValues,
  hasMoreMarks,
  isAutomatic,
  marksOfPerson,
} from './automatic-properties.ts'
import { fits, type SizeLimits, sizeAfter } from './size.ts'

/** What one event wants changed on its person. */
export type PersonUpdate = {
  readonly set: PersonProperties
  readonly set_once: PersonProperties
  readonly unset: readonly string[]
  /** What the event's own properties tell; explicit ones win. */
  readonly told: AutomaticValues
  /** True for events whose purpose is the person: they bring stored automatic properties up to date. */
  readonly is_about_person: boolean
}

/** `too_large`: the change was not made because the person would not fit (`person_bytes_max`). */
export type UpdateOutcome = 'updated' | 'unchanged' | 'too_large'

/**
 * Applies an update in its fixed order: set_once, set, unset. Saves the person when something changed. The cost grows
 * with what the event says, not with what the person has.
 */
export function updatePerson(
  store: PersonStore,
  person: StoredPerson,
  update: PersonUpdate,
  limits: SizeLimits,
): UpdateOutcome {
  if (!asksForMore(store, person, update)) return 'unchanged'
  const stored = store.open(person)
  const set = changesOf(stored, update) ?? {}
  const gone = new Set(
    update.unset.filter((key) => Object.hasOwn(stored, key) || Object.hasOwn(set, key)),
  )
  const changed = Object.keys(set)
  if (changed.length === 0 && gone.size === 0) return 'unchanged'
  const before = store.sizeOf(person, stored)
  const size = sizeAfter(before, stored, { set, gone })
  if (!fits(size, before, limits)) return 'too_large'
  const { marks_low, marks_high } = person
  store.change(person, stored, { set, gone, size })
  const is_marked =
    marks_low !== -1 && !changed.some(isAutomatic) && !gone.values().some(isAutomatic)
  if (is_marked) Object.assign(person, { marks_low, marks_high })
  else markPerson(person, stored)
  return 'updated'
}

/** Most events ask for nothing, and tell what is known: this is found out without touching a value. */
function asksForMore(store: PersonStore, person: StoredPerson, update: PersonUpdate): boolean {
  if (asksForSomething(update)) return true
  if (person.marks_low === -1) markPerson(person, store.open(person))
  return hasMoreMarks(update.told, person)
}

function asksForSomething(update: PersonUpdate): boolean {
  if (update.is_about_person || update.unset.length > 0) return true
  for (const _ in update.set) return true
  for (const _ in update.set_once) return true
  return false
}

/** Whether an update certainly leaves a person with these marks as it is. */
export function isNoop(
  update: PersonUpdate | null,
  person: { readonly marks_low: number; readonly marks_high: number },
): boolean {
  return update === null || !(asksForSomething(update) || hasMoreMarks(update.told, person))
}

function markPerson(person: StoredPerson, properties: PersonProperties): void {
  const marks = marksOfPerson(properties)
  person.marks_low = marks.low
  person.marks_high = marks.high
}

/** The properties that get another value; null when none does. */
function changesOf(stored: PersonProperties, update: PersonUpdate): PersonProperties | null {
  const explicit = explicitChanges(stored, update)
  const changes = newlyTold(stored, update, explicit)
  // Where a user is and what he came with changes with every event: that alone is not worth writing the person.
  if (changes === null && !update.is_about_person && update.unset.length === 0) return null
  return toldAnew(stored, update, changes)
}

/** Adds what the event tells and the person does not have yet. */
function newlyTold(
  stored: PersonProperties,
  update: PersonUpdate,
  explicit: PersonProperties | null,
): PersonProperties | null {
  let changes = explicit
  for (const [{ set, initial }, value] of automaticValues(update.told)) {
    if (!Object.hasOwn(stored, initial) && !Object.hasOwn(update.set_once, initial)) {
      changes = withKey(changes ?? {}, initial, value)
    }
    if (!Object.hasOwn(stored, set) && !isExplicit(update, set)) {
      changes = withKey(changes ?? {}, set, value)
    }
  }
  return changes
}

/** Adds what the event tells and the person has otherwise. */
function toldAnew(
  stored: PersonProperties,
  update: PersonUpdate,
  changes: PersonProperties | null,
): PersonProperties | null {
  let all = changes
  for (const [{ set }, value] of automaticValues(update.told)) {
    if (isExplicit(update, set) || isSame(stored[set], value)) continue
    all = withKey(all ?? {}, set, value)
  }
  return all
}

function isExplicit(update: PersonUpdate, key: string): boolean {
  return Object.hasOwn(update.set, key) || Object.hasOwn(update.set_once, key)
}

function explicitChanges(stored: PersonProperties, update: PersonUpdate): PersonProperties | null {
  let changes: PersonProperties | null = null
  for (const key of Object.keys(update.set_once)) {
    if (!Object.hasOwn(stored, key)) changes = withKey(changes ?? {}, key, update.set_once[key])
  }
  for (const key of Object.keys(update.set)) {
    const value = update.set[key]
    const is_known = Object.hasOwn(stored, key) && isSame(stored[key], value)
    if (!is_known || (changes !== null && Object.hasOwn(changes, key))) {
      changes = withKey(changes ?? {}, key, value)
    }
  }
  return changes
}

/** Plain assignment would take `__proto__` for something else. */
function withKey(properties: PersonProperties, key: string, value: unknown): PersonProperties {
  if (key === '__proto__') return { ...properties, ['__proto__']: value }
  properties[key] = value
  return properties
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object') return false
  return JSON.stringify(a) === JSON.stringify(b)
}
