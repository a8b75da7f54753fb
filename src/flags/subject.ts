/** The person, with groups, for which flags are evaluated. */
import { isObject } from '../json.ts'
import type { Cohorts } from './cohort.ts'
import type { CompiledFlags } from './definition.ts'
import { type FlagProperties, groupKeyOf, identifierOf, ownProperty } from './operators/value.ts'
import type { FlagResult } from './result.ts'
import { Work } from './work.ts'

/** The facts about a person, from the request and the database. */
export type FlagPerson = {
  /** Any JSON value; its text is hashed. */
  readonly distinct_id: unknown
  /** For flags bucketed by device; the default is the person property `$device_id`. */
  readonly device_id: string | null
  /** Stored, location and request properties, merged by `overlayProperties`. */
  readonly person_properties: FlagProperties
  /** Group type → the group's properties, merged likewise. */
  readonly group_properties: Readonly<Record<string, FlagProperties>>
  /** Group type → group key (text or number), as sent: any other value names no group. */
  readonly groups: unknown
  /** Flag key → the identifier hashed instead of the distinct id (experience continuity). */
  readonly overrides: ReadonlyMap<string, string>
  /** Whether the person is in a cohort that is a stored list. */
  readonly isInCohort: (cohort_id: number) => boolean
  /** Milliseconds since 1970. */
  readonly now: number
  /** The database could not be read: flags that need it fail, the others are evaluated. */
  readonly is_store_unavailable?: boolean
  /** The facts that an edge does not know, since they may be stored at its home only. */
  readonly unknown?: UnknownToEdge
}

/** The facts about a request that an edge does not know; a flag that depends on one fails. */
export type UnknownToEdge = {
  /** The person's properties, besides those sent, and cohorts. */
  readonly person: boolean
  /** Indexes of group types whose group has unknown properties, apart from the sent ones. */
  readonly groups: readonly number[]
  /** The identifiers that were hashed before (experience continuity). */
  readonly overrides: boolean
}

type GroupSubject = { readonly key: string; readonly properties: FlagProperties }

/** A person prepared for one evaluation of a project's flags. */
export type Subject = {
  readonly person: FlagPerson
  readonly distinct_id: string
  readonly device_id: string | null
  /** By group type index; null without such a group in the request. */
  readonly groups: readonly (GroupSubject | null)[]
  readonly cohorts: Cohorts
  /** Cached answers of cohort trees, by cohort id. */
  readonly cohort_answers: Map<number, boolean>
  /** Cached answers by slot of the property filter: 0 unknown, 1 no, 2 yes. */
  readonly filter_answers: Uint8Array
  /** Results by position: off until evaluated; dependencies are evaluated first. */
  readonly results: FlagResult[]
  readonly work: Work
  /** Set if a filter could not be evaluated, although every flag has a result. */
  has_errors: boolean
}

/** Prepares a person for one evaluation. */
export function openSubject(person: FlagPerson, definitions: CompiledFlags): Subject {
  const device = person.device_id ?? ownProperty(person.person_properties, '$device_id') ?? ''
  return {
    person,
    distinct_id: identifierOf(person.distinct_id),
    device_id: device === '' ? null : identifierOf(device),
    groups: definitions.group_types.map((type) => findGroup(person, type)),
    cohorts: definitions.cohorts,
    cohort_answers: new Map(),
    filter_answers: new Uint8Array(definitions.filter_count),
    results: definitions.off.slice(),
    work: new Work(),
    has_errors: false,
  }
}

/**
 * The properties that flags test: stored ones, the distinct id, the request's location, the request's properties. A
 * later layer overrides the earlier ones, key by key.
 */
export function overlayProperties(layers: {
  readonly stored: FlagProperties | null
  readonly distinct_id: unknown
  readonly location: FlagProperties | null
  readonly request: unknown
}): FlagProperties {
  const request = isObject(layers.request) ? layers.request : null
  const distinct_id = identifierOf(layers.distinct_id)
  return { ...layers.stored, distinct_id, ...layers.location, ...request }
}

/** The same for groups, by group type: the request's properties override stored ones, key by key. */
export function overlayGroupProperties(
  stored: Readonly<Record<string, FlagProperties>>,
  request: unknown,
): Readonly<Record<string, FlagProperties>> {
  if (request === undefined) return stored
  // Without a prototype, so that a group type named `__proto__` is a key like any other.
  const layered: Record<string, FlagProperties> = Object.create(null)
  for (const [type, properties] of Object.entries(stored)) layered[type] = properties
  for (const [type, properties] of Object.entries(isObject(request) ? request : {})) {
    if (isObject(properties)) layered[type] = { ...layered[type], ...properties }
  }
  return layered
}

function findGroup(person: FlagPerson, type: string | null): GroupSubject | null {
  if (type === null || !isObject(person.groups) || !Object.hasOwn(person.groups, type)) return null
  const key = person.groups[type]
  const is_key = (typeof key === 'string' && key !== '') || typeof key === 'number'
  if (!is_key) return null
  const properties = Object.hasOwn(person.group_properties, type)
    ? person.group_properties[type]
    : {}
  return { key: groupKeyOf(key), properties: { $group_key: key, ...properties } }
}
