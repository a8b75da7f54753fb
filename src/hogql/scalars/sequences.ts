/**
 * sequenceMatch and sequenceCount with time conditions: a backtracking matcher over rows, as in
 * ClickHouse.
 */

import { type ScalarFunction, ScalarRefusal } from './definition.ts'

/** Kinds of pattern steps, as numbers; `condition` and the times have an argument. */
export const STEP_KINDS = {
  any: 0,
  rest: 1,
  condition: 2,
  '<': 3,
  '<=': 4,
  '==': 5,
  '>': 6,
  '>=': 7,
} as const satisfies Record<string, number>

type SequenceRows = { readonly times: readonly bigint[]; readonly masks: readonly bigint[] }
type SequenceStep = { readonly kind: number; readonly argument: bigint }

/** A matcher state: next step, next row, and the row that times are counted from. */
type MatchPosition = { readonly step: number; readonly row: number; readonly base: number }

/** Maximum steps of a match, backtracking included: a pattern of several `.*` may try every combination. */
const STEPS_MAX = 1_000_000

function readSteps(numbers: readonly bigint[]): readonly SequenceStep[] {
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    kind: Number(numbers[index * 2] ?? 0n),
    argument: numbers[index * 2 + 1] ?? 0n,
  }))
}

const HOLDS: Readonly<Record<number, (distance: bigint, length: bigint) => boolean>> = {
  [STEP_KINDS['<']]: (distance, length) => distance < length,
  [STEP_KINDS['<=']]: (distance, length) => distance <= length,
  [STEP_KINDS['==']]: (distance, length) => distance === length,
  [STEP_KINDS['>']]: (distance, length) => distance > length,
  [STEP_KINDS['>=']]: (distance, length) => distance >= length,
}

/** Applies a step to a state: the next state, and whether a later row may be tried instead. */
function takeStep(
  place: MatchPosition,
  { kind, argument }: SequenceStep,
  { times, masks }: SequenceRows,
) {
  const { step, row, base } = place
  const after: MatchPosition = { step: step + 1, row: row + 1, base: row }
  if (kind === STEP_KINDS.any) return { after, can_wait: false }
  if (kind === STEP_KINDS.rest) return { after: { ...after, row }, can_wait: true }
  if (kind === STEP_KINDS.condition) {
    const is_met = ((masks[row] ?? 0n) & argument) !== 0n
    return { after: is_met ? after : null, can_wait: false }
  }
  const distance = (times[row] ?? 0n) - (times[base] ?? 0n)
  const holds = HOLDS[kind]?.(distance, argument) ?? false
  if (holds) return { after: { ...after, row }, can_wait: true }
  // Rows that come too early are skipped; a row that comes too late ends the branch.
  const is_early =
    kind === STEP_KINDS['>'] || kind === STEP_KINDS['>='] || kind === STEP_KINDS['==']
  return { after: is_early ? { step, row: row + 1, base } : null, can_wait: false }
}

/** The row after the first match from a row on; null when there is none. */
function findMatch(
  rows: SequenceRows,
  steps: readonly SequenceStep[],
  from: number,
): number | null {
  const count = rows.times.length
  const choice_points: MatchPosition[] = []
  let place: MatchPosition | null = { step: 0, row: from, base: from }
  for (let taken = 0; place !== null; taken += 1) {
    if (taken > STEPS_MAX) throw new ScalarRefusal('The pattern has too many ways to match')
    const step: SequenceStep | undefined = steps[place.step]
    if (step === undefined) return place.row
    if (place.row >= count) {
      if (steps.slice(place.step).every(({ kind }) => kind === STEP_KINDS.rest)) return place.row
      place = backtrack(choice_points, count)
      continue
    }
    const { after, can_wait } = takeStep(place, step, rows)
    if (can_wait) choice_points.push(place)
    place = after ?? backtrack(choice_points, count)
  }
  return null
}

function backtrack(choice_points: MatchPosition[], count: number): MatchPosition | null {
  for (let point = choice_points.pop(); point !== undefined; point = choice_points.pop()) {
    if (point.row + 1 < count) return { ...point, row: point.row + 1 }
  }
  return null
}

/** A match may begin at any row. */
const ANYWHERE: SequenceStep = { kind: STEP_KINDS.rest, argument: 0n }

function matches(
  times: readonly bigint[],
  masks: readonly bigint[],
  steps: readonly bigint[],
): boolean {
  return findMatch({ times, masks }, [ANYWHERE, ...readSteps(steps)], 0) !== null
}

/** Counts non-overlapping matches. */
function countMatches(
  times: readonly bigint[],
  masks: readonly bigint[],
  numbers: readonly bigint[],
): bigint {
  const steps = [ANYWHERE, ...readSteps(numbers)]
  let found = 0n
  for (let row: number | null = 0; row < times.length; found += 1n) {
    const behind = findMatch({ times, masks }, steps, row)
    if (behind === null) return found
    // An empty match must advance, or it would be found for ever.
    row = Math.max(behind, row + 1)
  }
  return found
}

export const SEQUENCES: readonly ScalarFunction[] = [
  {
    name: 'js_sequence_match',
    takes: [{ list: 'integer' }, { list: 'integer' }, { list: 'integer' }],
    gives: 'truth',
    compute: matches,
  },
  {
    name: 'js_sequence_count',
    takes: [{ list: 'integer' }, { list: 'integer' }, { list: 'integer' }],
    gives: 'integer',
    compute: countMatches,
  },
]
