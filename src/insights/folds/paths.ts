/**
 * Fold: one actor's path, split into visits, repetitions removed, cut at start and end points,
 * limited in steps.
 */

/** Parameters of the fold. */
export type PathFold = {
  /** A gap this long without an item ends a visit. */
  readonly gap_us: number
  readonly step_limit: number
  /** With points, visits without them are dropped, and others are cut from the first start to the end. */
  readonly has_start: boolean
  readonly has_end: boolean
}

/**
 * Items in order. A code is four times the item's number, plus one for a start point, two for an
 * end point.
 */
type ActorPath = {
  readonly at_us: readonly number[]
  readonly codes: readonly number[]
}

/** One step of a visit. */
export type PathStep = {
  /** From 1. */
  readonly step: number
  readonly item: number
  /** The previous item; null at the beginning of a visit. */
  readonly before: number | null
  /** Since the previous item; 0 at the beginning of a visit. */
  readonly took_us: number
  readonly is_last: boolean
}

/** The pseudo item for steps omitted between a start and an end. Item numbers begin with 1. */
export const OMITTED_STEPS = 0

type PathVisit = { readonly at_us: number[]; readonly codes: number[] }

/** The steps of all visits. */
export function foldPaths(path: ActorPath, fold: PathFold): readonly PathStep[] {
  return splitVisits(path, fold).flatMap((visit) => {
    const cut = cutVisit(visit, fold)
    return cut === null ? [] : stepsOf(limitSteps(cut, fold))
  })
}

/** Splits a path at gaps; of consecutive equal items the last stays. */
function splitVisits({ at_us, codes }: ActorPath, { gap_us }: PathFold): readonly PathVisit[] {
  const visits: PathVisit[] = []
  let visit: PathVisit = { at_us: [], codes: [] }
  for (const [index, at] of at_us.entries()) {
    const code = codes[index] ?? 0
    const is_first = index === 0 || at - (at_us[index - 1] ?? 0) >= gap_us
    if (is_first) {
      visit = { at_us: [], codes: [] }
      visits.push(visit)
    }
    const is_same = visit.codes.at(-1) === code
    const at_index = is_same ? visit.codes.length - 1 : visit.codes.length
    visit.codes[at_index] = code
    visit.at_us[at_index] = at
  }
  return visits
}

/** From the first start to the first end after it; null where a required one is missing. */
function cutVisit({ at_us, codes }: PathVisit, { has_start, has_end }: PathFold): PathVisit | null {
  const start = has_start ? codes.findIndex((code) => code % 2 === 1) : 0
  if (start < 0) return null
  const length = has_end ? codes.slice(start).findIndex((code) => code % 4 >= 2) + 1 : codes.length
  if (length === 0) return null
  return { at_us: at_us.slice(start, start + length), codes: codes.slice(start, start + length) }
}

/**
 * Keeps the last steps with an end, else the first; with both, as many of either, and a pseudo item
 * between them.
 */
function limitSteps(visit: PathVisit, { step_limit, has_start, has_end }: PathFold): PathVisit {
  const { at_us, codes } = visit
  if (codes.length <= step_limit) return visit
  if (!has_end) return { at_us: at_us.slice(0, step_limit), codes: codes.slice(0, step_limit) }
  if (!has_start) return { at_us: at_us.slice(-step_limit), codes: codes.slice(-step_limit) }
  const half = Math.floor(step_limit / 2)
  const cut = (numbers: readonly number[], between: number): number[] => [
    ...numbers.slice(0, half),
    between,
    ...numbers.slice(numbers.length - half),
  ]
  return { at_us: cut(at_us, at_us[half] ?? 0), codes: cut(codes, OMITTED_STEPS) }
}

function stepsOf({ at_us, codes }: PathVisit): readonly PathStep[] {
  return codes.map((code, index) => {
    const before = codes[index - 1]
    return {
      step: index + 1,
      item: Math.floor(code / 4),
      before: before === undefined ? null : Math.floor(before / 4),
      took_us: index === 0 ? 0 : (at_us[index] ?? 0) - (at_us[index - 1] ?? 0),
      is_last: index === codes.length - 1,
    }
  })
}
