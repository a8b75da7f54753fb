/**
 * Undoing a merge: both persons are again what they would be without it.
 *
 * Who keeps what: the person that was merged away comes back exactly as it was, with the distinct ids it had, and with
 * every event of these ids, also later ones. The person that was left loses what it had only from the other one;
 * what was set on it since, and ids that joined it since, it keeps. Other merges of both stay.
 */
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

/** The two persons of a merge, now apart. `left` is the one that the survivor of the merge is part of today. */
export type SplitPersons = { readonly left: StoredPerson; readonly back: StoredPerson }

/** The merges one after the other from the one that is undone to a living person, each read once. */
type UndoContext = {
  readonly store: PersonStore
  readonly end: StoredPerson
  readonly held: PersonBelongings
  readonly away: Map<PersonMerge, PersonMerge | null>
  readonly later: Map<PersonMerge, readonly PersonMerge[]>
  /** Entries of the log that say something else by now: each is written once, however many properties it is about. */
  readonly changed: Set<PersonMerge>
}

/** What persons have while merges of theirs are undone one after the other: it is copied once, not for each of them. */
export type BelongingsByPerson = Map<string, PersonBelongings>

/**
 * Undoes one merge, inside a transaction. Throws (a bug) when the log has no living person at its end. Whoever undoes
 * several without a change in between hands the same `held` to each.
 */
export function undoMerge(
  store: PersonStore,
  merge: PersonMerge,
  held_by: BelongingsByPerson = new Map(),
): SplitPersons {
  const end = survivorOf(store, merge)
  const held = held_by.get(end.key) ?? copied(belongingsOf(store, end))
  held_by.set(end.key, held)
  const undo: UndoContext = {
    store,
    end,
    held,
    away: new Map(),
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
  const back = bringBack(store, merge, ids)
  const lost_main = ids.some((id) => id.is_main === 1)
  if (lost_main && merge.into_main !== null) {
    store.owners.markMain(end.project_id, end.id, merge.into_main)
  }
  setProperties(end, undo.held.properties, null)
  store.setFlagRows(end, undo.held)
  store.save(end)
  return { left: end, back }
}

/** The person that whoever survived a merge is part of today. */
export function survivorOf(store: PersonStore, { project_id, into_id }: PersonMerge): StoredPerson {
  let id = into_id
  for (;;) {
    const away = store.merges.findAway(project_id, id)
    if (away === null) break
    id = away.into_id
  }
  const person = store.get(project_id, id)
  if (person === null) throw new Error('the log of merges leads to nobody')
  return person
}

type BelongingChange = {
  readonly aspect: BelongingAspect
  readonly name: string
  readonly old: unknown
  /** Null when nothing takes its place. */
  readonly next?: { readonly value: unknown } | null
}

/**
 * Takes back at the person a merge went into, and along the road at whoever that person became, what only this merge
 * gave it, as long as it still has that value. What a later merge could not give, because it was there, takes its place.
 */
function takeBack(undo: UndoContext, merge: PersonMerge, change: BelongingChange): void {
  const { aspect, name, old } = change
  const away = awayFrom(undo, merge)
  const held = away === null ? undo.held[aspect] : away.kept[aspect]
  if (!Object.hasOwn(held, name) || !Bun.deepEquals(held[name], old)) return
  const next = change.next ?? giveInstead(undo, merge, change)
  if (next === null) delete held[name]
  else setOwn(held, name, next.value)
  if (away === null) return
  const given = away.given[aspect]
  const place = given.indexOf(name)
  const was_given = place >= 0
  if (was_given && next === null) given.splice(place, 1)
  undo.changed.add(away)
  if (was_given) takeBack(undo, away, { aspect, name, old, next })
}

function giveInstead(
  undo: UndoContext,
  merge: PersonMerge,
  { aspect, name }: BelongingChange,
): { readonly value: unknown } | null {
  for (const later of laterThan(undo, merge)) {
    if (!Object.hasOwn(later.kept[aspect], name)) continue
    later.given[aspect].push(name)
    undo.changed.add(later)
    return { value: later.kept[aspect][name] }
  }
  return null
}

/** Merges into the same person after this one. */
function laterThan({ store, later }: UndoContext, merge: PersonMerge): readonly PersonMerge[] {
  const found = later.get(merge) ?? store.merges.listLater(merge)
  later.set(merge, found)
  return found
}

/** The merge by which whoever survived this one became another person. */
function awayFrom({ store, away }: UndoContext, merge: PersonMerge): PersonMerge | null {
  const known = away.get(merge)
  if (known !== undefined) return known
  const found = store.merges.findAway(merge.project_id, merge.into_id)
  away.set(merge, found)
  return found
}

/** A person is as old as the oldest of those it consists of. */
function restoreAge(undo: UndoContext, merge: PersonMerge): void {
  let created_at = merge.into_created_at
  let at = merge
  for (;;) {
    for (const later of laterThan(undo, at)) {
      later.into_created_at = created_at
      undo.changed.add(later)
      created_at = Math.min(created_at, later.other_created_at)
    }
    const away = awayFrom(undo, at)
    if (away === null) break
    away.other_created_at = created_at
    undo.changed.add(away)
    created_at = Math.min(away.into_created_at, created_at)
    at = away
  }
  undo.end.created_at = created_at
}

/** Whoever was first called a user by this merge is none without it, unless an event claimed it since. */
function restoreIdentified(undo: UndoContext, merge: PersonMerge): void {
  const { end } = undo
  const { merges } = undo.store
  const was_identified = merge.into_was_identified || merge.was_confirmed
  const before = merges.findBefore(merge)
  // The claim stays though the merge goes: the one before must not be taken for the only reason either.
  if (merge.was_confirmed && before !== null) {
    before.was_confirmed = true
    undo.changed.add(before)
  }
  const [next] = laterThan(undo, merge)
  if (next !== undefined) {
    next.into_was_identified = was_identified
    undo.changed.add(next)
    return
  }
  const away = awayFrom(undo, merge)
  if (away === null) {
    end.is_identified = was_identified
    end.is_confirmed = false
    return
  }
  away.other_was_identified = was_identified
  undo.changed.add(away)
}

type PersonDistinctId = { readonly distinct_id: string; readonly is_main: number }

/** The ids of a person that came with somebody merged into it, and with whom that one had absorbed. */
function idsOf(
  store: PersonStore,
  person: StoredPerson,
  other_id: Uint8Array,
): readonly PersonDistinctId[] {
  const { project_id, id } = person
  const family = store.merges.listFamily(project_id, other_id).map((one) => one.other_id)
  return [other_id, ...family].flatMap((home_id) => store.owners.listFrom(project_id, id, home_id))
}

function bringBack(
  store: PersonStore,
  merge: PersonMerge,
  ids: readonly PersonDistinctId[],
): StoredPerson {
  const { project_id, kept, other_main } = merge
  const back = store.create({
    project_id,
    id: merge.other_id,
    created_at: merge.other_created_at,
    properties: kept.properties,
    is_identified: merge.other_was_identified,
  })
  for (const { distinct_id } of ids) store.giveBack(back, distinct_id)
  if (other_main !== null) store.owners.markMain(project_id, back.id, other_main)
  store.setFlagRows(back, kept)
  return back
}

function copied({ properties, flags, cohorts }: PersonBelongings): PersonBelongings {
  return { properties: { ...properties }, flags: { ...flags }, cohorts: { ...cohorts } }
}
