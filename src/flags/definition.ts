/** Reads a project's stored flags once into the form that evaluation walks. */
import { type Cohorts, compileCohorts } from './cohort.ts'
import { orderByDependency } from './dependency.ts'
import { FlagFailure } from './failure.ts'
import type { FilterContext, FindFlag, SharedFilters } from './filter.ts'
import { type FlagPlan, planFlag } from './plan.ts'
import { type FlagResult, failedResult, offResult, reasonOf } from './result.ts'
import type { GroupType, StoredDefinitions, StoredFlag } from './stored.ts'

export type CompiledFlag = {
  /** Position in `Definitions.flags`. */
  readonly index: number
  readonly flag: StoredFlag
  readonly plan: FlagPlan | FailedPlan
}

/** A flag whose definition cannot be used: this is its result for everybody. */
export type FailedPlan = { readonly kind: 'failed'; readonly result: FlagResult }

/** A project's flags, compiled: made once per change of the definitions, shared by all evaluations. */
export type Definitions = {
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
}

const GROUP_TYPES_MAX = 5

/** Compiles everything a project has. Damaged flags do not throw: they come out with a plan that fails. */
export function compileDefinitions(stored: StoredDefinitions): Definitions {
  const present = stored.flags.filter((flag) => !flag.deleted)
  const positions = new Map(present.map((flag, index) => [flag.key, index]))
  const shared: SharedFilters = new Map()
  const findFlag = flagFinder(present, positions)
  const context: FilterContext = { source: 'person', findFlag, shared }
  const planned = present.map((flag, index) => compileFlag(flag, index, context))
  const { order, depth } = orderByDependency(
    // A flag that is not active asks nobody: it is off.
    planned.map(({ flag, plan }) => (flag.active ? dependenciesOf(plan) : [])),
  )
  const flags = planned.map((flag) => ((depth[flag.index] ?? 0) < 0 ? inCycle(flag) : flag))
  const failed = flags.filter((flag) => flag.plan.kind === 'failed')
  const placed = order.flatMap((index) => flags[index] ?? [])
  const cohorts = compileCohorts(stored.cohorts, shared)
  return {
    flags,
    order: [...failed, ...placed.filter((flag) => flag.plan.kind !== 'failed')],
    positions,
    cohorts,
    group_types: groupTypeNames(stored.group_types),
    off: flags.map(({ flag }) => offResult(flag, reasonOf('flag_disabled', null))),
    filter_count: shared.size,
  }
}

/** The flags a flag's condition sets ask about, as positions. */
export function dependenciesOf(plan: CompiledFlag['plan']): readonly number[] {
  return plan.kind === 'failed' ? [] : plan.depends_on
}

function compileFlag(flag: StoredFlag, index: number, context: FilterContext): CompiledFlag {
  try {
    return { index, flag, plan: planFlag(flag, context) }
  } catch (error) {
    if (!(error instanceof FlagFailure)) throw error
    const result = failedResult(flag, error.code)
    return { index, flag, plan: { kind: 'failed', result } }
  }
}

/** Flags are named by key; by id where no key of that spelling exists. */
function flagFinder(
  flags: readonly StoredFlag[],
  positions: ReadonlyMap<string, number>,
): FindFlag {
  const by_id = new Map(flags.map((flag, index) => [String(flag.id), index]))
  return (reference) => positions.get(reference) ?? by_id.get(reference) ?? null
}

function inCycle(flag: CompiledFlag): CompiledFlag {
  const result = failedResult(flag.flag, 'dependency_cycle')
  return { ...flag, plan: { kind: 'failed', result } }
}

function groupTypeNames(group_types: readonly GroupType[]): (string | null)[] {
  const names: (string | null)[] = []
  for (let index = 0; index < GROUP_TYPES_MAX; index += 1) {
    const type = group_types.find((candidate) => candidate.group_type_index === index)
    names.push(type?.group_type ?? null)
  }
  return names
}
