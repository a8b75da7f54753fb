/**
 * Decision tables: the results of a project's flags for all persons whose properties answer its filters alike. See
 * README.md.
 */

import { type BucketKey, bucketKey } from '../bucket.ts'
import type { PropertyFilter } from '../filter.ts'
import { type FlagProperties, ownProperty } from '../operators/value.ts'
import type { ConditionSet, FlagPlan } from '../plan.ts'
import type { FlagResult, ResponseTexts } from '../result.ts'
import type { Work } from '../work.ts'
import { ValueClasses } from './value-classes.ts'

/** A compiled flag with its position in `CompiledFlags.flags`. */
type PlannedFlag = {
  readonly index: number
  readonly flag: { readonly active: boolean; readonly ensure_experience_continuity: boolean }
  readonly plan: FlagPlan | { readonly kind: 'failed' }
}

/** A condition set whose filters hold: it decides for buckets up to and including `threshold`. */
type RolloutStep = {
  readonly threshold: number
  /** Index of its first option: one option per variant, then the result without a variant. */
  readonly option: number
  /** Exclusive upper bounds of the variants' buckets; empty without variants to pick. */
  readonly variants: readonly number[]
}

/** A flag whose result depends on the person's bucket. */
export type OpenFlag = {
  readonly index: number
  readonly key: BucketKey
  readonly steps: readonly RolloutStep[]
  /** Its possible results. The first is for buckets beyond all steps. */
  readonly options: readonly [no_match: FlagResult, ...others: FlagResult[]]
}

/**
 * Consecutive flags, whose results one code byte encodes: the options of its open flags as a number with mixed radix.
 * The JSON of a group is cached by code: joining the texts of fifty flags costs more than computing their results.
 */
export type FlagGroup = {
  /** Positions of its flags, `end` exclusive. */
  readonly start: number
  readonly end: number
  readonly open: readonly OpenFlag[]
  readonly texts: (ResponseTexts | undefined)[]
}

/** Characters of text that may still be cached; the tables of a project share it. */
type TextBudget = { chars: number }

export type DecisionTable = {
  /** Results by position for flags that need no bucket; "off" for open flags, and for flags outside of the table. */
  readonly results: readonly FlagResult[]
  readonly flag_groups: readonly FlagGroup[]
  readonly budget: TextBudget
}

/** Tables of one project, and the results in all of them. */
const TABLES_MAX = 1024
const RESULTS_MAX = 500_000
/**
 * A table costs as much as several plain evaluations: if tables are used fewer times than this on average, none are
 * made.
 */
const USES_MIN = 4
/** Options of one flag: they fit into one byte. */
const OPTIONS_MAX = 256
/** Characters of text cached by the tables of a project. */
const TEXT_CHARS_MAX = 2_000_000

/** Filters of a project with tables: each new combination of properties is tested with all of them. */
const FILTERS_MAX = 5000

/** Codes of one group: few enough for most cached texts to be used again. */
const CODES_MAX = 64

/** The largest bucket. */
const FULL_ROLLOUT = 1

type DecisionTreeNode = { readonly next: DecisionTreeNode[]; decision_table: DecisionTable | null }

/**
 * A project's decision tables, in a tree by the value classes of the properties; built when a person first needs one.
 */
export class DecisionTables {
  /** The flags in the tables: those that depend only on person properties and the bucket of the distinct id. */
  readonly #covered: readonly { readonly index: number; readonly plan: FlagPlan }[]
  readonly #properties: readonly ValueClasses[]
  /** The classes of the values that `#findLeaf` was called with last, by property. */
  readonly #current_classes: Uint16Array
  readonly #off: readonly FlagResult[]
  readonly #slots: number
  readonly #tables_max: number
  #root: DecisionTreeNode = newBranch()
  #budget: TextBudget = { chars: TEXT_CHARS_MAX }
  #tables_made = 0
  #uses = 0
  #is_worthwhile = true

  /** `off` are the initial results, all flags off; `slots` is the number of property filters of the project. */
  constructor(flags: readonly PlannedFlag[], off: readonly FlagResult[], slots: number) {
    const candidates = slots > FILTERS_MAX ? [] : flags
    this.#covered = candidates.flatMap(({ index, flag, plan }) =>
      flag.active && plan.kind === 'plan' && isCoverable(flag, plan) ? { index, plan } : [],
    )
    const filters = new Set(this.#covered.flatMap(({ plan }) => filtersOf(plan)))
    const by_key = Map.groupBy(filters, ({ key }) => key)
    this.#properties = [...by_key.values()].map((group) => new ValueClasses(group))
    this.#current_classes = new Uint16Array(this.#properties.length)
    this.#off = off
    this.#slots = slots
    this.#tables_max = Math.min(TABLES_MAX, Math.floor(RESULTS_MAX / Math.max(1, off.length)))
  }

  /** Positions of the flags in the tables. */
  positions(): ReadonlySet<number> {
    return new Set(this.#covered.map(({ index }) => index))
  }

  /** The table of a person; null once persons have turned out too different for tables to pay off. */
  find(
    properties: FlagProperties,
    distinct_id: string,
    now: number,
    work: Work,
  ): DecisionTable | null {
    if (!this.#is_worthwhile || this.#covered.length === 0) return null
    const leaf = this.#findLeaf(properties, distinct_id, now, work)
    if (leaf === null) return this.#giveUp()
    this.#uses += 1
    if (leaf.decision_table !== null) return leaf.decision_table
    if (this.#tables_made < this.#tables_max) {
      this.#tables_made += 1
      leaf.decision_table = this.#buildTable()
      return leaf.decision_table
    }
    if (this.#uses < this.#tables_made * USES_MIN) return this.#giveUp()
    this.#dropTables()
    return this.find(properties, distinct_id, now, work)
  }

  /** The tree's leaf for these properties, made if there is none; null if a property has too many classes. */
  #findLeaf(
    properties: FlagProperties,
    distinct_id: string,
    now: number,
    work: Work,
  ): DecisionTreeNode | null {
    // First all classes: a value that is too long throws, and branches up to it would belong to no table.
    let index = 0
    for (const classes of this.#properties) {
      const { key } = classes
      let value = classes.is_inherited ? ownProperty(properties, key) : properties[key]
      // Every person has the property `distinct_id`, even without stored properties.
      if (value === undefined && key === 'distinct_id') value = distinct_id
      const number = classes.classOf(value, now, work)
      if (number === null) return null
      this.#current_classes[index] = number
      index += 1
    }
    let branch = this.#root
    for (const number of this.#current_classes) branch = branch.next[number] ??= newBranch()
    return branch
  }

  #giveUp(): null {
    this.#is_worthwhile = false
    this.#root = newBranch()
    return null
  }

  #dropTables(): void {
    this.#root = newBranch()
    this.#budget = { chars: TEXT_CHARS_MAX }
    this.#tables_made = 0
    this.#uses = 0
  }

  /** Builds a table for the values of the last `#findLeaf`, whose classes each `ValueClasses` has noted. */
  #buildTable(): DecisionTable {
    const answers = new Uint8Array(this.#slots)
    for (const classes of this.#properties) classes.writeAnswers(answers)
    const results = [...this.#off]
    const open: OpenFlag[] = []
    for (const { index, plan } of this.#covered) {
      const { steps, options } = stepsOf(plan, answers)
      const [no_match] = options
      const [first] = steps
      if (first === undefined) {
        results[index] = no_match
      } else if (first.threshold === FULL_ROLLOUT && first.variants.length === 0) {
        results[index] = options[first.option] ?? no_match
      } else {
        open.push({ index, key: bucketKey(no_match.flag.key), steps, options })
      }
    }
    return { results, flag_groups: groupFlags(open, results.length), budget: this.#budget }
  }
}

function newBranch(): DecisionTreeNode {
  return { next: [], decision_table: null }
}

/** Groups flags so that the codes of each group fit `CODES_MAX`. `open` has those without a result, by position. */
function groupFlags(open: readonly OpenFlag[], flag_count: number): readonly FlagGroup[] {
  const flag_groups: FlagGroup[] = []
  let start = 0
  let group: OpenFlag[] = []
  let codes = 1
  for (const flag of open) {
    const { length } = flag.options
    if (group.length > 0 && codes * length > CODES_MAX) {
      flag_groups.push({ start, end: flag.index, open: group, texts: [] })
      start = flag.index
      group = []
      codes = 1
    }
    group.push(flag)
    codes *= length
  }
  return [...flag_groups, { start, end: flag_count, open: group, texts: [] }]
}

/**
 * Whether a flag can be in a table: no groups, device ids, continuity, holdouts, early access, cohorts or dependencies.
 * Regular expressions stay outside too: a new table tests every filter, the plain way only those that it reaches, and
 * patterns cost more than all other filters together.
 */
function isCoverable(flag: PlannedFlag['flag'], plan: FlagPlan): boolean {
  return (
    plan.aggregation === null &&
    plan.is_uniform &&
    !plan.is_by_device &&
    !flag.ensure_experience_continuity &&
    plan.holdout === null &&
    plan.super_set === null &&
    optionCount(plan) <= OPTIONS_MAX &&
    plan.sets.every(({ filters }) =>
      filters.every(
        (filter) =>
          filter.kind === 'property' &&
          filter.source === 'person' &&
          !filter.operator.endsWith('regex'),
      ),
    )
  )
}

function optionCount({ sets }: FlagPlan): number {
  return sets.reduce((count, { variants }) => count + variants.length + 1, 1)
}

function filtersOf(plan: FlagPlan): readonly PropertyFilter[] {
  return plan.sets.flatMap(({ filters }) =>
    filters.flatMap((filter) => (filter.kind === 'property' ? filter : [])),
  )
}

/** The condition sets that hold, in stored order up to the first with a full rollout, and their possible results. */
function stepsOf(plan: FlagPlan, answers: Uint8Array): Pick<OpenFlag, 'options' | 'steps'> {
  const steps: RolloutStep[] = []
  const options: FlagResult[] = []
  let no_match = plan.sets.at(-1)?.no_match ?? plan.no_match
  for (const set of plan.sets) {
    if (!holds(set, answers)) continue
    const threshold = Math.min(set.threshold ?? FULL_ROLLOUT, FULL_ROLLOUT)
    const variants = set.variants.map(({ until }) => until)
    steps.push({ threshold, option: 1 + options.length, variants })
    options.push(...set.variants.map(({ result }) => result), set.match)
    // Out of a rollout is a stronger reason than no match, and of equal reasons the last one is reported.
    no_match = set.out_of_rollout
    if (threshold === FULL_ROLLOUT || plan.is_early_exit) break
  }
  return { steps, options: [no_match, ...options] }
}

function holds({ filters }: ConditionSet, answers: Uint8Array): boolean {
  return filters.every((filter) => filter.kind === 'property' && answers[filter.slot] === 1)
}
