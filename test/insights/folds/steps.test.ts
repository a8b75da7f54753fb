/** Ordered and strict funnels: laws over histories against every chain there is, and examples worked by hand. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import * as fc from 'fast-check'
import { foldSteps, type OrderedFunnel } from '../../../src/insights/folds/steps.ts'
import {
  bestTimes,
  chainsOf,
  crowdedHistories,
  distinctHistories,
  type Happening,
  timelineOf,
} from './histories.ts'

setDefaultTimeout(60_000)

const funnel = (
  step_count: number,
  window_us: number,
  more: Partial<OrderedFunnel> = {},
): OrderedFunnel => ({
  step_count,
  window_us,
  is_strict: false,
  optional: 0,
  attribution: null,
  ...more,
})

const fold = (history: readonly Happening[], asked: OrderedFunnel) =>
  foldSteps(timelineOf(history), asked)

describe('an ordered funnel', () => {
  test.each([1, 2, 3, 4])('of %d steps comes as far as any chain, at its times', (steps) => {
    fc.assert(
      fc.property(distinctHistories(steps), fc.integer({ min: 1, max: 150 }), (history, window) => {
        const taken = fold(history, funnel(steps, window))
        const best = bestTimes(history, chainsOf(history, { step_count: steps, window }))
        expect(taken?.at_us ?? null).toEqual(best === null ? null : [...best])
        expect(taken?.bits ?? 0).toBe(best === null ? 0 : 2 ** best.length - 1)
      }),
    )
  })

  test('takes what happens at the same time in the order that suits', () => {
    fc.assert(
      fc.property(crowdedHistories(3), fc.integer({ min: 0, max: 60 }), (history, window) => {
        const taken = fold(history, funnel(3, window))
        const best = bestTimes(history, chainsOf(history, { step_count: 3, window }))
        expect(taken?.at_us ?? null).toEqual(best === null ? null : [...best])
      }),
    )
  })

  test('may leave optional steps out', () => {
    fc.assert(
      fc.property(distinctHistories(4), fc.integer({ min: 1, max: 150 }), (history, window) => {
        const taken = fold(history, funnel(4, window, { optional: 0b0110 }))
        const asked = { step_count: 4, window, optional: [1, 2] }
        const longest = Math.max(0, ...chainsOf(history, asked).map(({ length }) => length))
        expect((taken?.furthest ?? -1) + 1).toBe(longest)
        expect(taken === null || (taken.bits & (1 << taken.furthest)) !== 0).toBe(true)
      }),
    )
  })

  test('has twenty steps', () => {
    const history = Array.from({ length: 20 }, (_, step) => ({ at: step, steps: [step] }))
    expect(fold(history, funnel(20, 19))).toEqual({
      furthest: 19,
      bits: 2 ** 20 - 1,
      at_us: history.map(({ at }) => at),
      events: history.map((_, event) => event),
    })
    expect(fold(history, funnel(20, 18))?.furthest).toBe(18)
  })

  test('counts an event once, though it is two steps', () => {
    const both = { at: 1, steps: [0, 1] }
    expect(fold([both], funnel(2, 10))?.furthest).toBe(0)
    expect(fold([both, { ...both, at: 2 }], funnel(2, 10))?.at_us).toEqual([1, 2])
  })

  test('counts an event once among others of its time', () => {
    const moment = [
      { at: 1, steps: [0, 1] },
      { at: 1, steps: [2] },
    ]
    expect(fold(moment, funnel(3, 10))?.furthest).toBe(0)
    expect(fold([...moment, { at: 1, steps: [1] }], funnel(3, 10))?.furthest).toBe(2)
  })

  test('begins anew with each first step, and keeps the earliest of later ones', () => {
    const history = [
      { at: 0, steps: [0] },
      { at: 5, steps: [0] },
      { at: 8, steps: [1] },
      { at: 9, steps: [1] },
    ]
    expect(fold(history, funnel(2, 100))?.at_us).toEqual([5, 8])
  })

  test('ends with its window, the last microsecond included', () => {
    const history = [
      { at: 0, steps: [0] },
      { at: 10, steps: [1] },
    ]
    expect(fold(history, funnel(2, 10))?.furthest).toBe(1)
    expect(fold(history, funnel(2, 9))?.furthest).toBe(0)
  })

  test('is nobody’s without a first step', () => {
    expect(fold([], funnel(2, 10))).toBeNull()
    expect(fold([{ at: 1, steps: [1] }], funnel(2, 10))).toBeNull()
  })
})

describe('an exclusion', () => {
  const [first, second, third] = [0, 1, 2].map((step) => ({ at: step * 10, steps: [step] }))
  const forbid = (at: number, ...after: number[]): Happening => ({ at, steps: [], forbids: after })
  const at = (...events: readonly (Happening | undefined)[]): readonly Happening[] =>
    events.filter((event) => event !== undefined)

  test.each([
    ['between the steps it names takes the actor out', at(first, forbid(5, 0), second), null],
    ['before the first step does nothing', at(forbid(-5, 0), first, second), 1],
    ['after the step it stands before does nothing', at(first, second, forbid(15, 0)), 1],
    ['after the first step takes out who goes no further', at(first, forbid(5, 0)), null],
    ['of a later step lets the earlier ones be', at(first, forbid(5, 1), second, third), 2],
    ['of a later step takes out who came there', at(first, second, forbid(15, 1), third), null],
    ['of both steps takes out in either', at(first, second, forbid(15, 0, 1), third), null],
    ['beyond the window does nothing', at(first, forbid(500, 0)), 0],
    [
      'is over when the actor begins anew',
      at(first, forbid(5, 0), { at: 6, steps: [0] }, second),
      1,
    ],
  ])('%s', (_, history, furthest) => {
    expect(fold(history, funnel(3, 100))?.furthest ?? null).toBe(furthest)
  })

  test('of two steps: somebody converts by a pair without one, and is out when all pairs have one', () => {
    const happening = fc.constantFrom<Omit<Happening, 'at'>>(
      { steps: [0] },
      { steps: [1] },
      { steps: [], forbids: [0] },
    )
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 9 }), fc.nat(5), (events, window) => {
        const history = events.map((event, index) => ({ ...event, at: index }))
        const pairs = history.flatMap(({ steps, at: end }) => {
          const start = steps[0] === 1 ? lastFirst(history, end) : null
          return start === null || end - start > window ? [] : [{ start, end }]
        })
        const is_clean = ({ start, end }: { start: number; end: number }): boolean =>
          !history.slice(start, end).some(({ forbids }) => forbids !== undefined)
        const taken = fold(history, funnel(2, window))
        if (pairs.some(is_clean)) expect(taken?.furthest).toBe(1)
        else if (pairs.length > 0) expect(taken).toBeNull()
        else expect(taken?.furthest ?? 0).toBe(0)
      }),
    )
  })
})

const lastFirst = (history: readonly Happening[], end: number): number | null =>
  history.findLast(({ at, steps }) => at < end && steps[0] === 0)?.at ?? null

describe('a strict funnel', () => {
  test('lets nothing come between its steps but the same step again', () => {
    fc.assert(
      fc.property(distinctHistories(3), fc.integer({ min: 1, max: 150 }), (history, window) => {
        const taken = fold(history, funnel(3, window, { is_strict: true }))
        const asked = { step_count: 3, window, is_strict: true }
        const longest = Math.max(0, ...chainsOf(history, asked).map(({ length }) => length))
        expect((taken?.furthest ?? -1) + 1).toBe(longest)
      }),
    )
  })

  test.each([
    ['another event', [[0], [], [1]], 0],
    ['nothing', [[0], [1]], 1],
    ['the same step', [[0], [1], [1], [2]], 2],
  ])('with %s between', (_, steps, furthest) => {
    const history = steps.map((each, at) => ({ at, steps: each }))
    expect(fold(history, funnel(3, 100, { is_strict: true }))?.furthest).toBe(furthest)
  })
})

test('attribution to a step: only events of it with the value are that step', () => {
  const history = [
    { at: 0, steps: [0], value: 'x' },
    { at: 1, steps: [1], value: 'a' },
    { at: 2, steps: [1], value: 'b' },
    { at: 3, steps: [2], value: 'y' },
  ]
  const asked = (value: string) => funnel(3, 100, { attribution: { step: 1, value } })
  expect(fold(history, asked('a'))?.at_us).toEqual([0, 1, 3])
  expect(fold(history, asked('b'))?.at_us).toEqual([0, 2, 3])
  expect(fold(history, asked('c'))?.at_us).toEqual([0])
})
