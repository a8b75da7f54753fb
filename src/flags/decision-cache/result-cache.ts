/** What people were answered lately: whoever asks once asks again, with every page they open. */
import type { DecisionTable } from './decision-table.ts'

/** What a person got of an outline; it holds as long as they have this outline. */
type CachedDecision = { readonly decision_table: DecisionTable; readonly outcome_codes: string }

/** Kept over all projects, about; twice as much at most. Some 60,000 people. */
const BYTES_MAX = 12_000_000
/** What a person takes besides their letters and those of the identifier. */
const PERSON_BYTES = 180
/** Who has asked before is known by a mark in a place; the few who share one only take room. A power of two. */
const PLACES = 2 ** 19
/** So many marks, and all are taken away. */
const MARKS_MAX = 2 ** 17

/**
 * Letters by identifier. What was asked for since the generation before last is kept: two maps take turns, so that
 * nothing has to be counted or moved when room is needed.
 */
export class ResultCache {
  #young = new Map<string, CachedDecision>()
  #old = new Map<string, CachedDecision>()
  #young_bytes = 0
  /** Made with the first person: who has no flags needs none. */
  #marks = new Uint8Array(0)
  #marks_made = 0

  /** The letters of a person who has this outline still; null when they are not known. */
  find(identifier: string, table: DecisionTable): string | null {
    const young = this.#young.get(identifier)
    if (young !== undefined) return young.decision_table === table ? young.outcome_codes : null
    const old = this.#old.get(identifier)
    if (old?.decision_table !== table) return null
    this.#put(identifier, old)
    return old.outcome_codes
  }

  /**
   * Takes the place of what was known under this identifier, from the second time on that it is asked for: people who
   * do not come back would cost more to keep, and to collect, than all others gain.
   */
  keep(identifier: string, table: DecisionTable, codes: string): void {
    if (this.#hasAsked(identifier))
      this.#put(identifier, { decision_table: table, outcome_codes: codes })
  }

  #hasAsked(identifier: string): boolean {
    if (this.#marks.length === 0) this.#marks = new Uint8Array(PLACES)
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

  #put(identifier: string, remembered: CachedDecision): void {
    if (this.#young_bytes >= BYTES_MAX) {
      this.#old = this.#young
      this.#young = new Map()
      this.#young_bytes = 0
    }
    this.#young.set(identifier, remembered)
    this.#young_bytes += PERSON_BYTES + identifier.length + remembered.outcome_codes.length
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
