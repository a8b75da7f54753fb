/** Merges: an event claims that two distinct ids are one person. */
import type { BelongingAspect, PersonBelongings } from '../storage/persons/merge-log.ts'
import {
  type PersonProperties,
  type PersonStore,
  propertiesOf,
  type StoredPerson,
  setOwn,
} from '../storage/persons/person-store.ts'
import { isIllegalId, isSameId, personIdOf } from './distinct-id.ts'
import type { MergeBudget } from './merge-budget.ts'
import { fits, type SizeLimits, sizeAfter } from './size.ts'

/** An event's claim: `other_id` joins the person of `distinct_id`. */
export type MergeClaim = {
  readonly other_id: string
  /** `$merge_dangerously`: merges even if the other person is identified. */
  readonly is_forced: boolean
  /** `$create_alias`: the other id becomes the main one, the first of the person's list. */
  readonly makes_other_main: boolean
}

export type MergeOutcome =
  | 'same_id'
  | 'illegal_id'
  | 'already_identified'
  | 'joined'
  | 'merged'
  | 'known'
  | 'too_large'

/** Limits of persons' sizes and of merges. */
export type IdentityLimits = SizeLimits & { readonly merges: MergeBudget }

/** A claim in its event, and how to create a person if neither id has one. */
type MergeContext = {
  readonly project_id: number
  readonly distinct_id: string
  readonly claim: MergeClaim
  /** Time of the event, and of receipt of its request, µs. */
  readonly at: number
  readonly now: number
  readonly limits: IdentityLimits
  readonly create: (id: Uint8Array) => StoredPerson
}

/** Applies a claim as far as the rules allow. Throws only for a bug. */
export function mergePersons(store: PersonStore, context: MergeContext): MergeOutcome {
  const { project_id, distinct_id, claim } = context
  const { other_id } = claim
  if (distinct_id === other_id) return 'same_id'
  if (isIllegalId(distinct_id) || isIllegalId(other_id)) return 'illegal_id'
  const into = store.find(project_id, distinct_id)
  const other = store.find(project_id, other_id)
  const outcome = joinIds(store, context, { into, other })
  const person = store.find(project_id, distinct_id)
  if (person === null) throw new Error('a merge left its distinct id without a person')
  // A refused merge identifies the person too: its event claims that a user logged in.
  if (!person.is_identified) {
    person.is_identified = true
    store.save(person)
  } else if (outcome !== 'merged') confirmIdentified(store, person)
  if (claim.makes_other_main && outcome !== 'already_identified' && outcome !== 'too_large') {
    store.owners.markMain(project_id, person.id, other_id)
  }
  return outcome
}

/** Records a second claim that identifies the person, so that undoing the first merge keeps it identified. */
function confirmIdentified(store: PersonStore, person: StoredPerson): void {
  if (person.is_confirmed) return
  store.merges.confirm(person.project_id, person.id)
  person.is_confirmed = true
}

function joinIds(
  store: PersonStore,
  context: MergeContext,
  persons: { readonly into: StoredPerson | null; readonly other: StoredPerson | null },
): MergeOutcome {
  const { project_id, distinct_id, claim } = context
  const { into, other } = persons
  if (into !== null && other !== null) {
    if (into.key === other.key) return 'known'
    if (other.is_identified && !claim.is_forced) return 'already_identified'
    if (!mayMove(store, context, other)) return 'too_large'
    absorbPerson(store, context, { into, other })
    return 'merged'
  }
  const person = into ?? other ?? createForBoth(store, context)
  for (const id of [distinct_id, claim.other_id]) {
    if (store.find(project_id, id) === null) attachId(store, person, id)
  }
  return 'joined'
}

/** Logging this many bytes of properties for an undo costs as much as moving a row. */
const BYTES_PER_ROW = 8192

/** Whether the merge budget allows to move the rows of this person. */
function mayMove(store: PersonStore, { limits, now }: MergeContext, other: StoredPerson): boolean {
  const { project_id, properties_bytes, properties_text } = other
  const bytes = properties_bytes ?? properties_text?.length ?? 0
  const room = limits.merges.roomOf(project_id, now)
  const rows = store.owners.countMoved(project_id, other.id, room + 1)
  return limits.merges.take(project_id, rows + Math.floor(bytes / BYTES_PER_ROW), now)
}

function createForBoth(store: PersonStore, context: MergeContext): StoredPerson {
  const { project_id, distinct_id, claim } = context
  const is_other_older =
    store.personless.has(project_id, claim.other_id) &&
    !store.personless.has(project_id, distinct_id)
  return context.create(personIdOf(project_id, is_other_older ? claim.other_id : distinct_id))
}

/** Adds a distinct id to a person, with the personless events that it sent before. */
function attachId(store: PersonStore, person: StoredPerson, distinct_id: string): void {
  store.attach(person, distinct_id)
  if (!store.personless.has(person.project_id, distinct_id)) return
  const personless_id = personIdOf(person.project_id, distinct_id)
  if (isSameId(personless_id, person.id)) return
  // After a split a person may have this id: its other events must stay with it.
  if (store.get(person.project_id, personless_id) !== null) store.giveBack(person, distinct_id)
  else store.owners.override(person.project_id, personless_id, person.id)
}

function absorbPerson(
  store: PersonStore,
  { at, limits }: MergeContext,
  { into, other }: { readonly into: StoredPerson; readonly other: StoredPerson },
): void {
  const properties = store.parse(into)
  const before = store.sizeOf(into, properties)
  const set = missingIn(properties, store.parse(other))
  const size = sizeAfter(before, properties, { set, unset: NO_NAMES })
  // Together they may exceed the size limit: the surviving person then keeps its properties only.
  const are_given = fits(size, before, limits)
  logMerge(store, { into, other, at, given: are_given ? Object.keys(set) : [] })
  into.created_at = Math.min(into.created_at, other.created_at)
  into.version = Math.max(into.version, other.version)
  into.is_confirmed = false
  store.absorb(other, into)
  if (are_given) store.change(into, properties, { set, unset: NO_NAMES, size })
  else store.save(into)
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** The properties of `other` that `properties` lacks. */
function missingIn(properties: PersonProperties, other: PersonProperties): PersonProperties {
  const missing: PersonProperties = {}
  for (const name of Object.keys(other)) {
    if (!Object.hasOwn(properties, name)) setOwn(missing, name, other[name])
  }
  return missing
}

/** Adds the merge's entry to the log, from which it can be undone. Runs before the merge. */
function logMerge(
  store: PersonStore,
  merge: {
    readonly into: StoredPerson
    readonly other: StoredPerson
    readonly at: number
    /** Names of the properties that the surviving person receives. */
    readonly given: string[]
  },
): void {
  const { into, other, at, given } = merge
  const kept = belongingsOf(store, other)
  const rows = store.flagRows(into)
  const newTo = (aspect: Exclude<BelongingAspect, 'properties'>): string[] =>
    Object.keys(kept[aspect]).filter((name) => !Object.hasOwn(rows[aspect], name))
  const { project_id } = into
  store.merges.add({
    project_id,
    into_id: into.id,
    other_id: other.id,
    merged_at: at,
    into_created_at: into.created_at,
    into_was_identified: into.is_identified,
    into_main: store.owners.findMain(project_id, into.id),
    other_created_at: other.created_at,
    other_was_identified: other.is_identified,
    other_main: store.owners.findMain(project_id, other.id),
    kept,
    given: {
      properties: given,
      flags: newTo('flags'),
      cohorts: newTo('cohorts'),
    },
  })
}

/** The properties, flag overrides and cohorts of a person, which move with a merge. */
export function belongingsOf(store: PersonStore, person: StoredPerson): PersonBelongings {
  const { flags, cohorts } = store.flagRows(person)
  return { properties: propertiesOf(person), flags: { ...flags }, cohorts: { ...cohorts } }
}
