/** Evaluates all flags of a project for one request: stored properties overlaid with the request's. */

import { resolveContinuity } from '../../flags/continuity.ts'
import { evaluateFlags, type Selection } from '../../flags/evaluate.ts'
import { type FlagProperties, groupKeyOf, identifierOf } from '../../flags/operators/value.ts'
import type { Evaluation } from '../../flags/result.ts'
import {
  type FlagPerson,
  overlayGroupProperties,
  overlayProperties,
  type UnknownToEdge,
} from '../../flags/subject.ts'
import { isObject } from '../../json.ts'
import type { OverrideRow } from '../../storage/persons/flag-rows.ts'
import type { FactsNeeded, PersonRead, PersonSource } from '../shared/person-reads.ts'
import type { ProjectFlags } from './flag-definitions.ts'

/** A request for flags; values have whatever JSON type was sent. */
type FlagQuery = {
  readonly distinct_id: unknown
  readonly device_id: string | null
  readonly anon_distinct_id: string | null
  readonly groups: unknown
  readonly person_properties: unknown
  readonly group_properties: unknown
  /** Location by a header's address; overrides stored properties. */
  readonly location?: FlagProperties | null
  /** Location by the connection's address; used only where nothing is stored. */
  readonly nearby?: FlagProperties | null
  readonly selection: Selection
}

export type FlagAnswer = {
  readonly evaluation: Evaluation
  /** Must be stored before the answer is sent: the next request must find them. */
  readonly overrides: readonly OverrideRow[]
  /** The error that prevented reading stored data; null without one. */
  readonly store_fault: unknown
}

type StoredFlagInputs = {
  readonly person: PersonRead | null
  readonly groups: Readonly<Record<string, FlagProperties>>
  readonly overrides: ReadonlyMap<string, string>
  readonly to_store: readonly OverrideRow[]
  readonly fault: unknown
  /** On an edge only. */
  readonly unknown: UnknownToEdge | undefined
}

const NO_STORED_INPUTS: StoredFlagInputs = {
  person: null,
  groups: {},
  overrides: new Map(),
  to_store: [],
  fault: null,
  unknown: undefined,
}

/** Evaluates the flags. An unavailable store is no error: flags that do not need a person are evaluated without one. */
export function answerFlags(
  persons: PersonSource,
  flags: ProjectFlags,
  query: FlagQuery,
  now: Date,
): FlagAnswer {
  const stored = readStored(persons, flags, query)
  const person = personOf(persons, flags, query, stored, now)
  const evaluation = evaluateFlags(flags.definitions, person, query.selection)
  return { evaluation, overrides: stored.to_store, store_fault: stored.fault }
}

/** Builds the person that flags evaluate: stored properties overlaid with the request's. */
export function findFlagPerson(
  persons: PersonSource,
  flags: ProjectFlags,
  query: FlagQuery,
  now: Date,
): FlagPerson {
  return personOf(persons, flags, query, readStored(persons, flags, query), now)
}

function personOf(
  persons: PersonSource,
  { project_id, inputs }: ProjectFlags,
  query: FlagQuery,
  stored: StoredFlagInputs,
  now: Date,
): FlagPerson {
  const { person, unknown } = stored
  const flag_person = {
    distinct_id: query.distinct_id,
    device_id: query.device_id,
    person_properties: overlayProperties({
      stored: query.nearby
        ? { ...query.nearby, ...person?.properties }
        : (person?.properties ?? null),
      distinct_id: query.distinct_id,
      location: query.location ?? null,
      request: query.person_properties,
    }),
    group_properties: overlayGroupProperties(stored.groups, query.group_properties),
    groups: query.groups,
    overrides: stored.overrides,
    isInCohort: inputs.needs_person ? membershipOf(persons, project_id, person) : IN_NO_COHORT,
    now: now.getTime(),
    is_store_unavailable: stored.fault !== null,
  }
  return unknown === undefined ? flag_person : { ...flag_person, unknown }
}

type CohortMembership = FlagPerson['isInCohort']

/** For flags that read no cohort that is a list. */
const IN_NO_COHORT: CohortMembership = () => false

function membershipOf(
  persons: PersonSource,
  project_id: number,
  person: PersonRead | null,
): CohortMembership {
  return (cohort_id) => person !== null && persons.isInCohort(project_id, person.id, cohort_id)
}

function readStored(
  persons: PersonSource,
  flags: ProjectFlags,
  query: FlagQuery,
): StoredFlagInputs {
  const { project_id, inputs } = flags
  try {
    const groups_needed = groupsNeeded(flags, query)
    const distinct_id = needsPerson(flags, query) ? identifierOf(query.distinct_id) : null
    const unknown = persons.unknownOf?.(project_id, {
      distinct_id,
      anon_distinct_id: inputs.has_continuity ? query.anon_distinct_id : null,
      groups: groups_needed,
    })
    const person = distinct_id === null ? null : persons.findPerson(project_id, distinct_id)
    const groups = readGroups(persons, flags, groups_needed)
    // An edge that knows one of two persons must not decide for both.
    const { overrides, to_store } =
      !inputs.has_continuity || unknown?.overrides
        ? NO_STORED_INPUTS
        : readContinuity(persons, flags, query, person)
    return { person, groups, overrides, to_store, fault: null, unknown }
  } catch (fault) {
    return { ...NO_STORED_INPUTS, fault }
  }
}

/**
 * Whether the stored person is needed. A request with all properties that the flags read is answered without.
 */
function needsPerson({ inputs }: ProjectFlags, query: FlagQuery): boolean {
  if (inputs.needs_person) return true
  const { person_properties } = query
  if (!isObject(person_properties)) return inputs.person_keys.length > 0
  for (const key of inputs.person_keys) if (!Object.hasOwn(person_properties, key)) return true
  return false
}

const NO_GROUPS: FactsNeeded['groups'] = []

/** The groups of a request whose stored properties are read. */
function groupsNeeded(
  { inputs, definitions }: ProjectFlags,
  { groups }: FlagQuery,
): FactsNeeded['groups'] {
  if (inputs.group_indexes.length === 0 || !isObject(groups)) return NO_GROUPS
  return inputs.group_indexes.flatMap((group_type_index) => {
    const type = definitions.group_types[group_type_index]
    const key = type && Object.hasOwn(groups, type) ? groups[type] : null
    if (key === null || key === undefined) return []
    return [{ group_type_index, group_key: groupKeyOf(key) }]
  })
}

function readGroups(
  persons: PersonSource,
  { definitions, project_id }: ProjectFlags,
  needed: FactsNeeded['groups'],
): Readonly<Record<string, FlagProperties>> {
  if (needed.length === 0) return NO_STORED_INPUTS.groups
  // Without a prototype, so that a group type named `__proto__` is a key like any other.
  const by_type: Record<string, FlagProperties> = Object.create(null)
  for (const { group_type_index, group_key } of needed) {
    const type = definitions.group_types[group_type_index]
    const properties = persons.findGroup(project_id, group_type_index, group_key)
    if (type && properties !== null) by_type[type] = properties
  }
  return by_type
}

function readContinuity(
  persons: PersonSource,
  { definitions, project_id }: ProjectFlags,
  query: FlagQuery,
  person: PersonRead | null,
): Pick<StoredFlagInputs, 'overrides' | 'to_store'> {
  const anon = query.anon_distinct_id
  const other = anon === null ? null : persons.findPerson(project_id, anon)
  const persons_by_id = new Map<string, PersonRead>()
  for (const one of [person, other]) if (one !== null) persons_by_id.set(one.id.toHex(), one)
  const owners = [...persons_by_id].map(([person_id, { id }]) => ({
    person_id,
    overrides: persons.overridesOf(project_id, id),
  }))
  const { overrides, to_store } = resolveContinuity(definitions, owners, anon)
  return {
    overrides,
    to_store: to_store.map(({ person_id, ...row }) => ({
      ...row,
      project_id,
      person_id: Uint8Array.fromHex(person_id),
    })),
  }
}
