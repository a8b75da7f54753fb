/** Experiments asked about at the query endpoint: random histories against plain sums over rows, and the words of each kind. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { type Histories, type History, openHistories, type SentEvent } from '../history.ts'

limitTests(120_000)

const NOW = '2024-06-12T12:00:00Z'
const BEGUN = Date.parse('2024-06-01T00:00:00Z')
const MINUTE = 60_000
const WINDOW_MINUTES = 30

let histories: Histories
beforeAll(async () => {
  histories = await openHistories(NOW)
})
afterAll(() => histories.close())

type Happened = {
  readonly person: number
  /** Minutes after the beginning; negative ones are before it. */
  readonly at: number
  readonly event: string
  readonly variant?: string
  readonly price?: number | null
  readonly session?: string
}

const common = { person: fc.integer({ min: 0, max: 5 }), at: fc.integer({ min: -5, max: 60 }) }
const happened: fc.Arbitrary<Happened> = fc.oneof(
  fc.record({
    ...common,
    event: fc.constant('$feature_flag_called'),
    variant: fc.constantFrom('control', 'test', 'test', 'elsewhere'),
  }),
  fc.record({
    ...common,
    event: fc.constantFrom('buy', 'buy', 'see'),
    price: fc.option(fc.integer({ min: -20, max: 20 })),
    session: fc.constantFrom('', 's1', 's2'),
  }),
)

const sentOf = ({ person, at, event, variant, price, session }: Happened): SentEvent => ({
  event,
  distinct_id: `p${person}`,
  timestamp: new Date(BEGUN + at * MINUTE).toISOString(),
  properties:
    variant === undefined
      ? { price, $session_id: session }
      : { $feature_flag: 'trial', $feature_flag_response: variant },
})

/** What a person did after they were shown their only variant, in the window or as long as it runs. */
function doneBy(history: readonly Happened[], variant: string, window: number | null) {
  const people = Map.groupBy(
    history.filter((one) => one.at >= 0),
    (one) => one.person,
  )
  return [...people.values()].flatMap((events) => {
    const shown = events.filter((one) => one.variant !== undefined && one.variant !== 'elsewhere')
    if (shown.length === 0 || shown.some((one) => one.variant !== variant)) return []
    const first = Math.min(...shown.map((one) => one.at))
    return [
      events.filter((one) => one.at >= first && (window === null || one.at <= first + window)),
    ]
  })
}

type FigureOf = (events: readonly Happened[]) => number

const pricesOf = (events: readonly Happened[]): readonly number[] =>
  events.flatMap((one) => (one.event === 'buy' ? (one.price ?? []) : []))
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

/** A person's figure by math, written plainly. */
const FIGURES: Readonly<Record<string, FigureOf>> = {
  total: (events) => events.filter((one) => one.event === 'buy').length,
  sum: (events) => sumOf(pricesOf(events)),
  max: (events) => (pricesOf(events).length === 0 ? 0 : Math.max(...pricesOf(events))),
  min: (events) => (pricesOf(events).length === 0 ? 0 : Math.min(...pricesOf(events))),
  avg: (events) =>
    pricesOf(events).length === 0 ? 0 : sumOf(pricesOf(events)) / pricesOf(events).length,
  unique_session: (events) => {
    const sessions = events.flatMap((one) => (one.event === 'buy' ? (one.session ?? []) : []))
    return new Set(sessions.filter((session) => session !== '')).size
  },
}

const buy = { kind: 'EventsNode', event: 'buy' }
const see = { kind: 'EventsNode', event: 'see' }

async function begin(sent: readonly Happened[]): Promise<{ history: History; id: number }> {
  const history = await histories.open()
  const made = await history.call('POST', 'experiments/', {
    name: 'Trial',
    feature_flag_key: 'trial',
    start_date: new Date(BEGUN).toISOString(),
  })
  await history.send(sent.map(sentOf))
  return { history, id: Number(JSON.parse(await made.text()).id) }
}

describe('an ExperimentQuery', () => {
  test('sums up what every person of a variant did, whatever the history', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happened, { maxLength: 60 }), async (sent) => {
        const { history, id } = await begin(sent)
        const ask = async (metric: object) => {
          const query = { kind: 'ExperimentQuery', experiment_id: id, metric }
          const { body } = await history.ask(query)
          return [body['baseline'], ...((body['variant_results'] as unknown[] | undefined) ?? [])]
        }
        for (const window of [null, WINDOW_MINUTES]) {
          const windowed = {
            kind: 'ExperimentMetric',
            ...(window === null
              ? {}
              : { conversion_window: window, conversion_window_unit: 'minute' }),
          }
          for (const [math, figureOf] of Object.entries(FIGURES)) {
            const source = { ...buy, math, math_property: 'price' }
            const metric = { ...windowed, metric_type: 'mean', source }
            const wanted = ['control', 'test'].map((variant) => {
              const figures = doneBy(sent, variant, window).map(figureOf)
              return {
                key: variant,
                number_of_samples: figures.length,
                sum: expect.closeTo(sumOf(figures), 6),
                sum_squares: expect.closeTo(sumOf(figures.map((one) => one * one)), 6),
              }
            })
            expect(await ask(metric)).toMatchObject(wanted)
          }
          const numerator = { ...buy, math: 'sum', math_property: 'price' }
          const metric = { ...windowed, metric_type: 'ratio', numerator, denominator: see }
          const wanted = ['control', 'test'].map((variant) => {
            const pairs = doneBy(sent, variant, window).map((events) => ({
              above: sumOf(pricesOf(events)),
              below: events.filter((one) => one.event === 'see').length,
            }))
            return {
              key: variant,
              number_of_samples: pairs.length,
              sum: sumOf(pairs.map(({ above }) => above)),
              sum_squares: sumOf(pairs.map(({ above }) => above * above)),
              denominator_sum: sumOf(pairs.map(({ below }) => below)),
              denominator_sum_squares: sumOf(pairs.map(({ below }) => below * below)),
              numerator_denominator_sum_product: sumOf(
                pairs.map(({ above, below }) => above * below),
              ),
            }
          })
          expect(await ask(metric)).toMatchObject(wanted)
        }
      }),
      randomRuns(2),
    )
  })

  test('answers in the words that clients read, and only for experiments that run', async () => {
    const shown = (person: number, variant: string): Happened => ({
      person,
      at: 1,
      event: '$feature_flag_called',
      variant,
    })
    const { history, id } = await begin([
      shown(0, 'control'),
      shown(1, 'test'),
      { person: 1, at: 2, event: 'see' },
      { person: 1, at: 3, event: 'buy', price: 4 },
      { person: 0, at: 2, event: 'see' },
    ])
    const funnel = { kind: 'ExperimentMetric', metric_type: 'funnel', series: [see, buy] }
    const today = await history.ask({ kind: 'ExperimentQuery', experiment_id: id, metric: funnel })
    expect(today.body).toMatchObject({
      kind: 'ExperimentQuery',
      metric: funnel,
      baseline: { key: 'control', number_of_samples: 1, sum: 0, step_counts: [1, 0] },
      variant_results: [
        {
          key: 'test',
          method: 'bayesian',
          number_of_samples: 1,
          sum: 1,
          sum_squares: 1,
          step_counts: [1, 1],
          significant: null,
          chance_to_win: null,
          credible_interval: null,
          validation_failures: ['not-enough-exposures', 'not-enough-metric-data'],
        },
      ],
      significant: false,
      significance_code: 'not_enough_exposure',
      probability: { control: expect.any(Number), test: expect.any(Number) },
    })
    const funnels = await history.ask({
      kind: 'ExperimentFunnelsQuery',
      experiment_id: id,
      funnels_query: { kind: 'FunnelsQuery', series: [see, buy] },
    })
    expect(funnels.body).toMatchObject({
      variants: [
        { key: 'control', success_count: 0, failure_count: 1 },
        { key: 'test', success_count: 1, failure_count: 0 },
      ],
      insight: [
        [
          { name: 'Experiment exposure', order: 0, count: 1, breakdown_value: ['control'] },
          { name: 'see', count: 1 },
          { name: 'buy', count: 0 },
        ],
        [{ count: 1 }, { count: 1 }, { count: 1, breakdown_value: ['test'] }],
      ],
      credible_intervals: { control: [expect.any(Number), expect.any(Number)] },
    })
    const trends = {
      kind: 'ExperimentTrendsQuery',
      experiment_id: id,
      count_query: {
        kind: 'TrendsQuery',
        series: [{ ...buy, math: 'sum', math_property: 'price' }],
      },
    }
    expect((await history.ask(trends)).body['variants']).toEqual([
      { key: 'control', count: 0, exposure: 1, absolute_exposure: 1 },
      { key: 'test', count: 4, exposure: 1, absolute_exposure: 1 },
    ])
    const exposure_query = { kind: 'TrendsQuery', series: [buy] }
    expect(await history.ask({ ...trends, exposure_query })).toMatchObject({
      status: 400,
      body: { attr: 'query__exposure_query' },
    })
    expect(await history.ask({ ...trends, experiment_id: 9999 })).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', attr: 'query__experiment_id' },
    })
    await history.call('POST', 'experiments/', { name: 'Draft', feature_flag_key: 'draft' })
    const drafted = await history.ask({ ...trends, experiment_id: id + 1 })
    expect(drafted).toMatchObject({ status: 400, body: { attr: 'query__experiment_id' } })
  })

  test('counts what falls into its window after the experiment ended, for whom it exposed', async () => {
    const shown = { event: '$feature_flag_called', variant: 'test' }
    const { history, id } = await begin([
      { person: 0, at: 8, ...shown },
      { person: 0, at: 15, event: 'buy' },
      { person: 0, at: 50, event: 'buy' },
      { person: 1, at: 12, ...shown },
      { person: 1, at: 13, event: 'buy' },
    ])
    const end_date = new Date(BEGUN + 10 * MINUTE).toISOString()
    expect((await history.call('PATCH', `experiments/${id}/`, { end_date })).status).toBe(200)
    const windowed = { conversion_window: WINDOW_MINUTES, conversion_window_unit: 'minute' }
    const ask = async (metric: object) => {
      const whole = { kind: 'ExperimentMetric', ...metric }
      const query = { kind: 'ExperimentQuery', experiment_id: id, metric: whole }
      return ((await history.ask(query)).body['variant_results'] as unknown[])[0]
    }
    const mean = { metric_type: 'mean', source: buy }
    const funnel = { metric_type: 'funnel', series: [buy] }
    for (const metric of [mean, funnel]) {
      expect(await ask({ ...metric, ...windowed })).toMatchObject({ number_of_samples: 1, sum: 1 })
      expect(await ask(metric)).toMatchObject({ number_of_samples: 1, sum: 0 })
    }
  })

  test('leaves out whom and what its query leaves out', async () => {
    const history = await histories.open({
      test_account_filters: [{ key: 'staff', value: 'yes', operator: 'is_not', type: 'event' }],
    })
    const made = await history.call('POST', 'experiments/', {
      name: 'Trial',
      feature_flag_key: 'trial',
      start_date: new Date(BEGUN).toISOString(),
    })
    const id = Number(JSON.parse(await made.text()).id)
    const send = (distinct_id: string, event: string, properties: object): SentEvent => ({
      event,
      distinct_id,
      timestamp: new Date(BEGUN + MINUTE).toISOString(),
      properties: { ...properties },
    })
    const shown = { $feature_flag: 'trial', $feature_flag_response: 'control' }
    await history.send([
      send('us', '$feature_flag_called', { ...shown, staff: 'yes' }),
      send('us', 'buy', { price: 7, staff: 'yes', plan: 'pro' }),
      send('ann', '$feature_flag_called', shown),
      send('ann', 'buy', { price: 2, plan: 'pro' }),
      send('ann', 'buy', { price: 5, plan: 'free' }),
    ])
    const ask = async (narrowed: object) => {
      const series = [{ ...buy, math: 'sum', math_property: 'price' }]
      const count_query = { kind: 'TrendsQuery', series, ...narrowed }
      const query = { kind: 'ExperimentTrendsQuery', experiment_id: id, count_query }
      return ((await history.ask(query)).body['variants'] as unknown[])[0]
    }
    const properties = [{ key: 'plan', value: 'pro', operator: 'exact', type: 'event' }]
    expect(await ask({})).toMatchObject({ count: 14, absolute_exposure: 2 })
    expect(await ask({ filterTestAccounts: true })).toMatchObject({
      count: 7,
      absolute_exposure: 1,
    })
    expect(await ask({ properties })).toMatchObject({ count: 9, absolute_exposure: 2 })
    expect(await ask({ properties, filterTestAccounts: true })).toMatchObject({ count: 2 })
  })
})
