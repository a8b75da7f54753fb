/** Tests and intervals against published figures, tables, and what raw numbers say. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { readSettings, type StatsSettings } from '../../../src/insights/experiments/settings.ts'
import {
  adjustForCovariate,
  effectOf,
  type MeasuredSample,
  type MetricSums,
  meanSample,
  ratioSample,
  shareSample,
} from '../../../src/insights/experiments/statistics/samples.ts'
import { testSignificance } from '../../../src/insights/experiments/statistics/significance.ts'

const TESTED: StatsSettings = readSettings({ method: 'frequentist' }, 'stats_config')
const ABSOLUTE: StatsSettings = { ...TESTED, difference: 'absolute' }
const ANY_TIME: StatsSettings = { ...TESTED, sequential_people: 5000 }

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

const known = <Thing>(thing: Thing | null | undefined): Thing => {
  if (thing === null || thing === undefined) throw new Error('nothing is known')
  return thing
}

const sampleOf = (numbers: readonly number[]): MetricSums =>
  known(meanSample(sum(numbers), sum(numbers.map((one) => one * one)), numbers.length))

const judged = (own: MetricSums, base: MetricSums, settings: StatsSettings) =>
  testSignificance(known(effectOf({ own, base, scale: base.mean }, settings.difference)), settings)

describe('a two-sided test', () => {
  // Hours of sleep gained under two drugs, from Student's paper of 1908, as R prints it:
  // t.test(extra ~ group, data = sleep) says t = -1.8608, df = 17.776, p-value = 0.07939, -3.3654832 to 0.2054832.
  test("of Student's sleep data says what R says", () => {
    const own = sampleOf([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2])
    const base = sampleOf([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    const effect = known(effectOf({ own, base, scale: base.mean }, 'absolute'))
    expect(effect.degrees).toBeCloseTo(17.776, 3)
    expect(effect.estimate / effect.deviation).toBeCloseTo(-1.8608, 4)
    const { p_value, interval, significant, chance_to_win } = testSignificance(effect, ABSOLUTE)
    expect(p_value).toBeCloseTo(0.07939, 5)
    expect(interval[0]).toBeCloseTo(-3.3654832, 6)
    expect(interval[1]).toBeCloseTo(0.2054832, 6)
    expect([significant, chance_to_win]).toEqual([false, null])
  })

  // The critical values that every table of the t distribution has, for 5 % in both tails together.
  test.each([
    [1, 12.706],
    [2, 4.303],
    [5, 2.571],
    [10, 2.228],
    [30, 2.042],
    [120, 1.98],
    [1_000_000, 1.96],
  ])('with %d degrees of freedom is sure from %d deviations on', (degrees, critical) => {
    const effect = { people: 100, estimate: critical, deviation: 1, degrees }
    const { p_value, interval } = testSignificance(effect, ABSOLUTE)
    expect(p_value).toBeCloseTo(0.05, 3)
    expect(interval[0] / critical).toBeCloseTo(0, 3)
  })

  // What others publish for shares of the baseline by the delta method, for the same sums.
  test('of shares of the baseline says what is published for means, proportions and ratios', () => {
    const means = judged(
      known(meanSample(1922.7, 94_698.29, 2461)),
      known(meanSample(1196.87, 37_377.9767, 2507)),
      TESTED,
    )
    expect(means.p_value).toBeCloseTo(0.08487, 4)
    expect(means.interval[0]).toBeCloseTo(-0.0875, 3)
    expect(means.interval[1]).toBeCloseTo(1.36048, 3)
    const shares = judged(known(shareSample(62, 1471)), known(shareSample(87, 1529)), TESTED)
    expect(shares.p_value).toBeCloseTo(0.03096, 4)
    expect(shares.interval[0]).toBeCloseTo(-0.49475, 4)
    expect(shares.interval[1]).toBeCloseTo(-0.02376, 4)
    expect(shares.significant).toBe(true)
    const ratio = (people: number, total: number, squares: number, below: number) =>
      known(
        ratioSample({
          people,
          total,
          sum_of_squares: squares,
          denominator_total: below,
          denominator_sum_of_squares: below,
          product_total: total,
        }),
      )
    const ratios = judged(
      ratio(2034, 99_673.9364269569, 11_298_745.182728939, 947),
      ratio(1966, 94_605.79858780127, 10_463_129.505392816, 936),
      TESTED,
    )
    expect(ratios.p_value).toBeCloseTo(0.0032826, 4)
    expect(ratios.interval[0]).toBeCloseTo(0.013786, 4)
    expect(ratios.interval[1]).toBeCloseTo(0.0689, 4)
  })

  const sample: fc.Arbitrary<MetricSums> = fc.record({
    people: fc.integer({ min: 50, max: 100_000 }),
    mean: fc.double({ min: 0.01, max: 100, noNaN: true }),
    variance: fc.double({ min: 0.01, max: 10_000, noNaN: true }),
  })

  test.each([
    ['once', TESTED],
    ['once, absolute', ABSOLUTE],
    ['at any time', ANY_TIME],
  ])('%s is significant just where its interval leaves nothing out', (_name, settings) => {
    fc.assert(
      fc.property(sample, sample, (own, base) => {
        const { p_value, interval, significant } = judged(own, base, settings)
        const [low, high] = interval
        // At the very edge both are rounded, each in its own way.
        fc.pre(Math.abs((p_value ?? 0) - 0.05) > 1e-6)
        expect(significant).toBe(low > 0 || high < 0)
        expect(p_value).toBeGreaterThanOrEqual(0)
        expect(p_value).toBeLessThanOrEqual(1)
      }),
    )
  })

  test('that may be looked at every day is less sure than one that is looked at once', () => {
    fc.assert(
      fc.property(sample, sample, (own, base) => {
        const [once, any] = [judged(own, base, TESTED), judged(own, base, ANY_TIME)]
        expect(any.interval[0]).toBeLessThan(once.interval[0])
        expect(any.interval[1]).toBeGreaterThan(once.interval[1])
      }),
    )
  })

  test('of what is spread by nothing, or a share of nothing, says nothing', () => {
    const still = { people: 100, mean: 1, variance: 0 }
    expect(effectOf({ own: still, base: still, scale: 1 }, 'absolute')).toBeNull()
    const nothing = { people: 100, mean: 0, variance: 1 }
    expect(effectOf({ own: nothing, base: nothing, scale: 0 }, 'relative')).toBeNull()
    expect(effectOf({ own: nothing, base: nothing, scale: 0 }, 'absolute')).not.toBeNull()
  })
})

describe('a belief', () => {
  // Φ(1.96) and 1.96 deviations to each side.
  test('is normal around what was seen', () => {
    const effect = { people: 100, estimate: 1.96, deviation: 1, degrees: 99 }
    const usual = readSettings(null, 'stats_config')
    const { chance_to_win, interval, significant, p_value } = testSignificance(effect, usual)
    expect(chance_to_win).toBeCloseTo(0.975, 4)
    expect(interval[0]).toBeCloseTo(0, 4)
    expect([significant, p_value]).toEqual([true, null])
    const surer = readSettings({ bayesian: { ci_level: 0.99 } }, 'stats_config')
    expect(testSignificance(effect, surer).significant).toBe(false)
    expect(testSignificance(effect, surer).interval[0]).toBeCloseTo(1.96 - 2.5758, 3)
  })
})

type Person = { readonly before: number; readonly after: number }

describe('what people were like before', () => {
  const person: fc.Arbitrary<Person> = fc.record({
    before: fc.integer({ min: -20, max: 20 }),
    after: fc.integer({ min: -20, max: 20 }),
  })
  const people = fc.array(person, { minLength: 3, maxLength: 60 })

  const measuredOf = (all: readonly Person[]): MeasuredSample => ({
    sample: sampleOf(all.map(({ after }) => after)),
    covariate: {
      total: sum(all.map(({ before }) => before)),
      sum_of_squares: sum(all.map(({ before }) => before * before)),
      product_total: sum(all.map(({ before, after }) => before * after)),
    },
  })

  test('is taken off as the regression line of all people says, person by person', () => {
    fc.assert(
      fc.property(people, people, (base, own) => {
        const all = [...base, ...own]
        const [x, y] = [sum(all.map((one) => one.before)), sum(all.map((one) => one.after))]
        const [mx, my] = [x / all.length, y / all.length]
        const spread = sum(all.map((one) => (one.before - mx) ** 2))
        fc.pre(spread > 0)
        const theta = sum(all.map((one) => (one.before - mx) * (one.after - my))) / spread
        const left = [base, own].map((some) =>
          sampleOf(some.map((one) => one.after - theta * (one.before - mx))),
        )
        adjustForCovariate([measuredOf(base), measuredOf(own)]).forEach((sample, index) => {
          expect(sample.mean).toBeCloseTo(left[index]?.mean ?? Number.NaN, 6)
          expect(sample.variance).toBeCloseTo(left[index]?.variance ?? Number.NaN, 5)
        })
      }),
    )
  })

  test('makes a small difference sure where it explains nearly all', () => {
    const group = (lift: number): readonly Person[] =>
      Array.from({ length: 200 }, (_, index) => ({
        before: index % 100,
        after: (index % 100) + lift + (index % 2),
      }))
    const [base, own] = [measuredOf(group(0)), measuredOf(group(1))]
    expect(judged(own.sample, base.sample, ABSOLUTE).significant).toBe(false)
    const [base_left, own_left] = adjustForCovariate([base, own])
    expect(judged(known(own_left), known(base_left), ABSOLUTE).significant).toBe(true)
    expect(known(own_left).mean - known(base_left).mean).toBeCloseTo(1, 9)
  })

  test('changes nothing where nothing was done, or nobody asked', () => {
    const { sample } = measuredOf([
      { before: 0, after: 1 },
      { before: 0, after: 3 },
    ])
    const nothing = { total: 0, sum_of_squares: 0, product_total: 0 }
    expect(adjustForCovariate([{ sample, covariate: nothing }])).toEqual([sample])
    expect(adjustForCovariate([{ sample, covariate: null }])).toEqual([sample])
    expect(adjustForCovariate([])).toEqual([])
  })
})

describe('settings', () => {
  test('that say nothing are the usual ones', () => {
    const usual = {
      method: 'bayesian',
      level: 0.95,
      difference: 'relative',
      baseline: null,
      lookback_days: null,
      sequential_people: null,
    }
    for (const raw of [null, undefined, {}, { version: 2, cuped: { lookback_days: 7 } }]) {
      expect(readSettings(raw, 'stats_config')).toEqual(usual as StatsSettings)
    }
    expect(
      readSettings(
        {
          method: 'frequentist',
          baseline_variant_key: 'b',
          frequentist: {
            alpha: 0.1,
            difference_type: 'absolute',
            sequential_testing_enabled: true,
          },
          cuped: { enabled: true },
        },
        'stats_config',
      ),
    ).toEqual({
      method: 'frequentist',
      level: 0.9,
      difference: 'absolute',
      baseline: 'b',
      lookback_days: 14,
      sequential_people: 5000,
    })
  })

  test.each([
    ['text', ''],
    [[], ''],
    [{ method: 'magic' }, '__method'],
    [{ method: 1 }, '__method'],
    [{ method: {} }, '__method'],
    [{ bayesian: 'much' }, '__bayesian'],
    [{ bayesian: { ci_level: 1 } }, '__bayesian__ci_level'],
    [{ bayesian: { ci_level: '0.9' } }, '__bayesian__ci_level'],
    [{ method: 'frequentist', frequentist: { alpha: 0 } }, '__frequentist__alpha'],
    [{ bayesian: { difference_type: 'odd' } }, '__bayesian__difference_type'],
    [{ bayesian: { difference_type: 1 } }, '__bayesian__difference_type'],
    [{ baseline_variant_key: 1 }, '__baseline_variant_key'],
    [{ cuped: true }, '__cuped'],
    [{ cuped: { enabled: 'yes' } }, '__cuped__enabled'],
    [{ cuped: { enabled: true, lookback_days: 31 } }, '__cuped__lookback_days'],
    [{ cuped: { enabled: true, lookback_days: 1.5 } }, '__cuped__lookback_days'],
    [
      { method: 'frequentist', frequentist: { sequential_tuning_parameter: 0 } },
      '__frequentist__sequential_tuning_parameter',
    ],
  ])('of %j are refused by name', (raw, path) => {
    expect(() => readSettings(raw, 'stats_config')).toThrow(
      expect.objectContaining({ attr: `stats_config${path}` }),
    )
  })
})
