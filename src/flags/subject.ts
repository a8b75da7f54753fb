/** The person (with their groups) that flags are evaluated for. */
import type { Cohorts } from './cohort.ts'
import type { CompiledFlags } from './definition.ts'
import type { FlagResult } from './result.ts'
import { type FlagProperties, identifierOf, isRecord, ownProperty } from './value.ts'
import { Work } from './work.ts'

/** What a caller knows about the person; everything is as the request and the store gave it. */
export type FlagPerson = {
  /** Of any JSON type; its text is hashed. */
  readonly distinct_id: unknown
  /** For flags that bucket by device; falls back to the person property `$device_id`. */
  readonly device_id: string | null
  /** Stored, location and request properties, laid over one another (`overlayProperties`). */
  readonly person_properties: FlagProperties
  /** Group type → the group's properties, laid over one another likewise. */
  readonly group_properties: Readonly<Record<string, FlagProperties>>
  /** Group type → group key (text or number), as the request has it: what is no such object names no group. */
  readonly groups: unknown
  /** Flag key → the identifier hashed instead of the distinct id (experience continuity). */
  readonly overrides: ReadonlyMap<string, string>
  /** Whether the person is in a cohort that is a list. */
  readonly static_cohorts: (cohort_id: number) => boolean
  /** Milliseconds since 1970. */
  readonly now: number
  /** Stored data could not be read: flags that need it fail, the others are answered. */
  readonly is_store_unavailable?: boolean
}

export type GroupSubject = { readonly key: string; readonly properties: FlagProperties }

/** A person prepared for one evaluation of a project's flags. */
export type Subject = {
  readonly person: FlagPerson
  readonly distinct_id: string
  readonly device_id: string | null
  /** By group type index; null when the request names no such group. */
  readonly groups: readonly (GroupSubject | null)[]
  readonly cohorts: Cohorts
  /** Answers about cohorts that are trees, kept for the duration of this evaluation. */
  readonly cohort_answers: Map<number, boolean>
  /** By slot of the property filter: 0 not asked yet, 1 no, 2 yes. */
  readonly filter_answers: Uint8Array
  /** By position of the flag: off until evaluated, dependencies before their dependants. */
  readonly results: FlagResult[]
  readonly work: Work
  /** Set when something could not be judged, though every flag has an answer. */
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
 * The properties flags see: what is stored, the distinct id, the request's location, and what the request says itself.
 * Each lies over the one before, key by key.
 */
export function overlayProperties(layers: {
  readonly stored: FlagProperties | null
  readonly distinct_id: unknown
  readonly location: FlagProperties | null
  readonly request: unknown
}): FlagProperties {
  const request = isRecord(layers.request) ? layers.request : null
  const distinct_id = identifierOf(layers.distinct_id)
  return { ...layers.stored, distinct_id, ...layers.location, ...request }
}

/** The same for groups: group type → stored properties, under what the request says of that group, key by key. */
export function overlayGroupProperties(
  stored: Readonly<Record<string, FlagProperties>>,
  request: unknown,
): Readonly<Record<string, FlagProperties>> {
  // Without a prototype, so that a group type named `__proto__` is a key like any other.
  const layered: Record<string, FlagProperties> = Object.create(null)
  for (const [type, properties] of Object.entries(stored)) layered[type] = properties
  for (const [type, properties] of Object.entries(isRecord(request) ? request : {})) {
    if (isRecord(properties)) layered[type] = { ...layered[type], ...properties }
  }
  return layered
}

function findGroup(person: FlagPerson, type: string | null): GroupSubject | null {
  if (type === null || !isRecord(person.groups) || !Object.hasOwn(person.groups, type)) return null
  const key = person.groups[type]
  const is_key = (typeof key === 'string' && key !== '') || typeof key === 'number'
  if (!is_key) return null
  const own = Object.hasOwn(person.group_properties, type) ? person.group_properties[type] : {}
  return { key: identifierOf(key), properties: { $group_key: key, ...own } }
}
