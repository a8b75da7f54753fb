/** Posteriors against closed forms and against one another, and verdicts against their limits. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { resultOf, verdictOf } from '../../../src/insights/experiments/results.ts'
import { readSettings } from '../../../src/insights/experiments/settings.ts'
import {
  compare,
  meanPosterior,
  type Posterior,
  ratePosterior,
  ratioPosterior,
  sharePosterior,
} from '../../../src/insights/experiments/statistics/posterior.ts'
import type { FigureSums } from '../../../src/insights/experiments/statistics/samples.ts'
import { figuresOf } from '../../../src/insights/experiments/statistics/variant-figures.ts'
import { randomRuns } from '../../random-runs.ts'

const USUAL = readSettings(null, 'stats_config')
const PLAIN = { has_covariate: false }

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
      randomRuns(100),
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

/** Sums of pairs, as the rows of a query have them. */
const sumsOf = (pairs: readonly (readonly [number, number])[]): FigureSums => {
  const sum = (of: (x: number, y: number) => number): number =>
    pairs.reduce((total, [x, y]) => total + of(x, y), 0)
  return {
    people: pairs.length,
    total: sum((x) => x),
    sum_of_squares: sum((x) => x * x),
    denominator_total: sum((_x, y) => y),
    denominator_sum_of_squares: sum((_x, y) => y * y),
    product_total: sum((x, y) => x * y),
  }
}

describe('ratios', () => {
  // Means 4 and 2, R = 2. Residuals x − 2y: 0, 2, −2; their squares 8, by n − 1 = 2: 4. Over n · 2² = 12: 1/3.
  test('of three people have the deviation worked out by hand', () => {
    const ratio = ratioPosterior(
      sumsOf([
        [2, 1],
        [6, 2],
        [4, 3],
      ]),
    )
    expect(ratio?.mean).toBe(2)
    expect(ratio?.deviation).toBeCloseTo(Math.sqrt(1 / 3), 12)
  })

  test('have the deviation that the delta method says, of variances and covariance one by one', () => {
    const pair = fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 20 }))
    fc.assert(
      fc.property(fc.array(pair, { minLength: 3, maxLength: 60 }), (pairs) => {
        const n = pairs.length
        const mean = (of: (pair: readonly [number, number]) => number): number =>
          pairs.reduce((total, one) => total + of(one), 0) / n
        const [mx, my] = [mean(([x]) => x), mean(([, y]) => y)]
        const co = (of: (pair: readonly [number, number]) => number): number =>
          (mean(of) * n) / (n - 1)
        const variance_x = co(([x]) => (x - mx) ** 2)
        const variance_y = co(([, y]) => (y - my) ** 2)
        const covariance = co(([x, y]) => (x - mx) * (y - my))
        const ratio = mx / my
        const variance =
          (variance_x - 2 * ratio * covariance + ratio ** 2 * variance_y) / (n * my ** 2)
        const posterior = ratioPosterior(sumsOf(pairs))
        expect(posterior?.mean).toBeCloseTo(ratio, 9)
        expect(posterior?.deviation).toBeCloseTo(Math.sqrt(Math.max(0, variance)), 6)
      }),
      randomRuns(200),
    )
  })

  test('of nothing are not known, and no variant wins by them', () => {
    expect(ratioPosterior(sumsOf([[1, 0]]))).toBeNull()
    const result = resultOf(
      { model: 'ratio', name: null, uuid: null },
      figuresOf([['control', 200, 10, 10, 0, 0, 0]], ['control', 'test'], PLAIN),
      USUAL,
    )
    expect(result).toMatchObject({
      leader: null,
      significant: false,
      significance_code: 'not_enough_exposure',
      expected_loss: null,
      variants: [
        { key: 'control', count: 10, denominator_count: 0, mean: null, credible_interval: null },
        { key: 'test', mean: null, probability: null, difference: null },
      ],
    })
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
      randomRuns(200),
    )
  })

  test('of equals is even', () => {
    const { best, beats_first } = compare([sharePosterior(5, 50), sharePosterior(5, 50)])
    expect(best[0]).toBeCloseTo(0.5, 9)
    expect(beats_first[1]).toBeCloseTo(0.5, 4)
  })
})

describe('a difference', () => {
  // Means 2 and 3, deviations √(1/100) and √(4/100) of what n = 101 people did: 1.5 ± 1.96 · √(0.04 + 2.25 · 0.01) / 2.
  test('relative to the baseline counts in how well that is known', () => {
    const row = (key: string, mean: number, variance: number) =>
      [key, 101, mean * 101, 101 * mean ** 2 + 100 * variance] as const
    const { variants } = resultOf(
      { model: 'sum', name: null, uuid: null },
      figuresOf([row('control', 2, 1.01), row('test', 3, 4.04)], ['control', 'test'], PLAIN),
      USUAL,
    )
    const { difference } = variants[1] ?? {}
    const reach = (1.959964 * Math.sqrt(0.04 + 2.25 * 0.01)) / 2
    expect(difference?.relative).toBeCloseTo(0.5, 9)
    expect(difference?.relative_credible_interval?.[0]).toBeCloseTo(0.5 - reach, 6)
    expect(difference?.relative_credible_interval?.[1]).toBeCloseTo(0.5 + reach, 6)
  })
})

describe('a verdict', () => {
  const metric = { name: null, uuid: null }
  const verdict = (
    model: 'count' | 'funnel' | 'sum',
    rows: readonly (readonly [string, number, number, number?])[],
  ) => resultOf({ ...metric, model }, figuresOf(rows, ['control', 'test'], PLAIN), USUAL)

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

  // Fisher's exact test says p = 0.117 of 50 and 46 of 50; the normal approximation says 0.042.
  test('compares no share that nearly all or nearly none reach', () => {
    const judgementOf = (control: number, own: number) => {
      const figures = figuresOf(
        [
          ['control', 50, control],
          ['test', 50, own],
        ],
        ['control', 'test'],
        PLAIN,
      )
      return verdictOf('funnel', figures, 1, USUAL)
    }
    expect(judgementOf(50, 46)).toEqual({ judgement: null, failures: ['not-enough-metric-data'] })
    expect(judgementOf(46, 45)).toEqual({ judgement: null, failures: [] })
    expect(judgementOf(4, 20)).toEqual({ judgement: null, failures: [] })
    expect(judgementOf(45, 45).judgement).toMatchObject({ significant: false })
  })
})
