/**
 * Undoes a merge: both persons become as they would be without it.
 *
 * The merged person is restored as it was, with its distinct ids and every event of these ids, later ones included. The
 * surviving person loses the values that it has only from the other one; it keeps values set since the merge, and
 * distinct ids that joined since. Other merges of both persons stay.
 */
import { MIB } from '../bytes.ts'
import {
  ASPECTS,
  type BelongingAspect,
  type PersonBelongings,
  type PersonMerge,
} from '../storage/persons/merge-log.ts'
import {
  type PersonStore,
  type StoredPerson,
  setOwn,
  setProperties,
} from '../storage/persons/person-store.ts'
import { belongingsOf } from './merge.ts'

/** The two persons of an undone merge. `survivor` is the living person that the merge's survivor is part of. */
type SplitPersons = { readonly survivor: StoredPerson; readonly restored: StoredPerson }

/** The chain of merges from the undone one to the living person `end`; each entry of the log is read once. */
type UndoContext = {
  readonly store: PersonStore
  readonly end: StoredPerson
  readonly belongings: PersonBelongings
  /** By merge, the merge that absorbed its survivor; null for the last one. */
  readonly next: Map<PersonMerge, PersonMerge | null>
  /** By merge, later merges into the same person. */
  readonly later: Map<PersonMerge, readonly PersonMerge[]>
  /** Changed entries of the log: each is saved once, whatever number of properties changes. */
  readonly changed: Set<PersonMerge>
}

/** Belongings by person key, shared by several undos in a row: a person's are copied once, not for each merge. */
export type BelongingsByPerson = Map<string, PersonBelongings>

/**
 * Undoes one merge, inside the caller's transaction. Throws (a bug) if the log leads to no living person. To undo
 * several merges without a change in between, pass the same `shared` to each call.
 */
export function undoMerge(
  store: PersonStore,
  merge: PersonMerge,
  shared: BelongingsByPerson = new Map(),
): SplitPersons {
  const end = survivorOf(store, merge)
  const belongings = shared.get(end.key) ?? copyBelongings(belongingsOf(store, end))
  shared.set(end.key, belongings)
  const undo: UndoContext = {
    store,
    end,
    belongings,
    next: new Map(),
    later: new Map(),
    changed: new Set(),
  }
  for (const aspect of ASPECTS) {
    for (const name of merge.given[aspect]) {
      const old = merge.kept[aspect][name]
      takeBack(undo, merge, { aspect, name, old })
    }
  }
  restoreAge(undo, merge)
  restoreIdentified(undo, merge)
  for (const entry of undo.changed) store.merges.save(entry)
  const ids = idsOf(store, end, merge.other_id)
  store.merges.remove(merge.id)
  const restored = restorePerson(store, merge, ids)
  const lost_main = ids.some((id) => id.is_main === 1)
  if (lost_main && merge.into_main !== null) {
    store.owners.markMain(end.project_id, end.id, merge.into_main)
  }
  setProperties(end, undo.belongings.properties, null)
  store.setFlagRows(end, undo.belongings)
  store.save(end)
  return { survivor: end, restored }
}

/** Merges that one undo reads and adjusts, and distinct ids that it gives back: some ten milliseconds of the data thread. */
const UNDO_MERGES_MAX = 2000
const UNDO_IDS_MAX = 5000
/** Bytes of properties in the merges that it reads. */
const UNDO_LENGTH_MAX = 16 * MIB

/** Whether an undo is small enough for one transaction. Counts no further than its limits. */
export function fitsUndo(store: PersonStore, merge: PersonMerge): boolean {
  const { merges, owners } = store
  const { project_id, other_id } = merge
  let merges_left = UNDO_MERGES_MAX
  let length_left = UNDO_LENGTH_MAX
  let at: PersonMerge | null = merge
  let end_id = merge.into_id
  while (at !== null) {
    const { count, length } = merges.measureLater(at, merges_left + 1)
    merges_left -= count + 1
    length_left -= length
    if (merges_left < 0 || length_left < 0) return false
    end_id = at.into_id
    at = merges.findMergeOf(project_id, end_id)
  }
  if (merges.countFamily(project_id, other_id, merges_left + 1) > merges_left) return false
  let ids_left = UNDO_IDS_MAX
  for (const home_id of listHomes(store, merge)) {
    ids_left -= owners.countFrom(project_id, end_id, home_id, ids_left + 1)
    if (ids_left < 0) return false
  }
  return true
}

/** The living person that a merge's survivor is part of: follows later merges to their end. */
export function survivorOf(store: PersonStore, { project_id, into_id }: PersonMerge): StoredPerson {
  let id = into_id
  for (;;) {
    const later = store.merges.findMergeOf(project_id, id)
    if (later === null) break
    id = later.into_id
  }
  const person = store.get(project_id, id)
  if (person === null) throw new Error('the log of merges leads to no person')
  return person
}

type BelongingChange = {
  readonly aspect: BelongingAspect
  readonly name: string
  readonly old: unknown
  /** The value that replaces it; null removes it. */
  readonly next?: { readonly value: unknown } | null
}

/**
 * Takes back a value that only this merge gave, from its survivor and along the chain from each person that absorbed
 * it, as long as the value is unchanged. A value of a later merge, which this one had kept out, replaces it.
 */
function takeBack(undo: UndoContext, merge: PersonMerge, change: BelongingChange): void {
  const { aspect, name, old } = change
  const next_merge = findNextMerge(undo, merge)
  const values = next_merge === null ? undo.belongings[aspect] : next_merge.kept[aspect]
  if (!Object.hasOwn(values, name) || !Bun.deepEquals(values[name], old)) return
  const next = change.next ?? giveFromLaterMerge(undo, merge, change)
  if (next === null) delete values[name]
  else setOwn(values, name, next.value)
  if (next_merge === null) return
  const given = next_merge.given[aspect]
  const place = given.indexOf(name)
  const was_given = place >= 0
  if (was_given && next === null) given.splice(place, 1)
  undo.changed.add(next_merge)
  if (was_given) takeBack(undo, next_merge, { aspect, name, old, next })
}

/** Gives a value from the first later merge that has one, and records it in that merge's entry. */
function giveFromLaterMerge(
  undo: UndoContext,
  merge: PersonMerge,
  { aspect, name }: BelongingChange,
): { readonly value: unknown } | null {
  for (const later of listLaterMerges(undo, merge)) {
    if (!Object.hasOwn(later.kept[aspect], name)) continue
    later.given[aspect].push(name)
    undo.changed.add(later)
    return { value: later.kept[aspect][name] }
  }
  return null
}

/** Merges into the same person after this one. */
function listLaterMerges(
  { store, later }: UndoContext,
  merge: PersonMerge,
): readonly PersonMerge[] {
  const merges = later.get(merge) ?? store.merges.listLater(merge)
  later.set(merge, merges)
  return merges
}

/** The merge that absorbed the survivor of this one; null if it is a living person. */
function findNextMerge({ store, next }: UndoContext, merge: PersonMerge): PersonMerge | null {
  const cached = next.get(merge)
  if (cached !== undefined) return cached
  const next_merge = store.merges.findMergeOf(merge.project_id, merge.into_id)
  next.set(merge, next_merge)
  return next_merge
}

/** Recomputes ages along the chain: a person is as old as the oldest person merged into it. */
function restoreAge(undo: UndoContext, merge: PersonMerge): void {
  let created_at = merge.into_created_at
  let at = merge
  for (;;) {
    for (const later of listLaterMerges(undo, at)) {
      later.into_created_at = created_at
      undo.changed.add(later)
      created_at = Math.min(created_at, later.other_created_at)
    }
    const next_merge = findNextMerge(undo, at)
    if (next_merge === null) break
    next_merge.other_created_at = created_at
    undo.changed.add(next_merge)
    created_at = Math.min(next_merge.into_created_at, created_at)
    at = next_merge
  }
  undo.end.created_at = created_at
}

/** A survivor that this merge identified becomes anonymous again, unless another claim confirmed it since. */
function restoreIdentified(undo: UndoContext, merge: PersonMerge): void {
  const { end } = undo
  const { merges } = undo.store
  const was_identified = merge.into_was_identified || merge.was_confirmed
  const before = merges.findBefore(merge)
  // The confirming claim outlives this merge: it moves to the merge before, which may be undone next.
  if (merge.was_confirmed && before !== null) {
    before.was_confirmed = true
    undo.changed.add(before)
  }
  const [next] = listLaterMerges(undo, merge)
  if (next !== undefined) {
    next.into_was_identified = was_identified
    undo.changed.add(next)
    return
  }
  const next_merge = findNextMerge(undo, merge)
  if (next_merge === null) {
    end.is_identified = was_identified
    end.is_confirmed = false
    return
  }
  next_merge.other_was_identified = was_identified
  undo.changed.add(next_merge)
}

type PersonDistinctId = { readonly distinct_id: string; readonly is_main: number }

/** The distinct ids that came with a merged person, and with the persons merged into that one before. */
function idsOf(
  store: PersonStore,
  person: StoredPerson,
  other_id: Uint8Array,
): readonly PersonDistinctId[] {
  const { project_id, id } = person
  return listHomes(store, { project_id, other_id }).flatMap((home_id) =>
    store.owners.listFrom(project_id, id, home_id),
  )
}

/** A merged person, and the persons merged into it before. */
function listHomes(
  { merges }: PersonStore,
  { project_id, other_id }: Pick<PersonMerge, 'other_id' | 'project_id'>,
): readonly Uint8Array[] {
  return [other_id, ...merges.listFamily(project_id, other_id).map((earlier) => earlier.other_id)]
}

function restorePerson(
  store: PersonStore,
  merge: PersonMerge,
  ids: readonly PersonDistinctId[],
): StoredPerson {
  const { project_id, kept, other_main } = merge
  const person = store.create({
    project_id,
    id: merge.other_id,
    created_at: merge.other_created_at,
    properties: kept.properties,
    is_identified: merge.other_was_identified,
  })
  for (const { distinct_id } of ids) store.giveBack(person, distinct_id)
  if (other_main !== null) store.owners.markMain(project_id, person.id, other_main)
  store.setFlagRows(person, kept)
  return person
}

export function copyBelongings({ properties, flags, cohorts }: PersonBelongings): PersonBelongings {
  return { properties: { ...properties }, flags: { ...flags }, cohorts: { ...cohorts } }
}
