/** One actor's history as tests write it, and what a funnel makes of it by looking at every chain there is. */
import * as fc from 'fast-check'
import type { Timeline } from '../../../src/insights/folds/timeline.ts'

/** When it was, which steps it is (0 the first), what it forbids (0: to go on after the first step). */
export type Happening = {
  readonly at: number
  readonly steps: readonly number[]
  readonly forbids?: readonly number[]
  readonly value?: string
}

const bitsOf = (numbers: readonly number[]): number =>
  numbers.reduce((bits, number) => bits | (1 << number), 0)

/** A history as folds take it. */
export function timelineOf(history: readonly Happening[]): Timeline {
  return {
    at_us: history.map(({ at }) => at),
    steps: history.map(({ steps }) => bitsOf(steps)),
    exclusions: history.map(({ forbids }) => bitsOf(forbids ?? [])),
    values: history.map(({ value }) => value ?? ''),
  }
}

/** Histories with one event at a time; each may be several steps, or none. */
export const distinctHistories = (step_count: number): fc.Arbitrary<readonly Happening[]> =>
  fc
    .array(
      fc.record({
        at: fc.nat(200),
        steps: fc.uniqueArray(fc.nat(step_count - 1), { maxLength: 2 }),
        value: fc.constantFrom('a', 'b'),
      }),
      { maxLength: 14 },
    )
    .map((events) => {
      const times = new Set<number>()
      return events
        .filter(({ at }) => !times.has(at) && times.add(at))
        .toSorted((a, b) => a.at - b.at)
    })

/** Histories in which much happens at the same time; each event is one step. */
export const crowdedHistories = (step_count: number): fc.Arbitrary<readonly Happening[]> =>
  fc
    .array(fc.record({ at: fc.nat(8), step: fc.nat(step_count - 1) }), { maxLength: 12 })
    .map((events) =>
      events
        .map(({ at, step }) => ({ at: at * 10, steps: [step] }))
        .toSorted((a, b) => a.at - b.at),
    )

export type Asked = {
  readonly step_count: number
  readonly window: number
  readonly optional?: readonly number[]
  readonly is_strict?: boolean
}

/** Every chain of events that takes steps in order within the window: indexes of events, by step. */
export function chainsOf(
  history: readonly Happening[],
  { step_count, window, optional = [], is_strict = false }: Asked,
): readonly (readonly (number | null)[])[] {
  const chains: (readonly (number | null)[])[] = []
  const extend = (chain: readonly (number | null)[]): void => {
    if (chain.some((event) => event !== null)) chains.push(chain)
    const step = chain.length
    if (step === step_count) return
    if (optional.includes(step)) extend([...chain, null])
    const used = chain.filter((event) => event !== null)
    for (const [index, { at, steps }] of history.entries()) {
      if (!steps.includes(step) || used.includes(index)) continue
      const [first, last] = [history[used[0] ?? index], history[used.at(-1) ?? index]]
      if (at < (last?.at ?? at) || at - (first?.at ?? at) > window) continue
      if (is_strict && !isUnbroken(history, used.at(-1), index, step - 1)) continue
      extend([...chain, index])
    }
  }
  extend([])
  return chains.map((chain) => chain.slice(0, chain.findLastIndex((event) => event !== null) + 1))
}

/** Between two steps of a strict funnel only the earlier one may happen again. */
function isUnbroken(
  history: readonly Happening[],
  last: number | undefined,
  next: number,
  step: number,
): boolean {
  if (last === undefined) return true
  return history.slice(last + 1, next).every(({ steps }) => steps.includes(step))
}

/** Of the longest chains those that end first, of those the ones that begin last, of those the ones that hurry. */
export function bestTimes(
  history: readonly Happening[],
  chains: readonly (readonly (number | null)[])[],
): readonly number[] | null {
  const longest = Math.max(0, ...chains.map(({ length }) => length))
  if (longest === 0) return null
  const times = chains
    .filter(({ length }) => length === longest)
    .map((chain) => chain.map((event) => history[event ?? -1]?.at ?? -1))
  const order = (a: readonly number[], b: readonly number[]): number => {
    const ends = (a.at(-1) ?? 0) - (b.at(-1) ?? 0)
    const starts = (b[0] ?? 0) - (a[0] ?? 0)
    if (ends !== 0 || starts !== 0) return ends || starts
    const at = a.findIndex((time, index) => time !== b[index])
    return (a[at] ?? 0) - (b[at] ?? 0)
  }
  return times.toSorted(order)[0] ?? null
}

const isExclusion = ({ forbids }: Happening): boolean => forbids !== undefined

/**
 * The most different steps within any window that no exclusion falls into: the steps before one are lost unless they
 * were all, or it came after the window. Steps at its very time may be before it or after it.
 */
export function mostSteps(
  events: readonly Happening[],
  { step_count, window }: Pick<Asked, 'step_count' | 'window'>,
): number {
  const times = [-Infinity, ...events.filter(isExclusion).map(({ at }) => at), Infinity]
  let most = 0
  for (const [index, start] of times.entries()) {
    const end = times[index + 1] ?? Infinity
    const between = events.filter(
      (event) => !isExclusion(event) && event.at >= start && event.at <= end,
    )
    for (const { at } of between) {
      const inside = between.filter((other) => other.at >= at && other.at - at <= window)
      const count = new Set(inside.flatMap(({ steps }) => steps)).size
      if (count === step_count || end - at > window) most = Math.max(most, count)
    }
  }
  return most
}
