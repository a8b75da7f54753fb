/** One property and all filters that ask about it: values which all of them answer alike are one class. */
import { parseDateBound } from './date.ts'
import type { PropertyFilter } from './filter.ts'

/** A class is found answer by answer; the last branch has its number. */
type Branch = { yes: Branch | null; no: Branch | null; number: number }

/** More classes than this, and people have little in common. */
const CLASSES_MAX = 256
/** Values whose class is remembered, and the longest of them. */
const VALUES_MAX = 1000
const VALUE_CHARS_MAX = 100
/** Values that do not come back are not worth remembering. */
const USES_MIN = 2

const UNNUMBERED = -1

/** The classes of one property's values, numbered as they come. */
export class AnswerClasses {
  readonly key: string
  /** The key is one that every object inherits. */
  readonly is_inherited: boolean
  readonly #filters: readonly PropertyFilter[]
  /** Per class: the filters' answers. */
  readonly #answers: Uint8Array[] = []
  readonly #root: Branch = newBranch()
  readonly #by_value = new Map<unknown, number>()
  #remembers: boolean
  #uses = 0
  #last = 0

  /** `filters`: all of one key and source, none of which can fail. */
  constructor(filters: readonly PropertyFilter[]) {
    this.key = filters[0]?.key ?? ''
    this.is_inherited = filters[0]?.is_inherited ?? false
    this.#filters = filters
    // An answer that changes with time is worked out each time.
    this.#remembers = !filters.some(isTimed)
  }

  /** The number of a value's class; undefined stands for a property that is not there. Null when there are too many. */
  numberOf(value: unknown, now: number): number | null {
    const known = this.#by_value.get(value)
    if (known !== undefined) {
      this.#uses += 1
      this.#last = known
      return known
    }
    const number = this.#judge(value, now)
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

  #judge(value: unknown, now: number): number | null {
    let branch = this.#root
    for (const filter of this.#filters) {
      const answer = value === undefined ? filter.if_missing : filter.test(value, now)
      branch = answer ? (branch.yes ??= newBranch()) : (branch.no ??= newBranch())
    }
    if (branch.number !== UNNUMBERED) return branch.number
    if (this.#answers.length === CLASSES_MAX) return null
    branch.number = this.#answers.length
    this.#answers.push(
      Uint8Array.from(this.#filters, (filter) =>
        Number(value === undefined ? filter.if_missing : filter.test(value, now)),
      ),
    )
    return branch.number
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

function newBranch(): Branch {
  return { yes: null, no: null, number: UNNUMBERED }
}

function isTimed({ operator, value }: PropertyFilter): boolean {
  return operator.startsWith('is_date') && parseDateBound(value)?.kind === 'relative'
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= VALUE_CHARS_MAX
  return typeof value !== 'object' || value === null
}
