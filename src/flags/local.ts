/** Flag definitions for clients that evaluate by themselves, and the verdict which flags they can. */
import type { CohortNode } from './cohort.ts'
import { type CompiledFlag, type CompiledFlags, dependenciesOf } from './definition.ts'
import type { StoredFlag } from './definition-types.ts'
import { clientCohort, clientFilters, serverOnlyFilters } from './local-filters.ts'
import { filterReasons, type LocalReason, planReasons } from './local-reasons.ts'
import type { FlagPlan } from './plan.ts'

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

/** A flag that depends on more than this many others is not sent: each is named in every flag that depends on it. */
const DEPENDENCIES_MAX = 100

/** Whether clients can evaluate a flag by themselves, given what they know of the person; null for an unknown key. */
export function localVerdict(definitions: CompiledFlags, flag_key: string): LocalVerdict | null {
  const position = definitions.positions.get(flag_key)
  return position === undefined ? null : openVerdicts(definitions)(position)
}

/** Everything a client needs to evaluate a project's flags. What it would get wrong, it is made to ask about. */
export function localDefinitions(
  definitions: CompiledFlags,
  options: LocalOptions,
): LocalDefinitions {
  const listed = listedFlags(definitions)
  const group_type_mapping: Record<string, string> = {}
  definitions.group_types.forEach((type, index) => {
    if (type !== null) group_type_mapping[index] = type
  })
  const ranks = new Map(definitions.order.map(({ index }, rank) => [index, rank]))
  const context: LocalContext = {
    definitions,
    ranks,
    verdictOf: openVerdicts(definitions),
    ...options,
  }
  return {
    flags: listed.map((flag) => localFlag(flag, context)),
    group_type_mapping,
    cohorts: options.send_cohorts ? cohortsOf(listed, definitions) : {},
  }
}

type LocalContext = LocalOptions & {
  readonly definitions: CompiledFlags
  /** Per position, when the flag is evaluated. */
  readonly ranks: ReadonlyMap<number, number>
  readonly verdictOf: (position: number) => LocalVerdict
}

function localFlag({ flag, plan, index }: CompiledFlag, context: LocalContext): LocalFlag {
  const { definitions, project_id, send_cohorts } = context
  const { reasons } = context.verdictOf(index)
  const chainOf = (position: number): readonly string[] => chain(position, context)
  const filters =
    plan.kind === 'plan' && reasons.every((reason) => NOTICED.has(reason))
      ? clientFilters(flag, plan, { definitions, chainOf, send_cohorts })
      : serverOnlyFilters(flag)
  return { ...flag, team_id: project_id, filters, evaluation_tags: flag.evaluation_contexts }
}

/** Active flags, and those of the others that active ones ask about: a client takes an unlisted flag for unknown. */
function listedFlags(definitions: CompiledFlags): readonly CompiledFlag[] {
  const active = definitions.flags.filter(({ flag }) => flag.active)
  const asked = new Set(active.flatMap(({ plan }) => dependenciesOf(plan)))
  return definitions.flags.filter(({ flag, index }) => flag.active || asked.has(index))
}

/** A flag's position and those of all it depends on, directly or not; null when they are too many. */
function withDependencies(
  definitions: CompiledFlags,
  position: number,
): ReadonlySet<number> | null {
  const found = new Set([position])
  // The set grows while it is walked, which reaches dependencies of dependencies.
  for (const index of found) {
    const flag = definitions.flags[index]
    for (const next of flag?.flag.active ? dependenciesOf(flag.plan) : []) found.add(next)
    if (found.size > DEPENDENCIES_MAX) return null
  }
  return found
}

/** The keys of a flag's dependencies in the order of evaluation, and its own last. */
function chain(position: number, { definitions, ranks }: LocalContext): readonly string[] {
  const found = [...(withDependencies(definitions, position) ?? [])]
  const ordered = found.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0))
  return ordered.flatMap((index) => definitions.flags[index]?.flag.key ?? [])
}

/** Verdicts on a project's flags; what each flag and each cohort is asked is asked once. */
function openVerdicts(definitions: CompiledFlags): (position: number) => LocalVerdict {
  const cohortReasons = remember((id) => reasonsOfCohort(id, definitions))
  const ownReasons = remember((position) => {
    const flag = definitions.flags[position]
    return flag ? reasonsOfFlag(flag, definitions, cohortReasons) : []
  })
  return (position) => {
    const reasons = new Set(ownReasons(position))
    const asked = withDependencies(definitions, position)
    const isAsking = (index: number): boolean => index !== position && ownReasons(index).length > 0
    if (!asked || [...asked].some(isAsking)) reasons.add('dependency')
    return { is_local: reasons.size === 0, reasons: [...reasons] }
  }
}

type ReasonsOf = (number: number) => readonly LocalReason[]

function remember(find: ReasonsOf): ReasonsOf {
  const known = new Map<number, readonly LocalReason[]>()
  return (number) => {
    const reasons = known.get(number) ?? find(number)
    known.set(number, reasons)
    return reasons
  }
}

function reasonsOfFlag(
  { flag, plan }: CompiledFlag,
  definitions: CompiledFlags,
  cohortReasons: ReasonsOf,
): readonly LocalReason[] {
  if (!flag.active) return []
  if (plan.kind === 'failed') return ['invalid_definition']
  const reasons = [...planReasons(plan)]
  if (flag.ensure_experience_continuity) reasons.push('experience_continuity')
  for (const id of withNestedCohorts(cohortIdsOf(plan), definitions)) {
    reasons.push(...cohortReasons(id))
  }
  return reasons
}

function reasonsOfCohort(id: number, definitions: CompiledFlags): readonly LocalReason[] {
  const cohort = definitions.cohorts.get(id)
  if (!cohort) return ['missing_cohort']
  if (cohort.kind === 'members') return [`${cohort.why}_cohort`]
  return cohort.kind === 'broken' ? ['invalid_definition'] : treeReasons(cohort.root)
}

function treeReasons(node: CohortNode): readonly LocalReason[] {
  return node.kind === 'leaf' ? filterReasons(node.filter) : node.nodes.flatMap(treeReasons)
}

function withNestedCohorts(
  cohort_ids: readonly number[],
  definitions: CompiledFlags,
): ReadonlySet<number> {
  const found = new Set(cohort_ids)
  for (const id of found) {
    const cohort = definitions.cohorts.get(id)
    for (const asked of cohort?.kind === 'tree' ? cohort.asks : []) found.add(asked)
  }
  return found
}

/** The trees of the cohorts that flags ask about; lists of people stay here, and so do trees a client would misread. */
function cohortsOf(
  flags: readonly CompiledFlag[],
  definitions: CompiledFlags,
): Readonly<Record<string, unknown>> {
  const asked = flags.flatMap(({ plan }) => (plan.kind === 'plan' ? cohortIdsOf(plan) : []))
  const cohorts: Record<string, unknown> = {}
  for (const id of withNestedCohorts(asked, definitions)) {
    const cohort = definitions.cohorts.get(id)
    const tree = cohort?.kind === 'tree' ? clientCohort(cohort.root) : null
    if (tree) cohorts[id] = tree
  }
  return cohorts
}

function cohortIdsOf(plan: FlagPlan): number[] {
  return plan.sets.flatMap((set) =>
    set.filters.flatMap((filter) => (filter.kind === 'cohort' ? filter.cohort_id : [])),
  )
}
