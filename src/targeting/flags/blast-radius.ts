/** Blast radius: how many persons (or groups) a condition includes. All are evaluated, a slice at a time. */

import { Refusal } from '../../errors.ts'
import type { CompiledFlags } from '../../flags/definition.ts'
import type { StoredFlag } from '../../flags/definition-types.ts'
import { evaluateFlags } from '../../flags/evaluate.ts'
import type { FlagPerson } from '../../flags/subject.ts'
import { isObject } from '../../json.ts'
import { Slices } from '../../threads/slices.ts'
import type { PersonSource } from '../shared/person-reads.ts'
import { compileInSlices } from './compile-in-slices.ts'
import type { ProjectFlags } from './flag-definitions.ts'

type BlastRadius = { readonly users_affected: number; readonly total_users: number }

/** Persons per slice. */
const SLICE = 500

/**
 * Counts the persons that one condition set includes at a rollout of 100 %. Refuses a set for groups with filters on
 * others.
 */
export async function blastRadius(
  persons: PersonSource,
  flags: ProjectFlags,
  properties: readonly unknown[],
  group_type_index: number | null,
): Promise<BlastRadius> {
  if (group_type_index !== null) requireGroupFilters(properties, group_type_index)
  const definitions = await probeDefinitions(flags, properties, group_type_index)
  return group_type_index === null
    ? countPeople(persons, flags.project_id, definitions)
    : countGroups(persons, flags, definitions, group_type_index)
}

/** Refuses filters on anything but the counted type of groups; filters on other flags are allowed, as when flags are evaluated. */
function requireGroupFilters(properties: readonly unknown[], index: number): void {
  const is_sound = properties.every((filter) => {
    if (!isObject(filter) || filter['type'] === 'flag' || filter['key'] === '$group_key')
      return true
    return filter['group_type_index'] === index
  })
  if (is_sound) return
  throw new Refusal('invalid_input', 'Invalid group type index for feature flag condition.')
}

/** Definitions of the project plus one flag with the condition. */
function probeDefinitions(
  { definitions }: ProjectFlags,
  properties: readonly unknown[],
  aggregation_group_type_index: number | null,
): Promise<CompiledFlags> {
  const { stored } = definitions
  const probe: StoredFlag = {
    id: PROBE_ID,
    key: PROBE_KEY,
    name: '',
    filters: { aggregation_group_type_index, groups: [{ properties, rollout_percentage: 100 }] },
    active: true,
    deleted: false,
    version: null,
    ensure_experience_continuity: false,
    bucketing_identifier: null,
    evaluation_runtime: null,
    evaluation_contexts: [],
  }
  return compileInSlices({ ...stored, flags: [...stored.flags, probe] }, null)
}

const PROBE_ID = 0
/** No flag can have this key, because keys have no blanks. */
const PROBE_KEY = 'blast radius'
const PROBE = { flag_keys: [PROBE_KEY], evaluation_runtime: null, evaluation_contexts: null }

async function countPeople(
  persons: PersonSource,
  project_id: number,
  definitions: CompiledFlags,
): Promise<BlastRadius> {
  let users_affected = 0
  let total_users = 0
  const slices = new Slices()
  let after: Uint8Array | null = null
  for (;;) {
    const slice = persons.listPersons(project_id, after, SLICE)
    for (const { id, properties } of slice) {
      const [distinct_id = ''] = persons.listDistinctIds(project_id, id, 1)
      const person = flagPerson({
        distinct_id,
        person_properties: properties,
        isInCohort: (cohort_id) => persons.isInCohort(project_id, id, cohort_id),
      })
      if (isReached(definitions, person)) users_affected += 1
      if (slices.isOver()) await slices.end()
    }
    total_users += slice.length
    after = slice.at(-1)?.id ?? null
    if (after === null) return { users_affected, total_users }
    await slices.end()
  }
}

async function countGroups(
  persons: PersonSource,
  { project_id, group_types }: ProjectFlags,
  definitions: CompiledFlags,
  index: number,
): Promise<BlastRadius> {
  const type = group_types.find(({ group_type_index }) => group_type_index === index)?.group_type
  if (type === undefined) return { users_affected: 0, total_users: 0 }
  let users_affected = 0
  let total_users = 0
  const slices = new Slices()
  let after: string | null = null
  for (;;) {
    const slice = persons.listGroups({ project_id, group_type_index: index }, after, SLICE)
    for (const { group_key, properties } of slice) {
      const group = flagPerson({
        distinct_id: group_key,
        groups: { [type]: group_key },
        group_properties: { [type]: properties },
      })
      if (isReached(definitions, group)) users_affected += 1
      if (slices.isOver()) await slices.end()
    }
    total_users += slice.length
    after = slice.at(-1)?.group_key ?? null
    if (after === null) return { users_affected, total_users }
    await slices.end()
  }
}

function isReached(definitions: CompiledFlags, person: FlagPerson): boolean {
  return evaluateFlags(definitions, person, PROBE).results.some((result) => result.enabled)
}

function flagPerson(stored: Partial<FlagPerson> & { readonly distinct_id: string }): FlagPerson {
  return {
    device_id: null,
    person_properties: {},
    group_properties: {},
    groups: {},
    overrides: new Map(),
    isInCohort: () => false,
    now: Date.now(),
    ...stored,
  }
}
