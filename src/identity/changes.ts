/** Manual changes of persons through the API: split, undo a merge, delete. */
import type { PersonStore, StoredPerson } from '../storage/persons/person-store.ts'
import { personIdOf } from './distinct-id.ts'
import { type BelongingsByPerson, survivorOf, undoMerge } from './undo.ts'

/** A requested change. Ids of persons are 16 bytes. */
export type PersonChange =
  | {
      readonly kind: 'split'
      readonly project_id: number
      readonly person_id: Uint8Array
      /** The distinct id that keeps the person; null means the id that created it. */
      readonly main_distinct_id: string | null
    }
  | {
      readonly kind: 'undo_merge'
      readonly project_id: number
      readonly person_id: Uint8Array
      /** Null means the last merge. */
      readonly merge_id: number | null
    }
  | {
      readonly kind: 'delete'
      readonly project_id: number
      readonly person_id: Uint8Array
      /** Also deletes the person's events. */
      readonly with_events: boolean
      readonly now: number
    }

/** The outcome. `persons` are the persons after the change; the named person comes first if it still exists. */
export type PersonChanged =
  | { readonly kind: 'changed'; readonly persons: readonly Uint8Array[] }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'no_such_id' }
  | { readonly kind: 'no_such_merge' }
  | { readonly kind: 'too_many' }
  /** The disk could not be written; the caller may retry. */
  | { readonly kind: 'unavailable' }

/** Merges that one split undoes: bounds the time that other requests wait to less than a second. */
const SPLIT_MERGES_MAX = 500
/** Bytes of properties that one split restores; larger families of merges are undone one merge at a time. */
export const SPLIT_LENGTH_MAX = 16 * 1024 * 1024
/** Distinct ids for which one split creates persons. */
const SPLIT_IDS_MAX = 10_000

/** The queue of pending removals of events. */
export type EventRemovals = {
  add(removal: {
    readonly project_id: number
    readonly person_ids: readonly Uint8Array[]
    readonly distinct_ids: readonly string[]
    readonly now: number
  }): void
}

/** Applies a change inside the caller's transaction. */
export function changePerson(
  store: PersonStore,
  removals: EventRemovals,
  change: PersonChange,
): PersonChanged {
  const person = store.get(change.project_id, change.person_id)
  if (person === null) return { kind: 'not_found' }
  switch (change.kind) {
    case 'split':
      return splitPerson(store, person, change.main_distinct_id)
    case 'undo_merge':
      return undoNamedMerge(store, person, change.merge_id)
    case 'delete':
      return deletePerson(store, removals, person, change)
  }
}

/**
 * Splits a person. A merged one becomes the persons that were merged, each restored. One without merges keeps one
 * distinct id and all properties; every other id gets a new person without properties.
 */
function splitPerson(
  store: PersonStore,
  person: StoredPerson,
  main_distinct_id: string | null,
): PersonChanged {
  const ids = store.owners.list(person.project_id, person.id)
  if (main_distinct_id !== null && !ids.some((id) => id.distinct_id === main_distinct_id)) {
    return { kind: 'no_such_id' }
  }
  const merges = store.merges.listFamily(person.project_id, person.id)
  const length = merges.reduce((sum, merge) => sum + merge.length, 0)
  const is_too_large = merges.length > SPLIT_MERGES_MAX || length > SPLIT_LENGTH_MAX
  if (is_too_large || ids.length > SPLIT_IDS_MAX) return { kind: 'too_many' }
  if (merges.length > 0) {
    const belongings: BelongingsByPerson = new Map()
    const undo = (merge_id: number): readonly StoredPerson[] => {
      // Undoing a merge rewrites the log entries of earlier ones: each entry is read just before it is undone.
      const merge = store.merges.find(person.project_id, merge_id)
      return merge === null ? [] : [undoMerge(store, merge, belongings).restored]
    }
    // In reverse order, so that no later merge has to be adjusted.
    return changed([person, ...merges.flatMap(({ id }) => undo(id))])
  }
  const main = main_distinct_id ?? creatorOf(person, ids) ?? ids[0]?.distinct_id
  const others = ids.filter((id) => id.distinct_id !== main)
  return changed([
    person,
    ...others.map(({ distinct_id }) => createSplitPerson(store, person, distinct_id)),
  ])
}

/** The distinct id that created the person: the person's id is derived from it. */
function creatorOf(
  person: StoredPerson,
  ids: readonly { readonly distinct_id: string }[],
): string | undefined {
  const person_id = person.id.toHex()
  return ids.find(
    ({ distinct_id }) => personIdOf(person.project_id, distinct_id).toHex() === person_id,
  )?.distinct_id
}

/** Creates a person for a split off id. It gets the age of the split person: its first event is not searched for. */
function createSplitPerson(
  store: PersonStore,
  part_of: StoredPerson,
  distinct_id: string,
): StoredPerson {
  const { project_id, created_at } = part_of
  const id = personIdOf(project_id, distinct_id)
  const person = store.create({ project_id, id, created_at, properties: {}, is_identified: false })
  store.giveBack(person, distinct_id)
  return person
}

function undoNamedMerge(
  store: PersonStore,
  person: StoredPerson,
  merge_id: number | null,
): PersonChanged {
  const { project_id, id } = person
  const undone_id = merge_id ?? store.merges.listFamily(project_id, id)[0]?.id
  const merge = undone_id === undefined ? null : store.merges.find(project_id, undone_id)
  if (merge === null || survivorOf(store, merge) !== person) return { kind: 'no_such_merge' }
  const { survivor, restored } = undoMerge(store, merge)
  return changed([survivor, restored])
}

function deletePerson(
  store: PersonStore,
  removals: EventRemovals,
  person: StoredPerson,
  options: { readonly with_events: boolean; readonly now: number },
): PersonChanged {
  const { project_id } = person
  if (options.with_events) {
    const ids = store.owners.list(project_id, person.id)
    removals.add({
      project_id,
      person_ids: store.owners.listStoredUnder(project_id, person.id),
      distinct_ids: ids.map((id) => id.distinct_id),
      now: options.now,
    })
  }
  // The persons merged into it are deleted with it, so their log entries go too.
  store.merges.removeFamily(project_id, person.id)
  store.remove(person)
  return changed([])
}

function changed(persons: readonly StoredPerson[]): PersonChanged {
  return { kind: 'changed', persons: persons.map((person) => person.id) }
}
