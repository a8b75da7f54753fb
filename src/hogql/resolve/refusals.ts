/** Refusals of the resolver, with the source span and a suggested name. */

import { Refusal } from '../../errors.ts'
import type { SourceSpan } from '../syntax/ast.ts'

/** A refusal with the source span of a node. */
export function refuse(detail: string, at: SourceSpan): Refusal {
  const span = { start: at.start, end: at.end }
  return at.end > at.start
    ? new Refusal('invalid_input', detail, { attr: 'query', span })
    : new Refusal('invalid_input', detail, { attr: 'query' })
}

/** ` Perhaps you meant …` for a refusal; empty when no known name is near. */
export function suggestName(wrong: string, names: Iterable<string>): string {
  const nearest = nearestName(wrong, names)
  return nearest === null ? '' : `. Perhaps you meant '${nearest}'?`
}

/**
 * The nearest known name by edit distance; null when none is near. Names are compared until the work is used up: a project may
 * have 20,000 cohorts.
 */
export function nearestName(wrong: string, names: Iterable<string>): string | null {
  if (wrong.length > NAME_LENGTH_MAX) return null
  const lower = wrong.toLowerCase()
  let best: string | null = null
  // A distance as long as the name itself is no match.
  let best_distance = Math.min(Math.max(1, Math.floor(wrong.length / 3)) + 1, wrong.length)
  let cells_left = CELLS_MAX
  for (const name of names) {
    if (Math.abs(name.length - wrong.length) >= best_distance) continue
    cells_left -= name.length * wrong.length
    if (cells_left < 0) break
    const distance = editDistance(lower, name.toLowerCase(), best_distance)
    if (distance < best_distance) {
      best = name
      best_distance = distance
    }
  }
  return best
}

const NAME_LENGTH_MAX = 64
/** Characters compared with characters: about 10 ms. */
const CELLS_MAX = 1_000_000

/**
 * Damerau–Levenshtein distance: changes, insertions, deletions and swaps of neighbours. A distance of `bound` or more
 * is returned as some number from `bound` on: once two rows in turn have no smaller cell, no later row has one.
 */
function editDistance(left: string, right: string, bound: number): number {
  let before: readonly number[] = []
  let before_least = bound
  let row: readonly number[] = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i]
    let least = i
    for (let j = 1; j <= right.length; j += 1) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1
      const changed = Math.min((row[j - 1] ?? 0) + same, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1)
      const is_swapped = left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]
      const cell = is_swapped ? Math.min(changed, (before[j - 2] ?? 0) + 1) : changed
      next.push(cell)
      if (cell < least) least = cell
    }
    if (least >= bound && before_least >= bound) return least
    before = row
    before_least = least
    row = next
  }
  return row[right.length] ?? 0
}
