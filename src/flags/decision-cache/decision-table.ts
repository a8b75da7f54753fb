/** What a project's flags come to for everybody whose properties answer the filters alike: only buckets are left to look at. */

import { type BucketKey, bucketKey } from '../bucket.ts'
import type { PropertyFilter } from '../filter.ts'
import type { ConditionSet, FlagPlan } from '../plan.ts'
import type { FlagResult, ResponseTexts } from '../result.ts'
import { type FlagProperties, ownProperty } from '../value.ts'
import type { Work } from '../work.ts'
import { ValueClasses } from './value-classes.ts'

/** A flag with its place, as `Definitions.flags` has it. */
type PlannedFlag = {
  readonly index: number
  readonly flag: { readonly active: boolean; readonly ensure_experience_continuity: boolean }
  readonly plan: FlagPlan | { readonly kind: 'failed' }
}

/** A set whose filters hold: it decides for buckets up to and including `threshold`. */
export type RolloutStep = {
  readonly threshold: number
  /** Where its options begin: one per variant, and behind them what is without a variant. */
  readonly option: number
  /** Up to where, without it, each variant takes the buckets; empty where there is none to pick. */
  readonly variants: readonly number[]
}

/** A flag that still needs a bucket. */
export type OpenFlag = {
  readonly index: number
  readonly key: BucketKey
  readonly steps: readonly RolloutStep[]
  /** What it may come to. The first is for buckets beyond all steps. */
  readonly options: readonly FlagResult[]
}

/**
 * Flags that stand together and are told together: one letter says what all of its open flags came to, and texts are
 * kept by letter. Putting fifty texts together costs more than finding out which.
 */
export type FlagGroup = {
  /** The positions of its flags, from `start` up to `end`. */
  readonly start: number
  readonly end: number
  readonly open: readonly OpenFlag[]
  readonly texts: (ResponseTexts | undefined)[]
}

/** What may still be kept of texts, in characters: one project's outlines share it. */
export type TextBudget = { chars: number }

export type DecisionTable = {
  /** By position: what holds whatever the bucket. Of flags that are open or not outlined, the flag off. */
  readonly results: readonly FlagResult[]
  readonly flag_groups: readonly FlagGroup[]
  readonly budget: TextBudget
}

/** Outlines of one project kept at a time, and how many results they may hold together. */
const OUTLINES_MAX = 1024
const RESULTS_MAX = 500_000
/** An outline costs what several plain evaluations cost: where few are found again, none are made. */
const USES_MIN = 4
/** What one flag may come to is remembered as one letter. */
const OPTIONS_MAX = 256
/** Texts kept for all of a project's outlines together, in characters. */
const TEXT_CHARS_MAX = 2_000_000

/** Filters that outlines answer: each new combination of properties is held against all of them. */
const FILTERS_MAX = 5000

/** How much one letter may say: few enough for most texts to be needed again. */
const LETTERS_MAX = 64

/** Nobody's bucket is above this. */
const EVERYBODY = 1

type DecisionTreeNode = { readonly next: DecisionTreeNode[]; decision_table: DecisionTable | null }

/** A project's outlines: made as people come, by how their properties answer. */
export class DecisionTables {
  /** The flags that outlines tell of: they ask about properties of the person and cut by the distinct id, nothing else. */
  readonly #outlined: readonly { readonly index: number; readonly plan: FlagPlan }[]
  readonly #questions: readonly ValueClasses[]
  readonly #off: readonly FlagResult[]
  readonly #slots: number
  readonly #outlines_max: number
  #root: DecisionTreeNode = newBranch()
  #budget: TextBudget = { chars: TEXT_CHARS_MAX }
  #made = 0
  #uses = 0
  #is_worthwhile = true

  /** `off` is what everybody's results start as, `slots` how many property filters the project has. */
  constructor(flags: readonly PlannedFlag[], off: readonly FlagResult[], slots: number) {
    const offered = slots > FILTERS_MAX ? [] : flags
    this.#outlined = offered.flatMap(({ index, flag, plan }) =>
      flag.active && plan.kind === 'plan' && isOutlined(flag, plan) ? { index, plan } : [],
    )
    const filters = new Set(this.#outlined.flatMap(({ plan }) => filtersOf(plan)))
    const by_key = Map.groupBy(filters, ({ key }) => key)
    this.#questions = [...by_key.values()].map((group) => new ValueClasses(group))
    this.#off = off
    this.#slots = slots
    this.#outlines_max = Math.min(OUTLINES_MAX, Math.floor(RESULTS_MAX / Math.max(1, off.length)))
  }

  /** The positions that outlines tell of. */
  positions(): ReadonlySet<number> {
    return new Set(this.#outlined.map(({ index }) => index))
  }

  /** The outline for a person; null where people differ too much for outlines to be of use. */
  find(
    properties: FlagProperties,
    distinct_id: string,
    now: number,
    work: Work,
  ): DecisionTable | null {
    if (!this.#is_worthwhile || this.#outlined.length === 0) return null
    let branch = this.#root
    for (const question of this.#questions) {
      const { key } = question
      let value = question.is_inherited ? ownProperty(properties, key) : properties[key]
      // Whoever is evaluated has a distinct id, also where nothing else is known.
      if (value === undefined && key === 'distinct_id') value = distinct_id
      const number = question.numberOf(value, now, work)
      if (number === null) return this.#giveUp()
      branch = branch.next[number] ??= newBranch()
    }
    this.#uses += 1
    return (
      branch.decision_table ??
      this.#keep(branch, () => this.find(properties, distinct_id, now, work))
    )
  }

  #giveUp(): null {
    this.#is_worthwhile = false
    this.#root = newBranch()
    return null
  }

  /** `findAgain` starts over where the outlines kept so far had to go. */
  #keep(branch: DecisionTreeNode, findAgain: () => DecisionTable | null): DecisionTable | null {
    if (this.#made >= this.#outlines_max) {
      if (this.#uses < this.#made * USES_MIN) return this.#giveUp()
      this.#root = newBranch()
      this.#budget = { chars: TEXT_CHARS_MAX }
      this.#made = 0
      this.#uses = 0
      return findAgain()
    }
    this.#made += 1
    branch.decision_table = this.#draw()
    return branch.decision_table
  }

  /** From the answers that were just given. */
  #draw(): DecisionTable {
    const answers = new Uint8Array(this.#slots)
    for (const question of this.#questions) question.writeAnswers(answers)
    const results = [...this.#off]
    const open: OpenFlag[] = []
    for (const { index, plan } of this.#outlined) {
      const { steps, options } = stepsOf(plan, answers)
      const [first] = steps
      const is_settled = first?.threshold === EVERYBODY && first.variants.length === 0
      const settled = options[is_settled ? first.option : 0]
      if (settled === undefined) continue
      results[index] = settled
      if (first === undefined || is_settled) continue
      open.push({ index, key: bucketKey(settled.flag.key), steps, options })
    }
    return { results, flag_groups: groupFlags(open, results.length), budget: this.#budget }
  }
}

function newBranch(): DecisionTreeNode {
  return { next: [], decision_table: null }
}

/** Cuts the flags into chunks; `open` are those without a result, in their order. */
export function groupFlags(open: readonly OpenFlag[], flag_count: number): readonly FlagGroup[] {
  const flag_groups: FlagGroup[] = []
  let start = 0
  let together: OpenFlag[] = []
  let codes = 1
  for (const flag of open) {
    const { length } = flag.options
    if (together.length > 0 && codes * length > LETTERS_MAX) {
      flag_groups.push({ start, end: flag.index, open: together, texts: [] })
      start = flag.index
      together = []
      codes = 1
    }
    together.push(flag)
    codes *= length
  }
  return [...flag_groups, { start, end: flag_count, open: together, texts: [] }]
}

/** Patterns are left to those who come to them: they cost more than all other filters together. */
function isOutlined(flag: PlannedFlag['flag'], plan: FlagPlan): boolean {
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

/** The sets that may decide, in stored order up to the one that lets everybody in, and what they may come to. */
function stepsOf(plan: FlagPlan, answers: Uint8Array): Pick<OpenFlag, 'options' | 'steps'> {
  const steps: RolloutStep[] = []
  const options: FlagResult[] = []
  let otherwise = plan.sets.at(-1)?.no_match ?? plan.no_match
  for (const set of plan.sets) {
    if (!holds(set, answers)) continue
    const threshold = Math.min(set.threshold ?? EVERYBODY, EVERYBODY)
    const variants = set.variants.map(({ until }) => until)
    steps.push({ threshold, option: 1 + options.length, variants })
    options.push(...set.variants.map(({ result }) => result), set.match)
    // Being out of a rollout is a stronger reason than not matching, and of equal ones the later is told.
    otherwise = set.out_of_rollout
    if (threshold === EVERYBODY || plan.is_early_exit) break
  }
  return { steps, options: [otherwise, ...options] }
}

function holds({ filters }: ConditionSet, answers: Uint8Array): boolean {
  return filters.every((filter) => filter.kind === 'property' && answers[filter.slot] === 1)
}
