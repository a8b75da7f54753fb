/** Flag definitions for clients that evaluate by themselves, and the verdict which flags they can. */
import { type CohortNode, cohortFiltersOf } from './cohort.ts'
import { type CompiledFlag, type Definitions, dependenciesOf } from './definition.ts'
import { clientCohort, clientFilters, serverOnlyFilters } from './local-filters.ts'
import { filterDoubts, type LocalReason, planDoubts } from './local-reasons.ts'
import type { FlagPlan } from './plan.ts'
import type { StoredFlag } from './stored.ts'

export type LocalVerdict = {
  readonly is_local: boolean
  /** Why a client has to ask the server, each cause once; empty when it need not. */
  readonly reasons: readonly LocalReason[]
}

/** The body of `/flags/definitions` and of `local_evaluation`. */
export type LocalDefinitions = {
  readonly flags: readonly LocalFlag[]
  readonly group_type_mapping: Readonly<Record<string, string>>
  readonly cohorts: Readonly<Record<string, unknown>>
}

export type LocalFlag = Omit<StoredFlag, 'filters'> & {
  readonly team_id: number
  readonly filters: Readonly<Record<string, unknown>>
  /** What newer services call evaluation_contexts. */
  readonly evaluation_tags: readonly string[]
}

export type LocalOptions = {
  readonly project_id: number
  /** Without cohorts, those that can be are written out as plain properties. */
  readonly send_cohorts: boolean
}

/** Clients find these out by themselves when they come to them. Of other doubts they know nothing, and answer wrongly. */
const NOTICED: ReadonlySet<LocalReason> = new Set([
  'behavioral_cohort',
  'experience_continuity',
  'missing_cohort',
  'static_cohort',
])

/** Whether clients can evaluate a flag by themselves, given what they know of the person; null for an unknown key. */
export function localVerdict(definitions: Definitions, flag_key: string): LocalVerdict | null {
  const position = definitions.positions.get(flag_key)
  if (position === undefined) return null
  const reasons = new Set<LocalReason>()
  for (const index of withDependencies(definitions, position)) {
    const flag = definitions.flags[index]
    const own = flag ? reasonsOf(flag, definitions) : []
    if (index === position) for (const reason of own) reasons.add(reason)
    else if (own.length > 0) reasons.add('dependency')
  }
  return { is_local: reasons.size === 0, reasons: [...reasons] }
}

/** Everything a client needs to evaluate a project's flags. What it would get wrong, it is made to ask about. */
export function localDefinitions(
  definitions: Definitions,
  options: LocalOptions,
): LocalDefinitions {
  const listed = listedFlags(definitions)
  const group_type_mapping: Record<string, string> = {}
  definitions.group_types.forEach((type, index) => {
    if (type !== null) group_type_mapping[index] = type
  })
  return {
    flags: listed.map((flag) => localFlag(flag, definitions, options)),
    group_type_mapping,
    cohorts: options.send_cohorts ? cohortsOf(listed, definitions) : {},
  }
}

function localFlag(
  { flag, plan }: CompiledFlag,
  definitions: Definitions,
  options: LocalOptions,
): LocalFlag {
  const reasons = localVerdict(definitions, flag.key)?.reasons ?? []
  const chainOf = (index: number): readonly string[] => chain(definitions, index)
  const filters =
    plan.kind === 'plan' && reasons.every((reason) => NOTICED.has(reason))
      ? clientFilters(flag, plan, { definitions, chainOf, send_cohorts: options.send_cohorts })
      : serverOnlyFilters(flag)
  return {
    ...flag,
    team_id: options.project_id,
    filters,
    evaluation_tags: flag.evaluation_contexts,
  }
}

/** Active flags, and those of the others that active ones ask about: a client takes an unlisted flag for unknown. */
function listedFlags(definitions: Definitions): readonly CompiledFlag[] {
  const listed = new Set<number>()
  for (const { index, flag } of definitions.flags) {
    if (!flag.active) continue
    for (const position of withDependencies(definitions, index)) listed.add(position)
  }
  return definitions.flags.filter((flag) => listed.has(flag.index))
}

/** A flag's position and those of all the flags it depends on, directly or not. */
function withDependencies(definitions: Definitions, position: number): ReadonlySet<number> {
  const found = new Set([position])
  // The set grows while it is walked, which reaches dependencies of dependencies.
  for (const index of found) {
    const flag = definitions.flags[index]
    for (const next of flag?.flag.active ? dependenciesOf(flag.plan) : []) found.add(next)
  }
  return found
}

/** The keys of a flag's dependencies in the order of evaluation, and its own last. */
function chain(definitions: Definitions, position: number): readonly string[] {
  const found = withDependencies(definitions, position)
  return definitions.order.flatMap(({ index, flag }) => (found.has(index) ? flag.key : []))
}

function reasonsOf({ flag, plan }: CompiledFlag, definitions: Definitions): LocalReason[] {
  if (!flag.active) return []
  if (plan.kind === 'failed') return ['invalid_definition']
  const reasons = [...planDoubts(plan)]
  if (flag.ensure_experience_continuity) reasons.push('experience_continuity')
  return [...reasons, ...cohortReasons(cohortIdsOf(plan), definitions)]
}

function cohortReasons(cohort_ids: readonly number[], definitions: Definitions): LocalReason[] {
  const reasons: LocalReason[] = []
  for (const id of withNestedCohorts(cohort_ids, definitions)) {
    const cohort = definitions.cohorts.get(id)
    if (!cohort) reasons.push('missing_cohort')
    else if (cohort.kind === 'members') reasons.push(`${cohort.why}_cohort`)
    else if (cohort.kind === 'broken') reasons.push('invalid_definition')
    else reasons.push(...treeReasons(cohort.root))
  }
  return reasons
}

function treeReasons(node: CohortNode): readonly LocalReason[] {
  return node.kind === 'leaf' ? filterDoubts(node.filter) : node.nodes.flatMap(treeReasons)
}

function withNestedCohorts(
  cohort_ids: readonly number[],
  definitions: Definitions,
): ReadonlySet<number> {
  const found = new Set(cohort_ids)
  for (const id of found) {
    const cohort = definitions.cohorts.get(id)
    if (cohort?.kind !== 'tree') continue
    for (const filter of cohortFiltersOf(cohort.root)) found.add(filter.cohort_id)
  }
  return found
}

/** The trees of the cohorts that flags ask about; lists of people stay here, and so do trees a client would misread. */
function cohortsOf(
  flags: readonly CompiledFlag[],
  definitions: Definitions,
): Readonly<Record<string, unknown>> {
  const asked = flags.flatMap(({ plan }) => (plan.kind === 'plan' ? cohortIdsOf(plan) : []))
  const cohorts: Record<string, unknown> = {}
  for (const id of withNestedCohorts(asked, definitions)) {
    const cohort = definitions.cohorts.get(id)
    if (cohort?.kind === 'tree') {
      const tree = clientCohort(cohort.root)
      if (tree) cohorts[id] = tree
    }
  }
  return cohorts
}

function cohortIdsOf(plan: FlagPlan): number[] {
  return plan.sets.flatMap((set) =>
    set.filters.flatMap((filter) => (filter.kind === 'cohort' ? filter.cohort_id : [])),
  )
}
