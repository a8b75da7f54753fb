/** Unordered funnels: against every window there is. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import * as fc from 'fast-check'
import { foldUnordered } from '../../../src/insights/folds/unordered.ts'
import { type Happening, timelineOf } from './histories.ts'

setDefaultTimeout(60_000)

const STEPS = 4

const history = fc
  .array(fc.record({ at: fc.nat(200), step: fc.integer({ min: -1, max: STEPS - 1 }) }), {
    maxLength: 16,
  })
  .map((events): readonly Happening[] => {
    const times = new Set<number>()
    return events
      .filter(({ at }) => !times.has(at) && times.add(at))
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, step }) =>
        step < 0 ? { at, steps: [], forbids: [0, 1, 2] } : { at, steps: [step] },
      )
  })

/** The most different steps between two exclusions within any window. */
function mostSteps(events: readonly Happening[], window: number): number {
  let most = 0
  for (const [first, { at }] of events.entries()) {
    const rest = events.slice(first)
    const end = rest.findIndex(({ forbids }) => forbids !== undefined)
    const inside = (end < 0 ? rest : rest.slice(0, end)).filter((other) => other.at - at <= window)
    most = Math.max(most, new Set(inside.flatMap(({ steps }) => steps)).size)
  }
  return most
}

const fold = (events: readonly Happening[], window_us: number) =>
  foldUnordered(timelineOf(events), { step_count: STEPS, window_us, attribution: null })

describe('an unordered funnel', () => {
  test('counts the different steps of the fullest window', () => {
    fc.assert(
      fc.property(history, fc.nat(150), (events, window) => {
        const taken = fold(events, window)
        const most = mostSteps(events, window)
        expect((taken?.furthest ?? -1) + 1).toBe(most)
        expect(taken?.bits ?? 0).toBe(2 ** most - 1)
        const times = taken?.at_us ?? []
        expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThanOrEqual(window)
      }),
      { numRuns: 500 },
    )
  })

  test('tells when its steps were taken, in the order of time', () => {
    const events = [
      { at: 3, steps: [2] },
      { at: 5, steps: [0] },
      { at: 6, steps: [0] },
      { at: 9, steps: [1] },
    ]
    expect(fold(events, 6)).toEqual({
      furthest: 2,
      bits: 0b111,
      at_us: [3, 5, 9],
      events: [0, 1, 3],
    })
    expect(fold(events, 5)).toMatchObject({ furthest: 1, bits: 0b11, at_us: [3, 5] })
  })

  test('gives an event that may be two steps to the one that waits longer', () => {
    const events = [
      { at: 1, steps: [0] },
      { at: 2, steps: [0, 1] },
    ]
    expect(fold(events, 10)?.furthest).toBe(1)
  })

  test('takes a step at the time of an exclusion as before or after it, as it suits', () => {
    const events = [
      { at: 1, steps: [0] },
      { at: 2, steps: [], forbids: [0, 1, 2] },
      { at: 2, steps: [1] },
      { at: 3, steps: [2] },
      { at: 4, steps: [3] },
    ]
    expect(fold(events.slice(0, 4), 10)?.at_us).toEqual([1, 2])
    expect(fold(events, 10)?.at_us).toEqual([2, 3, 4])
  })

  test('is nobody’s without a step', () => {
    expect(fold([], 10)).toBeNull()
  })
})
