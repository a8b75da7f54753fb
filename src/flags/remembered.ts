/** What people were answered lately: whoever asks once asks again, with every page they open. */
import type { Evaluation } from './evaluate.ts'
import type { Outline } from './outline.ts'

/** A person's evaluation, which holds as long as they have this outline. */
type Remembered = { readonly outline: Outline; readonly evaluation: Evaluation }

/** Flag results kept, over all projects, some 10 MB; twice as many at most. */
const RESULTS_MAX = 350_000
/** What a person takes besides their results, counted in results. */
const PERSON_COSTS = 20
/** Who has asked before is known by a mark in a place; the few who share one only take room. A power of two. */
const PLACES = 2 ** 17
/** So many marks, and all are taken away. */
const MARKS_MAX = 2 ** 15

/**
 * Evaluations by identifier. What was asked for since the generation before last is kept: two maps take turns, so that
 * nothing has to be counted or moved when room is needed.
 */
export class RememberedEvaluations {
  #young = new Map<string, Remembered>()
  #old = new Map<string, Remembered>()
  #young_results = 0
  readonly #marks = new Uint8Array(PLACES)
  #marks_made = 0

  /** The evaluation of a person who has this outline still; null when there is none. */
  find(identifier: string, outline: Outline): Evaluation | null {
    const young = this.#young.get(identifier)
    if (young !== undefined) return young.outline === outline ? young.evaluation : null
    const old = this.#old.get(identifier)
    if (old?.outline !== outline) return null
    this.#put(identifier, old)
    return old.evaluation
  }

  /**
   * Takes the place of what was known under this identifier, from the second time on that it is asked for: people who
   * do not come back would cost more to keep, and to collect, than all others gain.
   */
  keep(identifier: string, outline: Outline, evaluation: Evaluation): void {
    if (this.#hasAsked(identifier)) this.#put(identifier, { outline, evaluation })
  }

  #hasAsked(identifier: string): boolean {
    const place = placeOf(identifier)
    if (this.#marks[place] === 1) return true
    if (this.#marks_made === MARKS_MAX) {
      this.#marks.fill(0)
      this.#marks_made = 0
    }
    this.#marks[place] = 1
    this.#marks_made += 1
    return false
  }

  #put(identifier: string, remembered: Remembered): void {
    if (this.#young_results >= RESULTS_MAX) {
      this.#old = this.#young
      this.#young = new Map()
      this.#young_results = 0
    }
    this.#young.set(identifier, remembered)
    this.#young_results += remembered.evaluation.results.length + PERSON_COSTS
  }
}

/** By FNV-1a. */
function placeOf(identifier: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < identifier.length; index += 1) {
    hash = Math.imul(hash ^ identifier.charCodeAt(index), 0x01000193)
  }
  // Its lower bits alone are the poorer ones.
  return (hash ^ (hash >>> 15)) & (PLACES - 1)
}
