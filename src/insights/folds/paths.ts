/** One actor's way through a product: cut into visits, without repetitions, from or to a point, a few steps long. */

/** What a way is cut by. */
export type PathFold = {
  /** So long without an item (or longer) ends a visit. */
  readonly gap_us: number
  readonly step_limit: number
  /** Visits without these points are left out; from the first to the last of them is kept. */
  readonly has_start: boolean
  readonly has_end: boolean
}

/** What happened, in order. Codes are four times the item's number, and one more for a start, two for an end. */
export type ActorPath = {
  readonly at_us: readonly number[]
  readonly codes: readonly number[]
}

/** One step of a visit. */
export type PathStep = {
  /** The first is 1. */
  readonly step: number
  readonly item: number
  /** What came before; null for a visit's first. */
  readonly before: number | null
  /** Since what came before, 0 for a visit's first. */
  readonly took_us: number
  readonly is_last: boolean
}

/** Stands for what is left out between a start and an end. Numbers of items begin with 1. */
export const LEFT_OUT = 0

type PathVisit = { readonly at_us: number[]; readonly codes: number[] }

/** The steps of all visits. */
export function foldPaths(way: ActorPath, fold: PathFold): readonly PathStep[] {
  return visitsOf(way, fold).flatMap((visit) => {
    const cut = cutVisit(visit, fold)
    return cut === null ? [] : stepsOf(shortened(cut, fold))
  })
}

/** Of several times the same in a row the last is kept. */
function visitsOf({ at_us, codes }: ActorPath, { gap_us }: PathFold): readonly PathVisit[] {
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
    const place = is_same ? visit.codes.length - 1 : visit.codes.length
    visit.codes[place] = code
    visit.at_us[place] = at
  }
  return visits
}

/** From the first start on, up to the first end after it; null where one that is asked for is missing. */
function cutVisit({ at_us, codes }: PathVisit, { has_start, has_end }: PathFold): PathVisit | null {
  const start = has_start ? codes.findIndex((code) => code % 2 === 1) : 0
  if (start < 0) return null
  const length = has_end ? codes.slice(start).findIndex((code) => code % 4 >= 2) + 1 : codes.length
  if (length === 0) return null
  return { at_us: at_us.slice(start, start + length), codes: codes.slice(start, start + length) }
}

/** With an end the last steps are kept, otherwise the first; with both, as many of either, and a mark between them. */
function shortened(visit: PathVisit, { step_limit, has_start, has_end }: PathFold): PathVisit {
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
  return { at_us: cut(at_us, at_us[half] ?? 0), codes: cut(codes, LEFT_OUT) }
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
