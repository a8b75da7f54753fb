/** Resolves the person of an event from its claims, and applies its merge and update. */

import type { PersonStore, StoredPerson } from '../storage/persons/person-store.ts'
import { formatUuid } from '../uuid.ts'
import { personIdOf } from './distinct-id.ts'
import { type IdentityLimits, type MergeClaim, type MergeOutcome, mergePersons } from './merge.ts'
import { isNoop, type PersonUpdate, type UpdateOutcome, updatePerson } from './person.ts'

/** An event's claims about its person. Times are µs since 1970 UTC. */
type PersonClaim = {
  readonly project_id: number
  readonly distinct_id: string
  /** `project:distinct id`. */
  readonly id_key: string
  readonly timestamp: number
  /** Time of receipt of its request. */
  readonly now: number
  /** Stored on a person that this event creates. */
  readonly event_uuid: Uint8Array
  readonly is_personless: boolean
  readonly update: PersonUpdate | null
  readonly merge: MergeClaim | null
}

export type ResolvedPerson = {
  readonly person_id: Uint8Array
  readonly person_mode: 'full' | 'propertyless' | 'force_upgrade'
  readonly merge: MergeOutcome | null
  readonly update: UpdateOutcome
}

/** A personless event this long after its person's creation is stored with the profile (`force_upgrade`). */
const UPGRADE_AFTER_US = 60_000_000

/** Finds or creates the event's person, inside the transaction that stores the event. */
export function resolvePerson(
  store: PersonStore,
  claim: PersonClaim,
  limits: IdentityLimits,
): ResolvedPerson {
  if (claim.is_personless) return resolvePersonless(store, claim)
  const unchanged_id = findUnchanged(store, claim)
  if (unchanged_id !== null) return unchanged(unchanged_id, 'full')
  const { project_id, distinct_id } = claim
  let created: UpdateOutcome | null = null
  const create = (id: Uint8Array): StoredPerson => {
    const person = createPerson(store, claim, id)
    created = updateByClaim(store, person, claim, limits)
    return person
  }
  const merge =
    claim.merge === null
      ? null
      : mergePersons(store, {
          project_id,
          distinct_id,
          claim: claim.merge,
          at: claim.timestamp,
          now: claim.now,
          limits,
          create,
        })
  let person = store.find(project_id, distinct_id, claim.id_key)
  if (person === null) {
    person = create(personIdOf(project_id, distinct_id))
    store.attach(person, distinct_id)
  }
  const update = created ?? updateByClaim(store, person, claim, limits)
  if (person.marks_low !== -1) store.cache.noteSender(claim.id_key, person)
  return { person_id: person.id, person_mode: 'full', merge, update }
}

/** The person of an event that certainly changes no person, from the sender cache; else null. */
function findUnchanged(store: PersonStore, claim: PersonClaim): Uint8Array | null {
  if (claim.merge !== null) return null
  const sender = store.cache.findSender(claim.id_key)
  if (sender === null || !isNoop(claim.update, sender)) return null
  return sender.person_id
}

function unchanged(
  person_id: Uint8Array,
  person_mode: ResolvedPerson['person_mode'],
): ResolvedPerson {
  return { person_id, person_mode, merge: null, update: 'unchanged' }
}

function updateByClaim(
  store: PersonStore,
  person: StoredPerson,
  { update }: PersonClaim,
  limits: IdentityLimits,
): UpdateOutcome {
  return update === null ? 'unchanged' : updatePerson(store, person, update, limits)
}

function resolvePersonless(store: PersonStore, claim: PersonClaim): ResolvedPerson {
  const { project_id, distinct_id, id_key } = claim
  const stranger_id = store.cache.findStranger(id_key)
  if (stranger_id !== null) return unchanged(stranger_id, 'propertyless')
  const person = store.find(project_id, distinct_id, id_key)
  if (person !== null) {
    const is_upgraded = claim.timestamp > person.created_at + UPGRADE_AFTER_US
    return unchanged(person.id, is_upgraded ? 'force_upgrade' : 'propertyless')
  }
  const person_id = personIdOf(project_id, distinct_id)
  store.personless.add(project_id, distinct_id)
  store.cache.noteStranger(id_key, person_id)
  return unchanged(person_id, 'propertyless')
}

function createPerson(store: PersonStore, claim: PersonClaim, id: Uint8Array): StoredPerson {
  return store.create({
    project_id: claim.project_id,
    id,
    created_at: claim.timestamp,
    properties: { $creator_event_uuid: formatUuid(claim.event_uuid) },
    is_identified: false,
  })
}
