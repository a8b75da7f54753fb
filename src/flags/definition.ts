/** Compiles a project's stored flags once per change: plans, order of dependencies, cohorts, decision tables. */
import { type Cohorts, compileCohortsInSteps } from './cohort.ts'
import { DecisionTables } from './decision-cache/decision-table.ts'
import type { ResultCache } from './decision-cache/result-cache.ts'
import type { GroupType, StoredDefinitions, StoredFlag } from './definition-types.ts'
import { orderByDependency } from './dependency.ts'
import { type FailureCode, FlagFailure } from './failure.ts'
import {
  type CompiledFilter,
  type FilterCompileContext,
  type FindFlag,
  SharedFilters,
} from './filter.ts'
import { type FlagPlan, planFlag } from './plan.ts'
import { type FlagResult, failedResult, offResult, reasonOf } from './result.ts'

export type CompiledFlag = {
  /** Position in `CompiledFlags.flags`. */
  readonly index: number
  readonly flag: StoredFlag
  readonly plan: FlagPlan | FailedPlan
}

/** The plan of an invalid definition, with its result for every person. */
type FailedPlan = { readonly kind: 'failed'; readonly result: FlagResult }

/** A project's compiled flags, shared by all evaluations until a definition changes. */
export type CompiledFlags = {
  readonly stored: StoredDefinitions
  /** In stored order, without deleted flags. */
  readonly flags: readonly CompiledFlag[]
  /** The same flags in topological order: each after those it depends on. */
  readonly order: readonly CompiledFlag[]
  /** Positions by key. */
  readonly positions: ReadonlyMap<string, number>
  readonly cohorts: Cohorts
  /** Group type names by index. */
  readonly group_types: readonly (string | null)[]
  /** The initial results of an evaluation, all flags off, by position. */
  readonly off: readonly FlagResult[]
  /** Number of different property filters. */
  readonly filter_count: number
  /** Instructions of all patterns together. */
  readonly pattern_instructions: number
  /** Number of active flags. */
  readonly active_count: number
  /**
   * Keys of the first `FLAGS_EVALUATED_MAX` active flags in stored order, where there are more: a project of an older
   * version may have 20,000. Null where there are not.
   */
  readonly first_keys: readonly string[] | null
  /** Whether an active flag is for one runtime alone, so that it counts where a caller runs. */
  readonly has_runtimes: boolean
  /** Null disables the decision cache: every flag is evaluated separately. Tests compare both ways. */
  readonly decision_tables: DecisionTables | null
  /** Shared by all projects; entries are valid for one table, which belongs to one project. */
  readonly result_cache: ResultCache | null
  /** The active flags outside of the decision tables, in topological order. */
  readonly uncovered: readonly CompiledFlag[]
}

const GROUP_TYPES_MAX = 5

/** Flags evaluated for one request: 20,000 take up to 66 ms of one turn of the event loop. No project can add more. */
export const FLAGS_EVALUATED_MAX = 10_000

/**
 * Compiles the definitions of a project. An invalid flag does not throw: it gets a failed plan. With a `result_cache`,
 * outcomes of persons are cached there.
 */
export function compileDefinitions(
  stored: StoredDefinitions,
  result_cache: ResultCache | null = null,
): CompiledFlags {
  const steps = compileInSteps(stored, result_cache)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** The same as a generator that yields after each flag and cohort: thousands of flags take a tenth of a second. */
export function* compileInSteps(
  stored: StoredDefinitions,
  result_cache: ResultCache | null,
): Generator<undefined, CompiledFlags> {
  const present = stored.flags.filter((flag) => !flag.deleted)
  const positions = new Map(present.map((flag, index) => [flag.key, index]))
  const shared = new SharedFilters()
  const findFlag = flagFinder(present, positions)
  const context: FilterCompileContext = { source: 'person', findFlag, shared }
  const cohorts = yield* compileCohortsInSteps(stored.cohorts, shared)
  const planned: CompiledFlag[] = []
  for (const [index, flag] of present.entries()) {
    planned.push(compileFlag(flag, index, { context, cohorts }))
    yield
  }
  const { order, depth } = orderByDependency(
    // An inactive flag is off and depends on no other flag.
    planned.map(({ flag, plan }) => (flag.active ? dependenciesOf(plan) : [])),
  )
  const flags = planned.map((flag) =>
    (depth[flag.index] ?? 0) < 0 ? failedFlag(flag, 'dependency_cycle') : flag,
  )
  // Dependencies come first, so a fault reaches every flag that depends on it, directly or not.
  for (const index of order) {
    const flag = flags[index]
    if (flag?.flag.active && dependenciesOf(flag.plan).some((other) => hasFailed(flags[other]))) {
      flags[index] = failedFlag(flag, 'missing_dependency')
    }
  }
  // Flags in cycles come last: every flag that depends on them has failed already.
  const ordered = [...new Set([...order, ...flags.keys()])].flatMap((index) => flags[index] ?? [])
  const off = flags.map(({ flag }) => offResult(flag, reasonOf('flag_disabled', null)))
  yield
  const tables = new DecisionTables(flags, off, shared.size)
  yield
  const covered = tables.positions()
  const active = flags.filter(({ flag }) => flag.active)
  return {
    stored,
    flags,
    order: ordered,
    positions,
    cohorts,
    group_types: groupTypeNames(stored.group_types),
    off,
    filter_count: shared.size,
    pattern_instructions: shared.instructions,
    active_count: active.length,
    first_keys:
      active.length > FLAGS_EVALUATED_MAX
        ? active.slice(0, FLAGS_EVALUATED_MAX).map(({ flag }) => flag.key)
        : null,
    has_runtimes: flags.some(({ flag }) => flag.active && isOneRuntime(flag.evaluation_runtime)),
    decision_tables: tables,
    result_cache,
    uncovered: ordered.filter(({ flag, index }) => flag.active && !covered.has(index)),
  }
}

/** Whether this names one runtime; null and other words mean all. */
export function isOneRuntime(runtime: string | null): boolean {
  return runtime === 'client' || runtime === 'server'
}

/** The flags that a flag's condition sets depend on, as positions. */
export function dependenciesOf(plan: CompiledFlag['plan']): readonly number[] {
  return plan.kind === 'failed' ? [] : plan.depends_on
}

type FlagContext = { readonly context: FilterCompileContext; readonly cohorts: Cohorts }

function compileFlag(
  flag: StoredFlag,
  index: number,
  { context, cohorts }: FlagContext,
): CompiledFlag {
  try {
    const plan = planFlag(flag, context)
    for (const set of plan.sets) for (const filter of set.filters) requireCohort(filter, cohorts)
    return { index, flag, plan }
  } catch (error) {
    if (!(error instanceof FlagFailure)) throw error
    return { index, flag, plan: { kind: 'failed', result: failedResult(flag, error.code) } }
  }
}

/** Fails the flag if a cohort is broken. A missing cohort has no members. */
function requireCohort(filter: CompiledFilter, cohorts: Cohorts): void {
  const cohort = filter.kind === 'cohort' ? cohorts.get(filter.cohort_id) : undefined
  if (cohort?.kind === 'broken') throw new FlagFailure(cohort.code)
}

function failedFlag({ index, flag }: CompiledFlag, code: FailureCode): CompiledFlag {
  return { index, flag, plan: { kind: 'failed', result: failedResult(flag, code) } }
}

/** Whether an active flag is invalid. An inactive one is off, whatever its definition. */
function hasFailed(flag: CompiledFlag | undefined): boolean {
  return flag !== undefined && flag.flag.active && flag.plan.kind === 'failed'
}

/** References name flags by key, or by id if no flag has such a key. */
export function flagFinder(
  flags: readonly StoredFlag[],
  positions: ReadonlyMap<string, number>,
): FindFlag {
  const by_id = new Map(flags.map((flag, index) => [String(flag.id), index]))
  return (reference) => positions.get(reference) ?? by_id.get(reference) ?? null
}

function groupTypeNames(group_types: readonly GroupType[]): (string | null)[] {
  const names: (string | null)[] = []
  for (let index = 0; index < GROUP_TYPES_MAX; index += 1) {
    const type = group_types.find((candidate) => candidate.group_type_index === index)
    names.push(type?.group_type ?? null)
  }
  return names
}
