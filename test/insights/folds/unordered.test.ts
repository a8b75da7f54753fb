/** Unordered funnels: against every window there is. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { foldUnordered } from '../../../src/insights/folds/unordered.ts'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { type Happening, mostSteps, timelineOf } from './histories.ts'

limitTests(60_000)

const STEPS = 4

/** Often several events at one time; an exclusion is no step. */
const history = fc
  .array(
    fc.record({
      at: fc.oneof(
        fc.nat(200),
        fc.nat(10).map((at) => at * 20),
      ),
      step: fc.integer({ min: -1, max: STEPS - 1 }),
    }),
    { maxLength: 16 },
  )
  .map((events): readonly Happening[] =>
    events
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, step }) =>
        step < 0 ? { at, steps: [], forbids: [0, 1, 2] } : { at, steps: [step] },
      ),
  )

const fold = (events: readonly Happening[], window_us: number) =>
  foldUnordered(timelineOf(events), { step_count: STEPS, window_us, attribution: null })

describe('an unordered funnel', () => {
  test('counts the different steps of the fullest window', () => {
    fc.assert(
      fc.property(history, fc.nat(150), (events, window) => {
        const taken = fold(events, window)
        const most = mostSteps(events, { step_count: STEPS, window })
        expect((taken?.furthest ?? -1) + 1).toBe(most)
        expect(taken?.bits ?? 0).toBe(2 ** most - 1)
        const times = taken?.at_us ?? []
        expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThanOrEqual(window)
      }),
      randomRuns(150),
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
    expect(fold(events.slice(0, 4), 10)?.at_us).toEqual([2, 3])
    expect(fold(events, 10)?.at_us).toEqual([2, 3, 4])
  })

  test('loses the steps that an exclusion within the window follows', () => {
    const cut = (at: number): readonly Happening[] => [
      { at: 1, steps: [0] },
      { at: 5, steps: [1] },
      { at, steps: [], forbids: [0, 1, 2] },
      { at: 30, steps: [2] },
    ]
    expect(fold(cut(9), 10)?.at_us).toEqual([30])
    expect(fold(cut(11), 10)?.at_us).toEqual([30])
    // The window of the first step is over: both of its steps count.
    expect(fold(cut(12), 10)?.at_us).toEqual([1, 5])
  })

  test('is nobody’s without a step', () => {
    expect(fold([], 10)).toBeNull()
  })
})
