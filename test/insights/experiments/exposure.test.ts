/** Who counts as exposed, and who came back: random histories against plain readings of the rules. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { type Histories, type History, openHistories, type SentEvent } from '../history.ts'

limitTests(120_000)

const NOW = '2024-06-12T12:00:00Z'
const BEGUN = Date.parse('2024-06-10T00:00:00Z')
const HOUR = 3_600_000
const DAYS = ['2024-06-10', '2024-06-11', '2024-06-12']
const LAST_HOUR = 60

let histories: Histories
beforeAll(async () => {
  histories = await openHistories(NOW)
})
afterAll(() => histories.close())

type Happened = {
  readonly person: number
  /** Half hours after the beginning; negative ones are before it, and the last lie ahead. */
  readonly at: number
  readonly event: 'begin' | 'called' | 'come' | 'opened'
  readonly variant: string
  readonly is_staff: boolean
}

const happened: fc.Arbitrary<Happened> = fc.record({
  person: fc.integer({ min: 0, max: 4 }),
  at: fc.integer({ min: -6, max: 2 * LAST_HOUR + 20 }),
  event: fc.constantFrom('begin', 'called', 'called', 'come', 'come', 'opened'),
  variant: fc.constantFrom('control', 'test', 'test', 'test', 'elsewhere', ''),
  is_staff: fc.constantFrom(false, false, false, true),
})

const NAMES = { begin: 'begin', called: '$feature_flag_called', come: 'come', opened: 'opened' }

const sentOf = ({ person, at, event, variant, is_staff }: Happened, index: number): SentEvent => ({
  event: NAMES[event],
  distinct_id: `p${person}`,
  // No two events at the same instant: what comes first is to be said.
  timestamp: new Date(BEGUN + (at * HOUR) / 2 + index).toISOString(),
  properties: {
    ...(event === 'called' ? { $feature_flag: 'trial', $feature_flag_response: variant } : {}),
    ...(event === 'opened' ? { '$feature/trial': variant } : {}),
    ...(is_staff ? { staff: 'yes' } : {}),
    place: person % 2 === 0 ? 'even' : 'odd',
  },
})

type Seen = Happened & { readonly ms: number }

const seenOf = (sent: readonly Happened[]): readonly Seen[] =>
  sent
    .map((one, index) => ({ ...one, ms: BEGUN + (one.at * HOUR) / 2 + index }))
    .toSorted((a, b) => a.ms - b.ms)

type Criteria = {
  readonly event: 'called' | 'opened'
  readonly takes_first: boolean
  readonly leaves_staff_out: boolean
  readonly only_even: boolean
}

const ALL_CRITERIA: readonly Criteria[] = (['called', 'opened'] as const).flatMap((event) =>
  [false, true].flatMap((takes_first) =>
    [false, true].map((leaves_staff_out) => ({
      event,
      takes_first,
      leaves_staff_out,
      only_even: takes_first && leaves_staff_out,
    })),
  ),
)

const wireOf = ({ event, takes_first, leaves_staff_out, only_even }: Criteria) => ({
  filterTestAccounts: leaves_staff_out,
  multiple_variant_handling: takes_first ? 'first_seen' : 'exclude',
  exposure_config: {
    kind: 'ExperimentEventExposureConfig',
    event: NAMES[event],
    properties: only_even
      ? [{ key: 'place', value: 'even', operator: 'exact', type: 'event' }]
      : [],
  },
})

/** When each person was first exposed, and to what. */
function exposedTo(seen: readonly Seen[], criteria: Criteria) {
  const told = seen.filter(
    ({ event, variant, ms, is_staff, person }) =>
      event === criteria.event &&
      ['control', 'test'].includes(variant) &&
      ms >= BEGUN &&
      ms <= Date.parse(NOW) &&
      !(criteria.leaves_staff_out && is_staff) &&
      !(criteria.only_even && person % 2 === 1),
  )
  return [...Map.groupBy(told, ({ person }) => person)].map(([person, own]) => {
    const [first] = own
    const variants = new Set(own.map(({ variant }) => variant))
    const variant = criteria.takes_first || variants.size === 1 ? first?.variant : '$multiple'
    return { person, variant: String(variant), first_ms: Number(first?.ms) }
  })
}

async function begin(sent: readonly Happened[], timezone = 'UTC') {
  const history = await histories.open({
    timezone,
    test_account_filters: [{ key: 'staff', value: 'yes', operator: 'is_not', type: 'event' }],
  })
  const id = await experimentOf(history, {})
  await history.send(sent.map(sentOf))
  return { history, id }
}

async function experimentOf(history: History, settings: object): Promise<number> {
  const made = await history.call('POST', 'experiments/', {
    name: 'Trial',
    feature_flag_key: 'trial',
    start_date: new Date(BEGUN).toISOString(),
    ...settings,
  })
  expect(made.status).toBe(201)
  return Number(JSON.parse(await made.text()).id)
}

describe('an ExperimentExposureQuery', () => {
  test('counts people until the end of each day, whatever the history and the criteria', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happened, { maxLength: 50 }), async (sent) => {
        const { history, id } = await begin(sent)
        for (const criteria of ALL_CRITERIA) {
          const { body } = await history.ask({
            kind: 'ExperimentExposureQuery',
            experiment_id: id,
            exposure_criteria: wireOf(criteria),
          })
          const exposed = exposedTo(seenOf(sent), criteria)
          const keys = ['control', 'test', '$multiple'].filter(
            (key) => key !== '$multiple' || exposed.some(({ variant }) => variant === key),
          )
          const timeseries = keys.map((variant) => ({
            variant,
            days: DAYS,
            exposure_counts: DAYS.map(
              (_day, index) =>
                exposed.filter(
                  (one) =>
                    one.variant === variant && one.first_ms < BEGUN + (index + 1) * 24 * HOUR,
                ).length,
            ),
          }))
          expect([criteria, body['timeseries']]).toEqual([criteria, timeseries])
          expect(body['total_exposures']).toEqual(
            Object.fromEntries(
              timeseries.map(({ variant, exposure_counts }) => [variant, exposure_counts[2]]),
            ),
          )
        }
      }),
      randomRuns(2),
    )
  })

  test('takes criteria and dates from the experiment where it says none', async () => {
    const at = (hours: number, person: number, variant: string): Happened => ({
      person,
      at: 2 * hours,
      event: 'opened',
      variant,
      is_staff: false,
    })
    const { history, id } = await begin([at(1, 0, 'test'), at(2, 0, 'control'), at(30, 1, 'test')])
    const criteria = wireOf({
      event: 'opened',
      takes_first: true,
      leaves_staff_out: false,
      only_even: false,
    })
    const changed = await history.call('PATCH', `experiments/${id}/`, {
      exposure_criteria: criteria,
      stats_config: { version: 2 },
    })
    const shown = JSON.parse(await changed.text())
    expect([shown.exposure_criteria, shown.stats_config]).toEqual([criteria, { version: 2 }])
    const ask = async (more: object) => {
      const query = { kind: 'ExperimentExposureQuery', experiment_id: id, ...more }
      return (await history.ask(query)).body
    }
    expect(await ask({})).toMatchObject({
      kind: 'ExperimentExposureQuery',
      total_exposures: { control: 0, test: 2 },
      date_range: { date_from: '2024-06-10T00:00:00+00:00', date_to: '2024-06-12T12:00:00+00:00' },
    })
    const ended = await ask({ end_date: '2024-06-10T23:00:00Z' })
    expect(ended['timeseries']).toEqual([
      { variant: 'control', days: [DAYS[0]], exposure_counts: [0] },
      { variant: 'test', days: [DAYS[0]], exposure_counts: [1] },
    ])
    const usual = await ask({ exposure_criteria: {} })
    expect(usual['total_exposures']).toEqual({ control: 0, test: 0 })
    const exposures = await history.call('GET', `experiments/${id}/exposures/`)
    expect(JSON.parse(await exposures.text()).total_exposures).toEqual({ test: 2 })
    expect(await ask({ experiment_id: null })).toMatchObject({ attr: 'query__experiment_id' })
    const wrong = { exposure_criteria: { multiple_variant_handling: 'both' } }
    expect(await ask(wrong)).toMatchObject({ attr: 'query__exposure_criteria' })
    const refused = await history.call('PATCH', `experiments/${id}/`, wrong)
    expect(JSON.parse(await refused.text())).toMatchObject({
      code: 'invalid_choice',
      attr: 'exposure_criteria',
    })
  })

  test('counts groups where the flag decides for groups, and actions that tell of exposures', async () => {
    const history = await histories.open()
    await history.send([
      {
        event: '$groupidentify',
        distinct_id: 'x',
        timestamp: NOW,
        properties: { $group_type: 'company', $group_key: 'acme', $group_set: {} },
      },
    ])
    const action = await history.call('POST', 'actions/', {
      name: 'Opened',
      steps: [{ event: 'opened' }],
    })
    const id = await experimentOf(history, {
      parameters: { aggregation_group_type_index: 0 },
      exposure_criteria: {
        exposure_config: { kind: 'ActionsNode', id: JSON.parse(await action.text()).id },
      },
      metrics: [
        {
          kind: 'ExperimentMetric',
          metric_type: 'mean',
          source: { kind: 'EventsNode', event: 'buy' },
        },
      ],
    })
    const event = (name: string, person: string, company: string | null): SentEvent => ({
      event: name,
      distinct_id: person,
      timestamp: new Date(BEGUN + HOUR).toISOString(),
      properties: {
        '$feature/trial': 'test',
        ...(company === null ? {} : { $groups: { company } }),
      },
    })
    await history.send([
      event('opened', 'a', 'acme'),
      event('opened', 'b', 'acme'),
      event('opened', 'c', 'bolt'),
      event('opened', 'd', null),
      event('buy', 'b', 'acme'),
      event('buy', 'e', 'acme'),
      event('buy', 'd', null),
    ])
    const answer = await history.call('GET', `experiments/${id}/results/`)
    const { exposures, metrics } = JSON.parse(await answer.text())
    expect(exposures).toEqual({ test: 2 })
    expect(metrics[0].variants).toMatchObject([
      { key: 'control', exposures: 0 },
      { key: 'test', exposures: 2, count: 2 },
    ])
  })
})

const HOUR_UNITS = { hour: HOUR, minute: HOUR / 60 }
type Unit = 'day' | 'hour' | 'minute'

const stepOf = (ms: number, unit: Unit): number => {
  if (unit === 'minute') return ms / HOUR_UNITS.minute
  return Math.floor(ms / (unit === 'day' ? 24 * HOUR : HOUR))
}

type Window = { readonly from: number; readonly to: number; readonly unit: Unit }

const windows: fc.Arbitrary<Window> = fc
  .record({
    from: fc.integer({ min: 0, max: 3 }),
    more: fc.integer({ min: 0, max: 3 }),
    unit: fc.constantFrom<Unit>('day', 'hour', 'minute'),
  })
  .map(({ from, more, unit }) => {
    const scale = unit === 'minute' ? 45 : 1
    return { from: from * scale, to: (from + more) * scale, unit }
  })

/** Of the people of a variant who began in time, how many there are and how many came back. */
function retained(
  seen: readonly Seen[],
  variant: string,
  { from, to, unit }: Window,
  how: { readonly takes_last: boolean; readonly soon_hours: number | null },
): readonly [began: number, back: number] {
  const criteria = {
    event: 'called',
    takes_first: false,
    leaves_staff_out: false,
    only_even: false,
  } as const
  const soon_ms = how.soon_hours === null ? null : how.soon_hours * HOUR
  const results = exposedTo(seen, criteria)
    .filter((one) => one.variant === variant)
    .flatMap(({ person, first_ms }) => {
      const own = seen.filter((one) => one.person === person)
      const starts = own
        .filter(({ event, ms }) => event === 'begin' && ms >= BEGUN)
        .filter(({ ms }) => ms <= Date.parse(NOW) + (soon_ms ?? 0))
      const start = how.takes_last ? starts.at(-1) : starts[0]
      if (start === undefined || start.ms < first_ms) return []
      // In whole seconds, as the window of a metric is.
      if (soon_ms !== null && stepSeconds(start.ms) - stepSeconds(first_ms) > soon_ms / 1000) {
        return []
      }
      const began = stepOf(start.ms, unit)
      return own.some(
        ({ event, ms }) =>
          event === 'come' &&
          ms >= start.ms &&
          stepOf(ms, unit) >= began + from &&
          stepOf(ms, unit) <= began + to,
      )
    })
  return [results.length, results.filter((is_back) => is_back).length]
}

const stepSeconds = (ms: number): number => Math.floor(ms / 1000)

describe('a retention metric', () => {
  test('counts who came back of those who began, whatever the history', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(happened, { minLength: 20, maxLength: 80 }),
        fc.array(windows, { minLength: 3, maxLength: 3 }),
        async (sent, asked) => {
          const { history, id } = await begin(sent)
          for (const [index, window] of asked.entries()) {
            const how = { takes_last: index % 2 === 1, soon_hours: index === 2 ? 20 : null }
            const { body } = await history.ask({
              kind: 'ExperimentQuery',
              experiment_id: id,
              metric: {
                kind: 'ExperimentMetric',
                metric_type: 'retention',
                start_event: { kind: 'EventsNode', event: 'begin' },
                completion_event: { kind: 'EventsNode', event: 'come' },
                retention_window_start: window.from,
                retention_window_end: window.to,
                retention_window_unit: window.unit,
                start_handling: how.takes_last ? 'last_seen' : 'first_seen',
                ...(how.soon_hours === null
                  ? {}
                  : { conversion_window: how.soon_hours, conversion_window_unit: 'hour' }),
              },
            })
            const wanted = ['control', 'test'].map((key) => {
              const [began, back] = retained(seenOf(sent), key, window, how)
              return { key, number_of_samples: began, sum: back, sum_squares: back }
            })
            const variants: unknown = body['variant_results']
            const all = [body['baseline'], ...(Array.isArray(variants) ? variants : [])]
            expect([window, how, all]).toMatchObject([window, how, wanted])
          }
        },
      ),
      randomRuns(3),
    )
  })

  test.each([
    [{ retention_window_start: 3, retention_window_end: 1 }, 'whole ends'],
    [{ retention_window_start: 1.5 }, 'whole ends'],
    [{ retention_window_unit: 'year' }, 'unit'],
    [{ completion_event: null }, 'needs the events'],
  ])('with %j is refused', async (wrong, detail) => {
    const { history, id } = await begin([])
    const { status, body } = await history.ask({
      kind: 'ExperimentQuery',
      experiment_id: id,
      metric: {
        kind: 'ExperimentMetric',
        metric_type: 'retention',
        start_event: { kind: 'EventsNode', event: 'begin' },
        completion_event: { kind: 'EventsNode', event: 'come' },
        retention_window_start: 1,
        retention_window_end: 7,
        retention_window_unit: 'day',
        ...wrong,
      },
    })
    expect([status, body['attr']]).toEqual([400, 'query__metric'])
    expect(body['detail']).toContain(detail)
  })
})
