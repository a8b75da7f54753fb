/** Updates of a person's properties by `$set_once`, `$set`, `$unset` and automatic properties. */
import {
  type PersonProperties,
  type PersonStore,
  type StoredPerson,
  setOwn,
} from '../storage/persons/person-store.ts'
import {
  type AutomaticValues,
  automaticValues,
  hasMoreMarks,
  isAutomatic,
  marksOfPerson,
} from './automatic-properties.ts'
import { fits, type SizeLimits, sizeAfter } from './size.ts'
import { valueText } from './value-text.ts'

/** The changes that one event claims for its person. */
export type PersonUpdate = {
  readonly set: PersonProperties
  readonly set_once: PersonProperties
  readonly unset: readonly string[]
  /** Automatic properties; explicit ones take precedence. */
  readonly automatic: AutomaticValues
  /** True for events whose purpose is the person: they overwrite stored automatic properties. */
  readonly is_about_person: boolean
}

/** `too_large`: the person would exceed its limits, so nothing was changed. */
export type UpdateOutcome = 'updated' | 'unchanged' | 'too_large'

/**
 * Applies an update in its fixed order: set_once, set, unset. Saves the person if something changed. The cost grows
 * with the event's properties, not with the person's.
 */
export function updatePerson(
  store: PersonStore,
  person: StoredPerson,
  update: PersonUpdate,
  limits: SizeLimits,
): UpdateOutcome {
  if (!mayChange(store, person, update)) return 'unchanged'
  const outcome = applyUpdate(store, person, update, limits)
  const { lasting_hash } = update.automatic
  // An explicit change takes precedence over automatic properties, which are then not compared.
  const are_compared = outcome !== 'too_large' && lasting_hash !== 0 && !hasExplicitChange(update)
  if (are_compared) person.lasting_hash = lasting_hash
  return outcome
}

function applyUpdate(
  store: PersonStore,
  person: StoredPerson,
  update: PersonUpdate,
  limits: SizeLimits,
): UpdateOutcome {
  const stored = store.parse(person)
  const set = collectChanges(stored, update)
  const unset = new Set(
    update.unset.filter((key) => Object.hasOwn(stored, key) || Object.hasOwn(set, key)),
  )
  const changed = Object.keys(set)
  if (changed.length === 0 && unset.size === 0) return 'unchanged'
  const before = store.sizeOf(person, stored)
  const size = sizeAfter(before, stored, { set, unset })
  if (!fits(size, before, limits)) return 'too_large'
  const { marks_low, marks_high } = person
  store.change(person, stored, { set, unset, size })
  const is_marked =
    marks_low !== -1 && !changed.some(isAutomatic) && !unset.values().some(isAutomatic)
  if (is_marked) Object.assign(person, { marks_low, marks_high })
  else markPerson(person, stored)
  return 'updated'
}

/** Whether an update may change the person. False for most events, by their bit sets alone, without reading a value. */
function mayChange(store: PersonStore, person: StoredPerson, update: PersonUpdate): boolean {
  if (hasExplicitChange(update)) return true
  if (person.marks_low === -1) markPerson(person, store.parse(person))
  return hasNewAutomatic(update.automatic, person)
}

/** Whether automatic properties may change a person: it lacks one, or had other lasting ones. */
function hasNewAutomatic(automatic: AutomaticValues, person: AutomaticMarks): boolean {
  if (hasMoreMarks(automatic, person)) return true
  return automatic.lasting_hash !== 0 && automatic.lasting_hash !== person.lasting_hash
}

type AutomaticMarks = Pick<StoredPerson, 'lasting_hash' | 'marks_high' | 'marks_low'>

function hasExplicitChange(update: PersonUpdate): boolean {
  if (update.is_about_person || update.unset.length > 0) return true
  return !isEmpty(update.set) || !isEmpty(update.set_once)
}

/** Whether an update certainly leaves a person with these marks unchanged. */
export function isNoop(update: PersonUpdate | null, person: Readonly<AutomaticMarks>): boolean {
  if (update === null) return true
  return !hasExplicitChange(update) && !hasNewAutomatic(update.automatic, person)
}

function markPerson(person: StoredPerson, properties: PersonProperties): void {
  const marks = marksOfPerson(properties)
  person.marks_low = marks.low
  person.marks_high = marks.high
}

/** The properties that change. */
function collectChanges(stored: PersonProperties, update: PersonUpdate): PersonProperties {
  const changes: PersonProperties = {}
  addExplicit(stored, update, changes)
  addMissingAutomatic(stored, update, changes)
  // Automatic properties such as `$current_url` change with every event: they are written with another change only.
  const is_idle = isEmpty(changes) && !update.is_about_person && update.unset.length === 0
  if (!is_idle || hasLastingChange(stored, update)) addChangedAutomatic(stored, update, changes)
  return changes
}

function isEmpty(properties: PersonProperties): boolean {
  for (const _ in properties) return false
  return true
}

/** Adds the automatic properties that the person lacks. */
function addMissingAutomatic(
  stored: PersonProperties,
  update: PersonUpdate,
  changes: PersonProperties,
): void {
  for (const [{ set, initial, fallback }, value] of automaticValues(update.automatic)) {
    // A browser's null says that this visit has no such parameter, not that the first one had none.
    const is_first = (value !== null || fallback === null) && lacks(stored, initial, value)
    if (is_first && !Object.hasOwn(update.set_once, initial)) {
      setOwn(changes, initial, value)
    }
    if (!Object.hasOwn(stored, set) && !isExplicit(update, set)) {
      setOwn(changes, set, value)
    }
  }
}

function hasLastingChange(stored: PersonProperties, update: PersonUpdate): boolean {
  for (const [{ set, is_lasting }, value] of automaticValues(update.automatic)) {
    if (is_lasting && !isExplicit(update, set) && !isSame(stored[set], value)) return true
  }
  return false
}

/** Adds the automatic properties that have another value on the person. */
function addChangedAutomatic(
  stored: PersonProperties,
  update: PersonUpdate,
  changes: PersonProperties,
): void {
  for (const [{ set }, value] of automaticValues(update.automatic)) {
    if (!isExplicit(update, set) && !isSame(stored[set], value)) setOwn(changes, set, value)
  }
}

function isExplicit(update: PersonUpdate, key: string): boolean {
  return Object.hasOwn(update.set, key) || Object.hasOwn(update.set_once, key)
}

/** Adds what `$set_once` and `$set` change. */
function addExplicit(
  stored: PersonProperties,
  update: PersonUpdate,
  changes: PersonProperties,
): void {
  for (const key of Object.keys(update.set_once)) {
    const value = update.set_once[key]
    if (lacks(stored, key, value)) setOwn(changes, key, value)
  }
  for (const key of Object.keys(update.set)) {
    const value = update.set[key]
    const is_stored = Object.hasOwn(stored, key) && isSame(stored[key], value)
    if (!is_stored || Object.hasOwn(changes, key)) setOwn(changes, key, value)
  }
}

/**
 * Whether `$set_once` of a value applies: nothing is stored. A stored null counts as stored, but for the automatic
 * properties: there it says that a visit had no campaign.
 */
function lacks(stored: PersonProperties, key: string, value: unknown): boolean {
  if (!Object.hasOwn(stored, key)) return true
  return stored[key] === null && value !== null && isAutomatic(key)
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object') return false
  return valueText(a) === valueText(b)
}
