/** Manual changes of persons through the API: split, undo a merge, delete. */
import { MIB } from '../bytes.ts'
import type { PersonStore, StoredPerson } from '../storage/persons/person-store.ts'
import { isSameId, personIdOf } from './distinct-id.ts'
import { belongingsOf } from './merge.ts'
import { type BelongingsByPerson, copyBelongings, fitsUndo, survivorOf, undoMerge } from './undo.ts'

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
      /** A preview: the caller rolls the transaction back. */
      readonly is_preview?: true
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
  | { readonly kind: 'previewed'; readonly undo: UndoPreview }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'no_such_id' }
  | { readonly kind: 'no_such_merge' }
  | { readonly kind: 'too_many' }
  | { readonly kind: 'too_many_later' }
  /** The disk could not be written; the caller may retry. */
  | { readonly kind: 'unavailable' }

/** A person after the undo of a merge. */
export type PersonAfterUndo = {
  readonly id: Uint8Array
  /** The first ones, up to the number that one query may name. */
  readonly distinct_ids: readonly string[]
  readonly distinct_id_count: number
  readonly property_count: number
  readonly cohort_count: number
}

/** Both persons as the undo of a merge would leave them. The survivor loses values that it has only from the other person. */
export type UndoPreview = {
  readonly survivor: PersonAfterUndo
  readonly restored: PersonAfterUndo
  readonly properties_lost: readonly string[]
  readonly cohorts_lost_count: number
}

/** Merges that one split undoes; larger families are undone one merge at a time. */
const SPLIT_MERGES_MAX = 500
/** Bytes of properties that one split restores; larger families of merges are undone one merge at a time. */
export const SPLIT_LENGTH_MAX = 16 * MIB
/** Distinct ids for which one split creates persons. */
const SPLIT_IDS_MAX = 10_000

/** Distinct ids of one person that a preview names, and that it counts: a million take 30 ms of the index. */
const PREVIEWED_IDS_MAX = 2000
const COUNTED_IDS_MAX = 1_000_000

/** Distinct ids, or entries of the log of merges, of one part of a change: some milliseconds. */
const ROWS_PER_PART = 500
/** Entries of the log of merges that one part deletes: each may have a large person's properties. */
const MERGES_PER_PART = 20
/** Ids of one pending removal: each slice of it reads them all. */
const REMOVED_IDS_MAX = 10_000

/** The queue of pending removals of events. */
type EventRemovals = {
  add(removal: {
    readonly project_id: number
    readonly person_ids: readonly Uint8Array[]
    readonly distinct_ids: readonly string[]
    readonly now: number
  }): void
}

/**
 * A change in parts of a few milliseconds. It yields where its transaction may be committed, so that the events of
 * others pass, and is resumed with whether it was. After a crash in between the parts that were committed stay: each
 * leaves persons that are whole, and the same change asked for again does the rest.
 */
type PersonChangeParts = Generator<undefined, PersonChanged, boolean>

/** Runs parts of a change inside the caller's transaction until `isOver`; null while parts are left. */
export function runParts(parts: PersonChangeParts, isOver: () => boolean): PersonChanged | null {
  let is_committed = true
  for (;;) {
    const part = parts.next(is_committed)
    if (part.done === true) return part.value
    if (isOver()) return null
    is_committed = false
  }
}

/** Begins a change; `runParts` applies it. */
export function* changePerson(
  store: PersonStore,
  removals: EventRemovals,
  change: PersonChange,
): PersonChangeParts {
  const person = store.get(change.project_id, change.person_id)
  if (person === null) return { kind: 'not_found' }
  switch (change.kind) {
    case 'split':
      return yield* splitPerson(store, person, change.main_distinct_id)
    case 'undo_merge':
      return undoNamedMerge(store, person, change)
    case 'delete':
      return yield* deletePerson(store, removals, change)
  }
}

/**
 * Splits a person. A person with merges becomes the persons that were merged, each restored. A person without merges
 * keeps one distinct id and all properties; each other id gets a new person without properties.
 */
function* splitPerson(
  store: PersonStore,
  person: StoredPerson,
  main_distinct_id: string | null,
): PersonChangeParts {
  const { project_id, id } = person
  if (main_distinct_id !== null && !isOwner(store, person, main_distinct_id)) {
    return { kind: 'no_such_id' }
  }
  const are_too_many =
    store.merges.countFamily(project_id, id, SPLIT_MERGES_MAX + 1) > SPLIT_MERGES_MAX ||
    store.owners.countIds(project_id, id, SPLIT_IDS_MAX + 1) > SPLIT_IDS_MAX
  if (are_too_many) return { kind: 'too_many' }
  const merges = store.merges.listFamily(project_id, id)
  const length = merges.reduce((sum, merge) => sum + merge.length, 0)
  if (length > SPLIT_LENGTH_MAX) return { kind: 'too_many' }
  return merges.length > 0
    ? yield* undoMerges(store, person, merges)
    : yield* separateIds(store, person, main_distinct_id)
}

/** Undoes all merges of a person, the last one first, so that no later merge has to be adjusted. */
function* undoMerges(
  store: PersonStore,
  { project_id, id: person_id }: StoredPerson,
  merges: readonly { readonly id: number }[],
): PersonChangeParts {
  const persons = [person_id]
  let belongings: BelongingsByPerson = new Map()
  for (const { id } of merges) {
    // Undoing a merge rewrites the log entries of earlier ones: each entry is read just before it is undone.
    const merge = store.merges.find(project_id, id)
    if (merge === null) continue
    persons.push(undoMerge(store, merge, belongings).restored.id)
    const is_committed = yield
    // Events of others may have changed the person since.
    if (is_committed) belongings = new Map()
  }
  return { kind: 'changed', persons }
}

/** Gives every distinct id but one to a new person. */
function* separateIds(
  store: PersonStore,
  person: StoredPerson,
  main_distinct_id: string | null,
): PersonChangeParts {
  const ids = store.owners.list(person.project_id, person.id)
  const main = main_distinct_id ?? creatorOf(person, ids) ?? ids[0]?.distinct_id
  const persons = [person.id]
  for (const { distinct_id } of ids) {
    // A merge may have given it to another person since the last part.
    if (distinct_id === main || !isOwner(store, person, distinct_id)) continue
    persons.push(createSplitPerson(store, person, distinct_id).id)
    yield
  }
  return { kind: 'changed', persons }
}

function isOwner(store: PersonStore, person: StoredPerson, distinct_id: string): boolean {
  const owner_id = store.owners.find(person.project_id, distinct_id)
  return owner_id !== null && isSameId(owner_id, person.id)
}

/** The distinct id that created the person: the person's id is derived from it. */
function creatorOf(
  person: StoredPerson,
  ids: readonly { readonly distinct_id: string }[],
): string | undefined {
  return ids.find(({ distinct_id }) =>
    isSameId(personIdOf(person.project_id, distinct_id), person.id),
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
  { merge_id, is_preview }: Extract<PersonChange, { kind: 'undo_merge' }>,
): PersonChanged {
  const { project_id, id } = person
  const undone_id = merge_id ?? store.merges.findLastId(project_id, id)
  const merge = undone_id === null ? null : store.merges.find(project_id, undone_id)
  if (merge === null) return { kind: 'no_such_merge' }
  if (!fitsUndo(store, merge)) return { kind: 'too_many_later' }
  if (survivorOf(store, merge) !== person) return { kind: 'no_such_merge' }
  const before = copyBelongings(belongingsOf(store, person))
  const { survivor, restored } = undoMerge(store, merge)
  if (is_preview !== true) return { kind: 'changed', persons: [survivor.id, restored.id] }
  const after = belongingsOf(store, survivor)
  const lost = (aspect: 'cohorts' | 'properties'): readonly string[] =>
    Object.keys(before[aspect]).filter(
      (name) => !Bun.deepEquals(before[aspect][name], after[aspect][name]),
    )
  const undo = {
    survivor: afterUndo(store, survivor),
    restored: afterUndo(store, restored),
    properties_lost: lost('properties'),
    cohorts_lost_count: lost('cohorts').length,
  }
  return { kind: 'previewed', undo }
}

function afterUndo(store: PersonStore, person: StoredPerson): PersonAfterUndo {
  const { project_id, id } = person
  const { properties, cohorts } = belongingsOf(store, person)
  return {
    id,
    distinct_ids: store.owners.listIdsAfter(project_id, id, '', PREVIEWED_IDS_MAX),
    distinct_id_count: store.owners.countIds(project_id, id, COUNTED_IDS_MAX),
    property_count: Object.keys(properties).length,
    cohort_count: Object.keys(cohorts).length,
  }
}

type PersonDeletion = Extract<PersonChange, { readonly kind: 'delete' }>

/** Deletes a person whose events, if they are to go, are ordered to be removed first. */
function* deletePerson(
  store: PersonStore,
  removals: EventRemovals,
  deletion: PersonDeletion,
): PersonChangeParts {
  const { project_id, person_id } = deletion
  if (deletion.with_events) yield* orderRemovals(store, removals, deletion)
  // The persons merged into it are deleted with it, so their log entries go too.
  yield* removeFamily(store, project_id, person_id)
  while (store.release(project_id, person_id, ROWS_PER_PART) === ROWS_PER_PART) yield
  const person = store.get(project_id, person_id)
  // Since the last part a merge may have made it a part of another person.
  if (person === null) return { kind: 'not_found' }
  store.remove(person)
  return { kind: 'changed', persons: [] }
}

/** Orders the removal of a person's events: one for most persons, more for those with very many ids. */
function* orderRemovals(
  store: PersonStore,
  removals: EventRemovals,
  { project_id, person_id, now }: PersonDeletion,
): Generator<undefined, void, boolean> {
  const personsAfter = (after: Uint8Array): readonly Uint8Array[] =>
    store.owners.listStoredUnder(project_id, person_id, after, REMOVED_IDS_MAX)
  const idsAfter = (after: string): readonly string[] =>
    store.owners.listIdsAfter(project_id, person_id, after, REMOVED_IDS_MAX)
  let stored_under = personsAfter(new Uint8Array(0))
  let distinct_ids = idsAfter('')
  removals.add({ project_id, person_ids: [person_id, ...stored_under], distinct_ids, now })
  for (;;) {
    const last_person = stored_under.at(-1)
    const last_id = distinct_ids.at(-1)
    stored_under = last_person === undefined ? [] : personsAfter(last_person)
    distinct_ids = last_id === undefined ? [] : idsAfter(last_id)
    if (stored_under.length === 0 && distinct_ids.length === 0) return
    yield
    removals.add({ project_id, person_ids: stored_under, distinct_ids, now })
  }
}

/**
 * Deletes the merges of a person and of the persons merged into it, so that they cannot be undone; the earliest ones
 * first, so that every entry that is left leads to a person.
 */
function* removeFamily(
  store: PersonStore,
  project_id: number,
  person_id: Uint8Array,
): Generator<undefined, void, boolean> {
  const family = [person_id]
  const found = new Set<number>()
  for (const member of family) {
    for (let after_id = 0; ; yield) {
      const merges = store.merges.listInto(project_id, member, after_id, ROWS_PER_PART)
      const added = merges.filter(({ id }) => !found.has(id))
      for (const { id } of added) found.add(id)
      family.push(...added.map(({ other_id }) => other_id))
      after_id = merges.at(-1)?.id ?? 0
      if (merges.length < ROWS_PER_PART) break
    }
  }
  const ids = [...found]
  while (ids.length > 0) {
    for (const id of ids.splice(-MERGES_PER_PART)) store.merges.remove(id)
    yield
  }
}
