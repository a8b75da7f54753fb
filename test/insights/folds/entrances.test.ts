/** Funnels by the time they are entered: laws against every chain there is, and examples worked by hand. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { bucketOf, bucketRuns, foldEntrances } from '../../../src/insights/folds/entrances.ts'
import { foldUnorderedEntrances } from '../../../src/insights/folds/unordered-entrances.ts'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { chainsOf, distinctHistories, type Happening, timelineOf } from './histories.ts'

limitTests(60_000)

/** Four buckets of 60 from 0 on: the last histories lie beyond no bucket. */
const BUCKETS = bucketRuns([0, 60, 120, 180], 240)

type Asked = { readonly steps: number; readonly window: number; readonly from?: number }

const fold = (history: readonly Happening[], { steps, window, from = 0 }: Asked, strict = false) =>
  foldEntrances(timelineOf(history), {
    step_count: steps,
    window_us: window,
    from_step: from,
    buckets: BUCKETS,
    is_strict: strict,
    optional: 0,
    attribution: null,
  })
    .toSorted((a, b) => a.bucket - b.bucket)
    .map(({ bucket, is_converted }) => ({ bucket, is_converted }))

/** By the bucket of the first event of every chain: whether one is whole, and whether one comes as far as `from`. */
function expected(
  history: readonly Happening[],
  { steps, window, from = 0 }: Asked,
  is_strict = false,
) {
  const chains = chainsOf(history, { step_count: steps, window, is_strict })
  return [0, 1, 2, 3].flatMap((bucket) => {
    const longest = Math.max(
      0,
      ...chains
        .filter(([first]) => Math.floor((history[first ?? -1]?.at ?? -1) / 60) === bucket)
        .map(({ length }) => length),
    )
    return longest > from ? [{ bucket, is_converted: longest === steps }] : []
  })
}

describe('entrances of an ordered funnel', () => {
  test.each([
    [1, 0],
    [2, 0],
    [3, 0],
    [3, 1],
  ])('of %d steps from step %d are those of all chains', (steps, from) => {
    fc.assert(
      fc.property(distinctHistories(steps), fc.integer({ min: 1, max: 200 }), (history, window) => {
        const asked = { steps, from, window }
        expect(fold(history, asked)).toEqual(expected(history, asked))
      }),
      randomRuns(300),
    )
  })

  test.each([2, 3])('of %d strict steps are those of unbroken chains', (steps) => {
    fc.assert(
      fc.property(distinctHistories(steps), fc.integer({ min: 1, max: 200 }), (history, window) => {
        const asked = { steps, window }
        expect(fold(history, asked, true)).toEqual(expected(history, asked, true))
      }),
      randomRuns(300),
    )
  })

  test('begin anew with every first step of their bucket', () => {
    const history = [
      { at: 0, steps: [0] },
      { at: 50, steps: [0] },
      { at: 70, steps: [1] },
    ]
    expect(fold(history, { steps: 2, window: 20 })).toEqual([{ bucket: 0, is_converted: true }])
    expect(fold(history, { steps: 2, window: 19 })).toEqual([{ bucket: 0, is_converted: false }])
  })

  test.each([
    ['who is broken off and goes no further is left out', [[0], 'x'], []],
    ['who is broken off and goes on is left out everywhere', [[0], 'x', [1]], []],
    [
      'who begins again after that counts',
      [[0], 'x', [0], [1]],
      [{ bucket: 0, is_converted: true }],
    ],
  ] as const)('%s', (_, events, entrances) => {
    const history = events.map((event, at) =>
      event === 'x' ? { at, steps: [], forbids: [0] } : { at, steps: event },
    )
    expect(fold(history, { steps: 2, window: 100 })).toEqual([...entrances])
  })

  test('of a strict funnel break at any other event', () => {
    const history = [
      { at: 0, steps: [0] },
      { at: 1, steps: [] },
      { at: 2, steps: [1] },
      { at: 61, steps: [0] },
      { at: 62, steps: [1] },
    ]
    expect(fold(history, { steps: 2, window: 100 }, true)).toEqual([
      { bucket: 0, is_converted: false },
      { bucket: 1, is_converted: true },
    ])
  })
})

describe('entrances of an unordered funnel', () => {
  const unordered = (history: readonly Happening[], { steps, window, from = 0 }: Asked) =>
    foldUnorderedEntrances(timelineOf(history), {
      step_count: steps,
      window_us: window,
      from_step: from,
      buckets: BUCKETS,
      attribution: null,
    })
      .toSorted((a, b) => a.bucket - b.bucket)
      .map(({ bucket, is_converted }) => ({ bucket, is_converted }))

  test('are those of the oldest of the steps taken together', () => {
    const history = [
      { at: 10, steps: [1] },
      { at: 65, steps: [0] },
      { at: 125, steps: [1] },
    ]
    expect(unordered(history, { steps: 2, window: 60 })).toEqual([
      { bucket: 0, is_converted: true },
      { bucket: 1, is_converted: true },
      { bucket: 2, is_converted: false },
    ])
    expect(unordered(history, { steps: 2, window: 54 })).toEqual([
      { bucket: 0, is_converted: false },
      { bucket: 1, is_converted: false },
      { bucket: 2, is_converted: false },
    ])
  })
})

describe('buckets', () => {
  test('of any widths become few runs, in which every instant finds its own', () => {
    const widths = fc.array(fc.constantFrom(23, 24, 24, 24, 25), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(widths, (lengths) => {
        const starts: number[] = [100]
        for (const length of lengths) starts.push((starts.at(-1) ?? 0) + length)
        const end = starts.pop() ?? 0
        const runs = bucketRuns(starts, end)
        for (let at = 95; at < end + 5; at += 1) {
          const index = at >= end ? null : starts.findLastIndex((start) => start <= at)
          expect(bucketOf(runs, at)).toBe(index === -1 ? null : index)
        }
      }),
    )
    expect(bucketRuns([0, 24, 48, 71], 95)).toEqual([
      { start_us: 0, width_us: 24, count: 2 },
      { start_us: 48, width_us: 23, count: 1 },
      { start_us: 71, width_us: 24, count: 1 },
    ])
  })
})
