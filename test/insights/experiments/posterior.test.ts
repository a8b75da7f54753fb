/** Posteriors against closed forms and against one another, and verdicts against their limits. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  compare,
  meanPosterior,
  type Posterior,
  ratePosterior,
  sharePosterior,
} from '../../../src/insights/experiments/posterior.ts'
import { figuresOf, resultOf } from '../../../src/insights/experiments/results.ts'

/** ln((n − 1)!) for whole n. */
const logFactorial = (n: number): number => {
  let sum = 0
  for (let factor = 2; factor < n; factor += 1) sum += Math.log(factor)
  return sum
}
const logBeta = (a: number, b: number): number =>
  logFactorial(a) + logFactorial(b) - logFactorial(a + b)

/** The probability that a Beta(a2, b2) is above a Beta(a1, b1), summed term by term. */
function betaAbove(a1: number, b1: number, a2: number, b2: number): number {
  let sum = 0
  for (let i = 0; i < a2; i += 1) {
    sum += Math.exp(
      logBeta(a1 + i, b1 + b2) - Math.log(b2 + i) - logBeta(1 + i, b2) - logBeta(a1, b1),
    )
  }
  return sum
}

describe('shares', () => {
  test('of 100 and 130 in 1000 compare as the closed form says', () => {
    const [base, own] = [sharePosterior(100, 1000), sharePosterior(130, 1000)]
    const { best, beats_first } = compare([base, own])
    const wanted = betaAbove(101, 901, 131, 871)
    expect(beats_first[1]).toBeCloseTo(wanted, 4)
    expect(best[1]).toBeCloseTo(wanted, 4)
    expect(base.mean).toBeCloseTo(101 / 1002, 12)
  })

  test('of any size compare as the closed form says', () => {
    const people = fc.integer({ min: 0, max: 300 })
    fc.assert(
      fc.property(people, people, people, people, (s1, f1, s2, f2) => {
        const both = [sharePosterior(s1, s1 + f1), sharePosterior(s2, s2 + f2)]
        const wanted = betaAbove(1 + s1, 1 + f1, 1 + s2, 1 + f2)
        expect(compare(both).beats_first[1]).toBeCloseTo(wanted, 2)
      }),
      { numRuns: 100 },
    )
  })

  test('lie in their interval with the probability that it is for', () => {
    const posterior = sharePosterior(30, 100)
    const [low, high] = posterior.interval(0.95)
    expect(posterior.cdf(low)).toBeCloseTo(0.025, 6)
    expect(posterior.cdf(high)).toBeCloseTo(0.975, 6)
  })
})

describe('rates and means', () => {
  test('have the mean of what was seen', () => {
    expect(ratePosterior(200, 100).mean).toBeCloseTo(2.01, 12)
    expect(ratePosterior(0, 0).mean).toBe(1)
    const sums = meanPosterior(300, 1500, 100)
    expect(sums.mean).toBe(3)
    expect(sums.deviation).toBeCloseTo(Math.sqrt((15 - 9) / 99), 12)
    expect(meanPosterior(0, 0, 0).interval(0.95).every(Number.isFinite)).toBe(true)
  })

  test('of many people compare as normal distributions do', () => {
    const [base, own] = [ratePosterior(10_000, 5000), ratePosterior(10_200, 5000)]
    const z = (own.mean - base.mean) / Math.hypot(own.deviation, base.deviation)
    expect(z).toBeCloseTo(1.407, 2)
    expect(compare([base, own]).beats_first[1]).toBeCloseTo(0.9203, 2)
  })
})

describe('a comparison', () => {
  const posterior: fc.Arbitrary<Posterior> = fc.oneof(
    fc.tuple(fc.nat(500), fc.nat(500)).map(([s, f]) => sharePosterior(s, s + f)),
    fc.tuple(fc.nat(500), fc.nat(500)).map(([events, people]) => ratePosterior(events, people)),
    fc.tuple(fc.nat(500), fc.nat(500)).map(([sum, n]) => meanPosterior(sum, sum * 3 + sum ** 2, n)),
  )

  test('gives probabilities that make one, and losses that are none for sure winners', () => {
    fc.assert(
      fc.property(fc.array(posterior, { minLength: 1, maxLength: 5 }), (posteriors) => {
        const { best, loss } = compare(posteriors)
        expect(best.reduce((sum, one) => sum + one, 0)).toBeCloseTo(1, 9)
        for (const one of [...best, ...loss]) expect(one).toBeGreaterThanOrEqual(0)
        best.forEach((probability, index) => {
          const { deviation = 0 } = posteriors[index] ?? {}
          if (probability > 0.9999) expect(loss[index]).toBeLessThan(deviation)
        })
      }),
      { numRuns: 200 },
    )
  })

  test('of equals is even', () => {
    const { best, beats_first } = compare([sharePosterior(5, 50), sharePosterior(5, 50)])
    expect(best[0]).toBeCloseTo(0.5, 9)
    expect(beats_first[1]).toBeCloseTo(0.5, 4)
  })
})

describe('a verdict', () => {
  const metric = { name: null, uuid: null, series: [], property: null, window_s: null }
  const verdict = (
    model: 'count' | 'funnel' | 'sum',
    rows: readonly (readonly [string, number, number, number?])[],
  ) => resultOf({ ...metric, model }, figuresOf(rows, ['control', 'test']))

  test.each([
    [
      'funnel',
      [
        ['control', 99, 10],
        ['test', 500, 300],
      ],
      'not_enough_exposure',
    ],
    ['funnel', [['test', 500, 300]], 'not_enough_exposure'],
    [
      'funnel',
      [
        ['control', 500, 50],
        ['test', 500, 52],
      ],
      'low_win_probability',
    ],
    [
      'funnel',
      [
        ['control', 500, 50],
        ['test', 500, 90],
      ],
      'significant',
    ],
    [
      'count',
      [
        ['control', 1000, 2000],
        ['test', 1000, 2400],
      ],
      'significant',
    ],
    [
      'count',
      [
        ['control', 100, 10],
        ['test', 100, 17],
      ],
      'high_loss',
    ],
    [
      'sum',
      [
        ['control', 1000, 5000, 60_000],
        ['test', 1000, 5010, 60_000],
      ],
      'low_win_probability',
    ],
    [
      'sum',
      [
        ['control', 1000, 5000, 60_000],
        ['test', 1000, 8000, 90_000],
      ],
      'significant',
    ],
  ] as const)('on %s of %j is %s', (model, rows, code) => {
    expect(verdict(model, rows)).toMatchObject({ significance_code: code })
  })
})
