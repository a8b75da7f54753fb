/** Flag definitions for SDKs with local evaluation, and the verdict which flags they can evaluate. */
import type { CohortNode } from '../cohort.ts'
import { type CompiledFlag, type CompiledFlags, dependenciesOf } from '../definition.ts'
import type { StoredFlag } from '../definition-types.ts'
import type { FlagPlan } from '../plan.ts'
import { clientCohort, clientFilters, serverOnlyFilters } from './local-filters.ts'
import { filterReasons, type LocalReason, planReasons } from './local-reasons.ts'

type LocalVerdict = {
  readonly is_local: boolean
  /** The different reasons why an SDK has to ask the server; empty if it need not. */
  readonly reasons: readonly LocalReason[]
}

type LocalFlag = Omit<StoredFlag, 'filters'> & {
  readonly team_id: number
  readonly filters: Readonly<Record<string, unknown>>
  /** The older name of `evaluation_contexts`. */
  readonly evaluation_tags: readonly string[]
}

export type LocalOptions = {
  readonly project_id: number
  /** False: cohorts are expanded to property filters where possible. */
  readonly send_cohorts: boolean
}

/** Reasons that SDKs detect, and then ask the server. With any other reason they would answer wrongly. */
const DETECTED_BY_SDKS: ReadonlySet<LocalReason> = new Set([
  'behavioral_cohort',
  'experience_continuity',
  'missing_cohort',
  'static_cohort',
])

/** Dependencies of a flag that is sent: every one of them is named in every flag that depends on it. */
const DEPENDENCIES_MAX = 100

/** Whether SDKs can evaluate a flag locally; null for an unknown key. */
export function localVerdict(definitions: CompiledFlags, flag_key: string): LocalVerdict | null {
  const position = definitions.positions.get(flag_key)
  return position === undefined ? null : openVerdicts(definitions)(position)
}

/**
 * The parts of the body of `/flags/definitions` and of `local_evaluation`, to be made one by one: all together they may be
 * megabytes.
 */
type OpenLocalDefinitions = {
  readonly group_type_mapping: Readonly<Record<string, string>>
  readonly flags: readonly CompiledFlag[]
  readonly cohort_ids: readonly number[]
  readonly localFlagOf: (flag: CompiledFlag) => LocalFlag
  /** The tree of a cohort; null for a stored list, and a tree that an SDK would evaluate wrongly. */
  readonly localCohortOf: (id: number) => object | null
}

/**
 * Lists a project's flags and their cohorts for local evaluation, without making them. Flags that an SDK would evaluate
 * wrongly make it ask the server.
 */
export function openLocalDefinitions(
  definitions: CompiledFlags,
  options: LocalOptions,
): OpenLocalDefinitions {
  const flags = listedFlags(definitions)
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
    flags,
    group_type_mapping,
    cohort_ids: options.send_cohorts ? cohortIdsOfFlags(flags, definitions) : [],
    localFlagOf: (flag) => localFlag(flag, context),
    localCohortOf: (id) => {
      const cohort = definitions.cohorts.get(id)
      return cohort?.kind === 'tree' ? clientCohort(cohort.root) : null
    },
  }
}

type LocalContext = LocalOptions & {
  readonly definitions: CompiledFlags
  /** Order of evaluation, by position. */
  readonly ranks: ReadonlyMap<number, number>
  readonly verdictOf: (position: number) => LocalVerdict
}

function localFlag({ flag, plan, index }: CompiledFlag, context: LocalContext): LocalFlag {
  const { definitions, project_id, send_cohorts } = context
  const { reasons } = context.verdictOf(index)
  const chainOf = (position: number): readonly string[] => dependencyChain(position, context)
  const filters =
    plan.kind === 'plan' && reasons.every((reason) => DETECTED_BY_SDKS.has(reason))
      ? clientFilters(flag, plan, { definitions, chainOf, send_cohorts })
      : serverOnlyFilters(flag)
  return { ...flag, team_id: project_id, filters, evaluation_tags: flag.evaluation_contexts }
}

/** Active flags and their dependencies, inactive ones too: an SDK treats a missing flag as unknown. */
function listedFlags(definitions: CompiledFlags): readonly CompiledFlag[] {
  const active = definitions.flags.filter(({ flag }) => flag.active)
  const dependencies = new Set(active.flatMap(({ plan }) => dependenciesOf(plan)))
  return definitions.flags.filter(({ flag, index }) => flag.active || dependencies.has(index))
}

/** The positions of a flag and of all its dependencies; null if they are too many. */
function withDependencies(
  definitions: CompiledFlags,
  position: number,
): ReadonlySet<number> | null {
  const positions = new Set([position])
  // The set grows while it is walked, which includes dependencies of dependencies.
  for (const index of positions) {
    const flag = definitions.flags[index]
    for (const next of flag?.flag.active ? dependenciesOf(flag.plan) : []) positions.add(next)
    if (positions.size > DEPENDENCIES_MAX) return null
  }
  return positions
}

/** The keys of a flag's dependencies in order of evaluation; the flag's key comes last. */
function dependencyChain(
  position: number,
  { definitions, ranks }: LocalContext,
): readonly string[] {
  const positions = [...(withDependencies(definitions, position) ?? [])]
  const ordered = positions.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0))
  return ordered.flatMap((index) => definitions.flags[index]?.flag.key ?? [])
}

/** Opens verdicts on a project's flags; the reasons of each flag and cohort are computed once. */
function openVerdicts(definitions: CompiledFlags): (position: number) => LocalVerdict {
  const cohortReasons = memoize((id) => reasonsOfCohort(id, definitions))
  const flagReasons = memoize((position) => {
    const flag = definitions.flags[position]
    return flag ? reasonsOfFlag(flag, definitions, cohortReasons) : []
  })
  return (position) => {
    const reasons = new Set(flagReasons(position))
    const positions = withDependencies(definitions, position)
    const hasReasons = (index: number): boolean =>
      index !== position && flagReasons(index).length > 0
    if (!positions || [...positions].some(hasReasons)) reasons.add('dependency')
    return { is_local: reasons.size === 0, reasons: [...reasons] }
  }
}

type ReasonsOf = (number: number) => readonly LocalReason[]

function memoize(find: ReasonsOf): ReasonsOf {
  const cache = new Map<number, readonly LocalReason[]>()
  return (number) => {
    const reasons = cache.get(number) ?? find(number)
    cache.set(number, reasons)
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
  if (cohort.kind === 'members') return [`${cohort.list_kind}_cohort`]
  return cohort.kind === 'broken' ? ['invalid_definition'] : treeReasons(cohort.root)
}

function treeReasons(node: CohortNode): readonly LocalReason[] {
  return node.kind === 'leaf' ? filterReasons(node.filter) : node.nodes.flatMap(treeReasons)
}

function withNestedCohorts(
  cohort_ids: readonly number[],
  definitions: CompiledFlags,
): ReadonlySet<number> {
  const ids = new Set(cohort_ids)
  for (const id of ids) {
    const cohort = definitions.cohorts.get(id)
    for (const nested_id of cohort?.kind === 'tree' ? cohort.refers_to : []) ids.add(nested_id)
  }
  return ids
}

/** The cohorts that flags name, directly or through other cohorts. */
function cohortIdsOfFlags(
  flags: readonly CompiledFlag[],
  definitions: CompiledFlags,
): readonly number[] {
  const cohort_ids = flags.flatMap(({ plan }) => (plan.kind === 'plan' ? cohortIdsOf(plan) : []))
  return [...withNestedCohorts(cohort_ids, definitions)]
}

function cohortIdsOf(plan: FlagPlan): number[] {
  return plan.sets.flatMap((set) =>
    set.filters.flatMap((filter) => (filter.kind === 'cohort' ? filter.cohort_id : [])),
  )
}
