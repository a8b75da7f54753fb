/** Cohorts of what people did, every kind of it: random histories against plain readings of the rules. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type Histories, openHistories, type SentEvent } from '../../../insights/history.ts'
import { limitTests } from '../../../long-tests.ts'
import { randomRuns } from '../../../random-runs.ts'

limitTests(120_000)

const NOW = '2024-06-12T12:00:00Z'
const NOW_MS = Date.parse(NOW)
const DAY = 86_400_000
const PEOPLE = ['p0', 'p1', 'p2', 'p3', 'p4']

let histories: Histories
beforeAll(async () => {
  histories = await openHistories(NOW)
})
afterAll(() => histories.close())

type Happened = {
  readonly person: number
  readonly event: 'buy' | 'see'
  /** Quarters of a day before now. */
  readonly ago: number
  readonly plan: 'free' | 'pro'
}

/** No two events at the same instant, and none on the edge of a window. */
const atOf = ({ ago }: Happened, index: number): number =>
  NOW_MS - (ago * DAY) / 4 - (index + 1) * 1000

const happened: fc.Arbitrary<Happened> = fc.record({
  person: fc.integer({ min: 0, max: PEOPLE.length - 1 }),
  event: fc.constantFrom('buy', 'buy', 'see'),
  ago: fc.integer({ min: 0, max: 48 }),
  plan: fc.constantFrom('free', 'pro'),
})

type Own = readonly { readonly event: string; readonly days: number; readonly plan: string }[]

/** Whether somebody is in, of what they did: `days` is how many days ago, the latest first. */
type Rule = readonly [name: string, leaf: object, isIn: (own: Own) => boolean]

const buys = (own: Own): Own => own.filter(({ event }) => event === 'buy')
const between = (own: Own, from: number, to: number): Own =>
  own.filter(({ days }) => days > from && days < to)

const RULES: readonly Rule[] = [
  [
    'did it since a relative date, whatever the time says',
    { value: 'performed_event', explicit_datetime: '-5d', time_value: 1, time_interval: 'day' },
    (own) => between(buys(own), 0, 5).length > 0,
  ],
  [
    'did it between two dates',
    {
      value: 'performed_event',
      explicit_datetime: '2024-06-04T12:00:00Z',
      explicit_datetime_to: '-3d',
    },
    (own) => between(buys(own), 3, 8).length > 0,
  ],
  [
    'did it with a property, some times',
    {
      value: 'performed_event_multiple',
      operator: 'gte',
      operator_value: 2,
      time_value: 1,
      time_interval: 'week',
      event_filters: [{ key: 'plan', value: 'pro', operator: 'exact', type: 'event' }],
    },
    (own) => between(buys(own), 0, 7).filter(({ plan }) => plan === 'pro').length >= 2,
  ],
  [
    'did it for the first time',
    { value: 'performed_event_first_time', time_value: 4, time_interval: 'day' },
    (own) => buys(own).length > 0 && buys(own).every(({ days }) => days < 4),
  ],
  [
    'did it regularly',
    {
      value: 'performed_event_regularly',
      operator: 'gte',
      operator_value: 1,
      time_value: 2,
      time_interval: 'day',
      total_periods: 4,
      min_periods: 2,
    },
    (own) =>
      [0, 2, 4, 6].filter((from) => between(buys(own), from, from + 2).length > 0).length >= 2,
  ],
  [
    'did it and stopped',
    {
      value: 'stopped_performing_event',
      time_value: 8,
      time_interval: 'day',
      seq_time_value: 3,
      seq_time_interval: 'day',
    },
    (own) => between(buys(own), 0, 3).length === 0 && between(buys(own), 3, 8).length > 0,
  ],
  [
    'did it again after a pause',
    {
      value: 'restarted_performing_event',
      time_value: 8,
      time_interval: 'day',
      seq_time_value: 3,
      seq_time_interval: 'day',
    },
    (own) =>
      between(buys(own), 0, 3).length > 0 &&
      between(buys(own), 3, 8).length === 0 &&
      between(buys(own), 8, 99).length > 0,
  ],
  [
    'did one thing after the other',
    {
      value: 'performed_event_sequence',
      time_value: 6,
      time_interval: 'day',
      seq_event: 'see',
      seq_event_type: 'events',
      seq_time_value: 1,
      seq_time_interval: 'day',
    },
    (own) => isFollowed(own, 'see'),
  ],
  [
    'did the same thing twice in a row',
    {
      value: 'performed_event_sequence',
      time_value: 6,
      time_interval: 'day',
      seq_event: 'buy',
      seq_event_type: 'events',
      seq_time_value: 1,
      seq_time_interval: 'day',
    },
    (own) => isFollowed(own, 'buy'),
  ],
]

function isFollowed(own: Own, by: string): boolean {
  return between(buys(own), 0, 6).some(({ days }) =>
    own.some((next) => next.event === by && next.days < days && days - next.days <= 1),
  )
}

test('everybody is in a cohort of what people did who did it, whatever the history', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(happened, { minLength: 10, maxLength: 40 }),
      fc.boolean(),
      async (sent, by_action) => {
        const history = await histories.open()
        await history.send(
          sent.map(
            (one, index): SentEvent => ({
              event: one.event,
              distinct_id: String(PEOPLE[one.person]),
              timestamp: new Date(atOf(one, index)).toISOString(),
              properties: { plan: one.plan },
            }),
          ),
        )
        const action = await history.call('POST', 'actions/', {
          name: 'Bought',
          steps: [{ event: 'buy' }],
        })
        const entity = by_action
          ? { key: JSON.parse(await action.text()).id, event_type: 'actions' }
          : { key: 'buy', event_type: 'events' }
        const ids = new Map<string, unknown>()
        for (const [name, leaf] of RULES) {
          const values = [{ type: 'behavioral', ...entity, ...leaf }]
          const filters = { properties: { type: 'AND', values } }
          const made = await history.call('POST', 'cohorts/', { name, filters })
          const cohort = JSON.parse(await made.text())
          expect([name, made.status, cohort.detail]).toEqual([name, 201, undefined])
          ids.set(name, cohort.id)
        }
        await histories.world.needs.cohorts.look()
        const own = PEOPLE.map((_name, person) =>
          sent.flatMap((one, index) =>
            one.person === person ? [{ ...one, days: (NOW_MS - atOf(one, index)) / DAY }] : [],
          ),
        )
        for (const [name, , isIn] of RULES) {
          const listed = await history.call('GET', `cohorts/${String(ids.get(name))}/persons/`)
          const found: { readonly distinct_ids: readonly string[] }[] = JSON.parse(
            await listed.text(),
          ).results
          const wanted = PEOPLE.filter((_name, person) => isIn(own[person] ?? []))
          const names = found.flatMap(({ distinct_ids }) => distinct_ids)
          expect([name, names.toSorted()]).toEqual([name, wanted])
        }
      },
    ),
    randomRuns(3),
  )
})
