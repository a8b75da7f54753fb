/** What people of a project change about its persons by hand: split, undo a merge, delete. */
import type { PersonStore, StoredPerson } from '../storage/persons/person-store.ts'
import { personIdOf } from './distinct-id.ts'
import { type BelongingsByPerson, survivorOf, undoMerge } from './undo.ts'

/** A change asked for. Ids of persons are 16 bytes. */
export type PersonChange =
  | {
      readonly kind: 'split'
      readonly project_id: number
      readonly person_id: Uint8Array
      /** Whose person it stays; null leaves it to the id that made the person. */
      readonly main_distinct_id: string | null
    }
  | {
      readonly kind: 'undo_merge'
      readonly project_id: number
      readonly person_id: Uint8Array
      /** Null means the last one. */
      readonly merge_id: number | null
    }
  | {
      readonly kind: 'delete'
      readonly project_id: number
      readonly person_id: Uint8Array
      /** Also what it did, once and for all. */
      readonly with_events: boolean
      readonly now: number
    }

/** What became of it. `persons` are all that are there instead, with the one that was named first where it still is. */
export type PersonChanged =
  | { readonly kind: 'changed'; readonly persons: readonly Uint8Array[] }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'no_such_id' }
  | { readonly kind: 'no_such_merge' }
  | { readonly kind: 'too_many' }
  /** Nothing could be written; the same may be asked for again. */
  | { readonly kind: 'unavailable' }

/** Merges that one split undoes, so that requests that wait meanwhile wait for less than a second. */
const SPLIT_MERGES_MAX = 500
/** Bytes of what the persons had that one split gives back; merges beyond that are undone one at a time. */
export const SPLIT_LENGTH_MAX = 16 * 1024 * 1024
/** Distinct ids that one split gives persons of their own. */
const SPLIT_IDS_MAX = 10_000

/** Where deleted persons' events are removed from. */
export type EventRemovals = {
  add(removal: {
    readonly project_id: number
    readonly person_ids: readonly Uint8Array[]
    readonly distinct_ids: readonly string[]
    readonly now: number
  }): void
}

/** Makes a change, inside a transaction. */
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
      return undoOne(store, person, change.merge_id)
    case 'delete':
      return deletePerson(store, removals, person, change)
  }
}

/**
 * A person that was merged becomes those it was made of, each as it was. One that never was keeps one of its ids with
 * all that is known of it; every other id gets a person of its own, of which nothing else is known.
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
    const held: BelongingsByPerson = new Map()
    const undo = (merge_id: number): readonly StoredPerson[] => {
      // Undoing one changes what is written about those before: each is read when its turn comes.
      const merge = store.merges.find(person.project_id, merge_id)
      return merge === null ? [] : [undoMerge(store, merge, held).back]
    }
    // The last one first: then no later one has to be looked at.
    return changed([person, ...merges.flatMap(({ id }) => undo(id))])
  }
  const kept = main_distinct_id ?? creatorOf(person, ids) ?? ids[0]?.distinct_id
  const others = ids.filter((id) => id.distinct_id !== kept)
  return changed([
    person,
    ...others.map(({ distinct_id }) => personFor(store, person, distinct_id)),
  ])
}

/** The id that made the person, whose id tells. */
function creatorOf(
  person: StoredPerson,
  ids: readonly { readonly distinct_id: string }[],
): string | undefined {
  const own = person.id.toHex()
  return ids.find(({ distinct_id }) => personIdOf(person.project_id, distinct_id).toHex() === own)
    ?.distinct_id
}

/** Its first event is not looked for: it is as old as the person it was part of. */
function personFor(store: PersonStore, part_of: StoredPerson, distinct_id: string): StoredPerson {
  const { project_id, created_at } = part_of
  const id = personIdOf(project_id, distinct_id)
  const person = store.create({ project_id, id, created_at, properties: {}, is_identified: false })
  store.giveBack(person, distinct_id)
  return person
}

function undoOne(store: PersonStore, person: StoredPerson, merge_id: number | null): PersonChanged {
  const { project_id, id } = person
  const wanted = merge_id ?? store.merges.listFamily(project_id, id)[0]?.id
  const merge = wanted === undefined ? null : store.merges.find(project_id, wanted)
  if (merge === null || survivorOf(store, merge) !== person) return { kind: 'no_such_merge' }
  const { left, back } = undoMerge(store, merge)
  return changed([left, back])
}

function deletePerson(
  store: PersonStore,
  removals: EventRemovals,
  person: StoredPerson,
  how: { readonly with_events: boolean; readonly now: number },
): PersonChanged {
  const { project_id } = person
  if (how.with_events) {
    const ids = store.owners.list(project_id, person.id)
    removals.add({
      project_id,
      person_ids: store.owners.listStoredUnder(project_id, person.id),
      distinct_ids: ids.map((id) => id.distinct_id),
      now: how.now,
    })
  }
  // Who was merged into it is deleted with it: nothing of them is kept.
  store.merges.removeFamily(project_id, person.id)
  store.remove(person)
  return changed([])
}

function changed(persons: readonly StoredPerson[]): PersonChanged {
  return { kind: 'changed', persons: persons.map((person) => person.id) }
}
