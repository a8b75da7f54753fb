/** One property and all filters that ask about it: values which all of them answer alike are one class. */
import { parseDateBound } from '../date.ts'
import type { PropertyFilter } from '../filter.ts'
import type { Work } from '../work.ts'
import { buildThresholds, type Thresholds } from './thresholds.ts'

/** A class is found place by place and answer by answer; the last branch has its number. */
type ClassTreeNode = { readonly next: ClassTreeNode[]; number: number }

/** More classes than this, and people have little in common. */
const CLASSES_MAX = 256
/** Several ways may lead to one class. */
const ENDS_MAX = 4 * CLASSES_MAX
/** Values whose class is remembered, and the longest of them. */
const VALUES_MAX = 1000
const VALUE_CHARS_MAX = 100
/** Values that do not come back are not worth remembering. */
const USES_MIN = 2

const UNNUMBERED = -1

/** The classes of one property's values, numbered as they come. */
export class ValueClasses {
  readonly key: string
  /** The key is one that every object inherits. */
  readonly is_inherited: boolean
  readonly #filters: readonly PropertyFilter[]
  readonly #scales: readonly Thresholds[]
  /** The filters that no scale answers. */
  readonly #others: readonly PropertyFilter[]
  /** Per class: the filters' answers. */
  readonly #answers: Uint8Array[] = []
  readonly #root: ClassTreeNode = newBranch()
  #ends = 0
  /** The class of a property that is not there. */
  #missing: number | null = null
  readonly #by_value = new Map<unknown, number>()
  #remembers: boolean
  #uses = 0
  #last = 0

  /** `filters`: all of one key and source, none of which can fail. */
  constructor(filters: readonly PropertyFilter[]) {
    this.key = filters[0]?.key ?? ''
    this.is_inherited = filters[0]?.is_inherited ?? false
    this.#filters = filters
    const { scales, others } = buildThresholds(filters)
    this.#scales = scales
    this.#others = others
    // An answer that changes with time is worked out each time.
    this.#remembers = !filters.some(isTimed)
  }

  /** The number of a value's class; undefined stands for a property that is not there. Null when there are too many. */
  numberOf(value: unknown, now: number, work: Work): number | null {
    const known = this.#by_value.get(value)
    if (known !== undefined) {
      this.#uses += 1
      this.#last = known
      return known
    }
    const number = this.#judge(value, now, work)
    if (number === null) return null
    this.#last = number
    if (this.#remembers && isPlain(value)) this.#remember(value, number)
    return number
  }

  /** Notes what the filters answered to the last value: by slot, 1 for those that hold. */
  writeAnswers(by_slot: Uint8Array): void {
    const answers = this.#answers[this.#last]
    this.#filters.forEach(({ slot }, index) => {
      by_slot[slot] = answers?.[index] ?? 0
    })
  }

  #judge(value: unknown, now: number, work: Work): number | null {
    if (value === undefined) {
      this.#missing ??= this.#numberAnswers(({ if_missing }) => if_missing)
      return this.#missing
    }
    work.chargeReading(value)
    let branch = this.#root
    for (const scale of this.#scales) {
      branch = branch.next[scale.placeOf(value, now)] ??= newBranch()
    }
    for (const filter of this.#others) {
      branch = branch.next[Number(filter.test(value, now, work))] ??= newBranch()
    }
    if (branch.number !== UNNUMBERED) return branch.number
    this.#ends += 1
    const number = this.#numberAnswers((filter) => filter.test(value, now, work))
    if (number === null || this.#ends > ENDS_MAX) return null
    branch.number = number
    return number
  }

  /** The class of these answers, a new one where it is the first of its kind. Null when there are too many. */
  #numberAnswers(answer: (filter: PropertyFilter) => boolean): number | null {
    const answers = Uint8Array.from(this.#filters, (filter) => Number(answer(filter)))
    const known = this.#answers.findIndex((others) => Buffer.compare(others, answers) === 0)
    if (known !== -1) return known
    return this.#answers.length === CLASSES_MAX ? null : this.#answers.push(answers) - 1
  }

  #remember(value: unknown, number: number): void {
    if (this.#by_value.size === VALUES_MAX) {
      this.#remembers = this.#uses >= VALUES_MAX * USES_MIN
      this.#by_value.clear()
      this.#uses = 0
      if (!this.#remembers) return
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
  if (typeof value === 'string') return value.length <= VALUE_CHARS_MAX
  return typeof value !== 'object' || value === null
}
