/** Everybody who gets a flag now, as a list of people (wire §3.8): all are asked, a slice at a time. */
import { Refusal } from '../errors.ts'
import { evaluateFlags } from '../flags/evaluate.ts'
import { isRecord } from '../flags/value.ts'
import { type Cohort, createCohort, getCohort } from './cohort.ts'
import { addMemberIds, type MemberNeeds } from './cohort-members.ts'
import type { ProjectFlags } from './definitions.ts'
import type { Editor } from './editor.ts'
import type { Flag } from './flag.ts'
import type { ListedPerson } from './people.ts'
import { Slices } from './slices.ts'

export type FlagCohortNeeds = MemberNeeds & {
  readonly editor: Editor
  readonly flags: ProjectFlags
  readonly now: Date
}

/** People read at once. */
const SLICE = 500

/** Makes the list. Refuses flags of groups, and flags that nobody gets because they are off. */
export async function createFlagCohort(needs: FlagCohortNeeds, flag: Flag): Promise<Cohort> {
  const { editor, people, now } = needs
  requireForPeople(flag)
  const name = `Users with feature flag ${flag.key} enabled at ${now.toISOString()}`
  const cohort = createCohort(editor, { name, is_static: true }, now)
  const slices = new Slices()
  let after: Uint8Array | null = null
  for (;;) {
    const slice: ListedPerson[] = people.listPersons(flag.project_id, after, SLICE)
    const reached: Uint8Array[] = []
    for (const person of slice) {
      if (hasFlag(needs, flag, person)) reached.push(person.id)
      if (slices.isOver()) await slices.end()
    }
    if (reached.length > 0) await addMemberIds(needs, cohort, reached)
    after = slice.at(-1)?.id ?? null
    if (slice.length < SLICE) return getCohort(needs.control, cohort.project_id, cohort.id)
    await slices.end()
  }
}

function requireForPeople({ filters, active, deleted }: Flag): void {
  if (deleted || !active) throw refused('A flag that is off has no people.')
  if (isRecord(filters) && (filters['aggregation_group_type_index'] ?? null) !== null) {
    throw refused('Cannot create a static cohort from a flag of groups.')
  }
}

function hasFlag(
  { people, flags, now }: FlagCohortNeeds,
  { key, project_id }: Flag,
  { id, properties }: ListedPerson,
): boolean {
  const [distinct_id = ''] = people.listDistinctIds(project_id, id, 1)
  const person = {
    distinct_id,
    device_id: null,
    person_properties: { ...properties, distinct_id },
    group_properties: {},
    groups: {},
    overrides: people.overridesOf(project_id, id),
    static_cohorts: (cohort_id: number) => people.isInCohort(project_id, id, cohort_id),
    now: now.getTime(),
  }
  const selection = { flag_keys: [key], evaluation_runtime: null, evaluation_contexts: null }
  const [result] = evaluateFlags(flags.definitions, person, selection).results
  return result !== undefined && result.enabled && !result.is_failed
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail)
}
