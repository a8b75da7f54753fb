/** Creates a static cohort of all persons that a flag includes now. All are evaluated, a slice at a time. */

import { Refusal } from '../../errors.ts'
import { evaluateFlags } from '../../flags/evaluate.ts'
import { isObject } from '../../json.ts'
import { Slices } from '../../threads/slices.ts'
import { type CohortRow, createCohort, getCohort } from '../cohorts/cohort.ts'
import { addMemberSlices, type MemberContext } from '../cohorts/cohort-members.ts'
import type { TargetingEditor } from '../shared/editor.ts'
import type { ListedPerson } from '../shared/person-reads.ts'
import type { Flag } from './flag.ts'
import type { ProjectFlags } from './flag-definitions.ts'

type FlagCohortContext = MemberContext & {
  readonly editor: TargetingEditor
  readonly flags: ProjectFlags
  readonly now: Date
}

/** Persons per slice. */
const SLICE = 500

/** Creates the cohort. Refuses flags of groups, and inactive flags. */
export async function createFlagCohort(context: FlagCohortContext, flag: Flag): Promise<CohortRow> {
  const { editor, now } = context
  requireForPeople(flag)
  const name = `Users with feature flag ${flag.key} enabled at ${now.toISOString()}`
  const cohort = createCohort(editor, { name, is_static: true }, now)
  await addMemberSlices(context, cohort, reachedPersons(context, flag))
  return getCohort(context.control, cohort.project_id, cohort.id)
}

/** The ids of all persons that have the flag, a slice at a time. */
async function* reachedPersons(
  context: FlagCohortContext,
  flag: Flag,
): AsyncGenerator<readonly Uint8Array[]> {
  const slices = new Slices()
  let after: Uint8Array | null = null
  for (;;) {
    const slice: ListedPerson[] = context.persons.listPersons(flag.project_id, after, SLICE)
    const reached: Uint8Array[] = []
    for (const person of slice) {
      if (hasFlag(context, flag, person)) reached.push(person.id)
      if (slices.isOver()) await slices.end()
    }
    if (reached.length > 0) yield reached
    after = slice.at(-1)?.id ?? null
    if (after === null) return
    await slices.end()
  }
}

function requireForPeople({ filters, active, deleted }: Flag): void {
  if (deleted || !active) throw refused('A flag that is off has no people.')
  if (isObject(filters) && (filters['aggregation_group_type_index'] ?? null) !== null) {
    throw refused('Cannot create a static cohort from a flag of groups.')
  }
}

function hasFlag(
  { persons, flags, now }: FlagCohortContext,
  { key, project_id }: Flag,
  { id, properties }: ListedPerson,
): boolean {
  const [distinct_id = ''] = persons.listDistinctIds(project_id, id, 1)
  const person = {
    distinct_id,
    device_id: null,
    person_properties: { ...properties, distinct_id },
    group_properties: {},
    groups: {},
    overrides: persons.overridesOf(project_id, id),
    isInCohort: (cohort_id: number) => persons.isInCohort(project_id, id, cohort_id),
    now: now.getTime(),
  }
  const selection = { flag_keys: [key], evaluation_runtime: null, evaluation_contexts: null }
  const [result] = evaluateFlags(flags.definitions, person, selection).results
  return result !== undefined && result.enabled && !result.is_failed
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail)
}
