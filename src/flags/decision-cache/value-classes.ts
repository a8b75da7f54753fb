/** Value classes of one property: the values that all filters on it answer alike. */

import type { PropertyFilter } from '../filter.ts'
import { parseDateBound } from '../operators/date.ts'
import type { Work } from '../work.ts'
import { buildThresholds, type Thresholds } from './thresholds.ts'

/** A node of the tree by interval of each scale and answer of each other filter; a leaf has the number of its class. */
type ClassTreeNode = { readonly next: ClassTreeNode[]; number: number }

/** Classes of one property. With more of them persons have too little in common. */
const CLASSES_MAX = 256
/** Leaves of the tree: several may lead to one class. */
const LEAVES_MAX = 4 * CLASSES_MAX
/** Values in the cache of classes, and the longest of them. */
const CACHED_VALUES_MAX = 1000
const CACHED_CHARS_MAX = 100
/** If cached values are used fewer times than this on average, caching stops. */
const USES_PER_VALUE_MIN = 2

const UNNUMBERED = -1

/** The classes of one property, numbered in order of appearance. */
export class ValueClasses {
  readonly key: string
  /** Whether every object inherits a member of this name. */
  readonly is_inherited: boolean
  readonly #filters: readonly PropertyFilter[]
  readonly #scales: readonly Thresholds[]
  /** The filters without a scale. */
  readonly #others: readonly PropertyFilter[]
  /** The filters' answers by class. */
  readonly #answers: Uint8Array[] = []
  readonly #root: ClassTreeNode = newBranch()
  #leaves = 0
  /** The class of a missing property. */
  #missing_class: number | null = null
  readonly #by_value = new Map<unknown, number>()
  #caches_values: boolean
  #uses = 0
  #last_class = 0

  /** `filters`: all filters of one key and source; none of them can fail. */
  constructor(filters: readonly PropertyFilter[]) {
    this.key = filters[0]?.key ?? ''
    this.is_inherited = filters[0]?.is_inherited ?? false
    this.#filters = filters
    const { scales, others } = buildThresholds(filters)
    this.#scales = scales
    this.#others = others
    // Answers that depend on now are not cached.
    this.#caches_values = !filters.some(isTimed)
  }

  /** The class of a value; undefined is a missing property. Null when there are too many classes. */
  classOf(value: unknown, now: number, work: Work): number | null {
    const cached = this.#by_value.get(value)
    if (cached !== undefined) {
      this.#uses += 1
      this.#last_class = cached
      return cached
    }
    const number = this.#classify(value, now, work)
    if (number === null) return null
    this.#last_class = number
    if (this.#caches_values && isPlain(value)) this.#cacheValue(value, number)
    return number
  }

  /** Writes the filters' answers to the last value by slot: 1 for those that hold. */
  writeAnswers(by_slot: Uint8Array): void {
    const answers = this.#answers[this.#last_class]
    this.#filters.forEach(({ slot }, index) => {
      by_slot[slot] = answers?.[index] ?? 0
    })
  }

  #classify(value: unknown, now: number, work: Work): number | null {
    if (value === undefined) {
      this.#missing_class ??= this.#numberAnswers(({ matches_missing }) => matches_missing)
      return this.#missing_class
    }
    work.chargeReading(value)
    let branch = this.#root
    for (const scale of this.#scales) {
      branch = branch.next[scale.intervalOf(value, now)] ??= newBranch()
    }
    for (const filter of this.#others) {
      branch = branch.next[Number(filter.test(value, now, work))] ??= newBranch()
    }
    return branch.number === UNNUMBERED ? this.#numberLeaf(branch, value, now, work) : branch.number
  }

  #numberLeaf(leaf: ClassTreeNode, value: unknown, now: number, work: Work): number | null {
    this.#leaves += 1
    const number = this.#numberAnswers((filter) => filter.test(value, now, work))
    if (number === null || this.#leaves > LEAVES_MAX) return null
    leaf.number = number
    return number
  }

  /** The class with these answers; a new one if there is none. Null when there are too many. */
  #numberAnswers(answer: (filter: PropertyFilter) => boolean): number | null {
    const answers = Uint8Array.from(this.#filters, (filter) => Number(answer(filter)))
    const number = this.#answers.findIndex((others) => Buffer.compare(others, answers) === 0)
    if (number !== -1) return number
    return this.#answers.length === CLASSES_MAX ? null : this.#answers.push(answers) - 1
  }

  #cacheValue(value: unknown, number: number): void {
    if (this.#by_value.size === CACHED_VALUES_MAX) {
      this.#caches_values = this.#uses >= CACHED_VALUES_MAX * USES_PER_VALUE_MIN
      this.#by_value.clear()
      this.#uses = 0
      if (!this.#caches_values) return
    }
    this.#by_value.set(value, number)
  }
}

function newBranch(): ClassTreeNode {
  return { next: [], number: UNNUMBERED }
}

function isTimed({ operator, value }: PropertyFilter): boolean {
  return operator.startsWith('is_date') && parseDateBound(value)?.kind === 'relative'
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= CACHED_CHARS_MAX
  return typeof value !== 'object' || value === null
}
