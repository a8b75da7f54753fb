/** Reads a project's stored flags once into the form that evaluation walks. */
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
  /** Position in `Definitions.flags`. */
  readonly index: number
  readonly flag: StoredFlag
  readonly plan: FlagPlan | FailedPlan
}

/** A flag whose definition cannot be used: this is its result for everybody. */
export type FailedPlan = { readonly kind: 'failed'; readonly result: FlagResult }

/** A project's flags, compiled: made once per change of the definitions, shared by all evaluations. */
export type CompiledFlags = {
  readonly stored: StoredDefinitions
  /** In stored order, without deleted flags. */
  readonly flags: readonly CompiledFlag[]
  /** The same flags, each after those it depends on. */
  readonly order: readonly CompiledFlag[]
  /** Positions by key. */
  readonly positions: ReadonlyMap<string, number>
  readonly cohorts: Cohorts
  /** Group type names by index. */
  readonly group_types: readonly (string | null)[]
  /** What everybody's results start as: all flags off. By position. */
  readonly off: readonly FlagResult[]
  /** How many different property filters there are. */
  readonly filter_count: number
  /** Instructions of all patterns together. */
  readonly pattern_instructions: number
  /** How many flags are active. */
  readonly active_count: number
  /** What is found out about people who answer alike; without it every flag is evaluated by itself. */
  readonly decision_tables: DecisionTables | null
  /** Shared by projects: outlines, which it knows answers by, are each project's own. */
  readonly remembered: ResultCache | null
  /** The active flags that outlines do not tell of, each after those it depends on. */
  readonly not_outlined: readonly CompiledFlag[]
}

const GROUP_TYPES_MAX = 5

/**
 * Compiles everything a project has. Damaged flags do not throw: they come out with a plan that fails. Given where,
 * evaluations are remembered.
 */
export function compileDefinitions(
  stored: StoredDefinitions,
  remembered: ResultCache | null = null,
): CompiledFlags {
  const steps = compileInSteps(stored, remembered)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** The same, with a pause offered after each flag and cohort: a project of thousands takes a tenth of a second. */
export function* compileInSteps(
  stored: StoredDefinitions,
  remembered: ResultCache | null,
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
    // A flag that is not active asks nobody: it is off.
    planned.map(({ flag, plan }) => (flag.active ? dependenciesOf(plan) : [])),
  )
  const flags = planned.map((flag) =>
    (depth[flag.index] ?? 0) < 0 ? failedFlag(flag, 'dependency_cycle') : flag,
  )
  // Dependencies come first, so a fault spreads to all who ask, directly or not.
  for (const index of order) {
    const flag = flags[index]
    if (flag?.flag.active && dependenciesOf(flag.plan).some((other) => hasFailed(flags[other]))) {
      flags[index] = failedFlag(flag, 'missing_dependency')
    }
  }
  // Those in cycles come last: nobody asks about them who has not failed already.
  const ordered = [...new Set([...order, ...flags.keys()])].flatMap((index) => flags[index] ?? [])
  const off = flags.map(({ flag }) => offResult(flag, reasonOf('flag_disabled', null)))
  yield
  const tables = new DecisionTables(flags, off, shared.size)
  yield
  const outlined = tables.positions()
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
    active_count: flags.filter(({ flag }) => flag.active).length,
    decision_tables: tables,
    remembered,
    not_outlined: ordered.filter(({ flag, index }) => flag.active && !outlined.has(index)),
  }
}

/** The flags a flag's condition sets ask about, as positions. */
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

/** A cohort that is not there has no members; one that cannot be worked out fails the flag. */
function requireCohort(filter: CompiledFilter, cohorts: Cohorts): void {
  const cohort = filter.kind === 'cohort' ? cohorts.get(filter.cohort_id) : undefined
  if (cohort?.kind === 'broken') throw new FlagFailure(cohort.code)
}

function failedFlag({ index, flag }: CompiledFlag, code: FailureCode): CompiledFlag {
  return { index, flag, plan: { kind: 'failed', result: failedResult(flag, code) } }
}

/** A flag that is not active has not failed, whatever its definition: it is off. */
function hasFailed(flag: CompiledFlag | undefined): boolean {
  return flag !== undefined && flag.flag.active && flag.plan.kind === 'failed'
}

/** Flags are named by key; by id where no key of that spelling exists. */
function flagFinder(
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
