/** A cache of recent outcomes per identifier. SDKs evaluate flags on every page view, so the same persons come back. */
import type { DecisionTable } from './decision-table.ts'

/** A person's outcome in a table; valid while the person's properties lead to the same table. */
type CachedDecision = { readonly decision_table: DecisionTable; readonly outcome_codes: string }

/** Bytes of one generation, estimated, over all projects; two are in memory. About 60,000 persons. */
const GENERATION_BYTES_MAX = 12_000_000
/** Bytes of an entry beside its codes and its identifier. */
const ENTRY_BYTES = 180
/** Slots of the filter of identifiers seen once; a collision only admits an entry too early. A power of two. */
const SEEN_SLOTS = 2 ** 19
/** The filter is cleared after this many marks. */
const SEEN_MAX = 2 ** 17

/**
 * Outcome codes by identifier, with generational eviction: a full young map becomes the old one, whose previous content
 * is dropped; a hit in the old map moves to the young one. No entry is touched to make room.
 */
export class ResultCache {
  #young = new Map<string, CachedDecision>()
  #old = new Map<string, CachedDecision>()
  #young_bytes = 0
  /** Allocated with the first person. */
  #seen = new Uint8Array(0)
  #seen_count = 0

  /** The codes of a person whose table is still this one; null on a miss. */
  find(identifier: string, table: DecisionTable): string | null {
    const young = this.#young.get(identifier)
    if (young !== undefined) return young.decision_table === table ? young.outcome_codes : null
    const old = this.#old.get(identifier)
    if (old?.decision_table !== table) return null
    this.#put(identifier, old)
    return old.outcome_codes
  }

  /**
   * Stores a person's codes from the second request on. Persons that never come back would cost more, in memory and
   * garbage collection, than the cache gains.
   */
  keep(identifier: string, table: DecisionTable, codes: string): void {
    if (this.#markSeen(identifier))
      this.#put(identifier, { decision_table: table, outcome_codes: codes })
  }

  #markSeen(identifier: string): boolean {
    if (this.#seen.length === 0) this.#seen = new Uint8Array(SEEN_SLOTS)
    const slot = slotOf(identifier)
    if (this.#seen[slot] === 1) return true
    if (this.#seen_count === SEEN_MAX) {
      this.#seen.fill(0)
      this.#seen_count = 0
    }
    this.#seen[slot] = 1
    this.#seen_count += 1
    return false
  }

  #put(identifier: string, decision: CachedDecision): void {
    if (this.#young_bytes >= GENERATION_BYTES_MAX) {
      this.#old = this.#young
      this.#young = new Map()
      this.#young_bytes = 0
    }
    this.#young.set(identifier, decision)
    this.#young_bytes += ENTRY_BYTES + identifier.length + decision.outcome_codes.length
  }
}

/** FNV-1a, folded to the number of slots. */
function slotOf(identifier: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < identifier.length; index += 1) {
    hash = Math.imul(hash ^ identifier.charCodeAt(index), 0x01000193)
  }
  // The lower bits of FNV-1a alone are poorly distributed.
  return (hash ^ (hash >>> 15)) & (SEEN_SLOTS - 1)
}
