/** Trends, lifecycles and stickiness over the server's own door, with people as real requests make them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Histories, type History, openHistories, type SentEvent } from './history.ts'

setDefaultTimeout(60_000)

/** A Wednesday. */
const NOW = '2024-06-12T12:00:00Z'
const TWICE = '0190a1b2-0000-7000-8000-000000000001'

let histories: Histories
let history: History
beforeAll(async () => {
  histories = await openHistories(NOW)
  history = await histories.open({ timezone: 'Europe/Berlin', week_start_day: 1 })
  await history.send([
    seen('visitor', '2024-06-10T10:00:00Z', { plan: 'pro' }),
    // Sent twice, by the same name.
    { ...seen('ann', '2024-06-10T11:00:00Z'), uuid: TWICE },
    { ...seen('ann', '2024-06-10T11:00:00Z'), uuid: TWICE },
    // Half past midnight of the 11th in Berlin.
    seen('bob', '2024-06-10T22:30:00Z', { plan: 'free' }),
  ])
  // The visitor says who they are: on the 10th there was one person less than it seemed.
  await history.send([
    {
      event: '$identify',
      distinct_id: 'ann',
      timestamp: '2024-06-11T10:00:00Z',
      properties: { $anon_distinct_id: 'visitor' },
    },
    seen('visitor', '2024-06-12T10:00:00Z', { plan: 'pro' }),
  ])
  // What comes late counts where it belongs.
  await history.send([seen('bob', '2024-06-08T09:00:00Z', { plan: 'free' })])
})
afterAll(() => histories.close())

function seen(distinct_id: string, timestamp: string, properties: object = {}): SentEvent {
  return { event: 'seen', distinct_id, timestamp, properties: { ...properties } }
}

const series = [{ kind: 'EventsNode', event: 'seen', math: 'dau' }]
const dateRange = { date_from: '2024-06-08', date_to: '2024-06-12' }
const trends = { kind: 'TrendsQuery', series, dateRange }

type Line = Readonly<Record<string, unknown>>

async function linesOf(query: object): Promise<readonly Line[]> {
  const { status, body } = await history.ask(query)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body['results'] as readonly Line[]
}

describe('queries of real requests', () => {
  test('count people who were merged once, events sent twice once, and late ones where they belong', async () => {
    expect(await linesOf(trends)).toMatchObject([{ data: [1, 0, 1, 1, 1] }])
    const events = { ...trends, series: [{ kind: 'EventsNode', event: 'seen' }] }
    expect(await linesOf(events)).toMatchObject([{ data: [1, 0, 2, 1, 1] }])
    const plan = { breakdownFilter: { breakdown: 'plan' } }
    expect(await linesOf({ ...events, ...plan })).toMatchObject([
      { breakdown_value: 'free', data: [1, 0, 0, 1, 0] },
      { breakdown_value: 'pro', data: [0, 0, 1, 0, 1] },
      { breakdown_value: '$$_posthog_breakdown_null_$$', data: [0, 0, 1, 0, 0] },
    ])
  })

  test('may be wrapped by what shows them', async () => {
    const wrapped = { kind: 'InsightVizNode', source: trends }
    expect(await linesOf(wrapped)).toEqual([...(await linesOf(trends))])
  })

  test('tell who stays', async () => {
    const stickiness = { kind: 'StickinessQuery', series, dateRange }
    expect(await linesOf(stickiness)).toMatchObject([{ data: [0, 2, 0, 0, 0] }])
    const lifecycle = { kind: 'LifecycleQuery', series, dateRange }
    const told = (await linesOf(lifecycle)).map(({ status, data }) => [status, data])
    // A person is as old as its first event to arrive says; bob's early one came after that.
    expect(told).toEqual([
      ['new', [0, 0, 1, 1, 0]],
      ['returning', [0, 0, 0, 0, 0]],
      ['resurrecting', [1, 0, 0, 0, 1]],
      ['dormant', [0, -1, 0, -1, -1]],
    ])
  })

  test.each([
    [{ ...trends, interval: 'fortnight' }, 'query__interval'],
    [{ ...trends, colour: 'red' }, 'query__colour'],
    [{ ...trends, samplingFactor: 2 }, 'query__samplingFactor'],
    [{ ...trends, dateRange: { date_from: 'soon' } }, 'query__dateRange__date_from'],
    [{ kind: 'InsightVizNode', source: { ...trends, series: 3 } }, 'query__source__series'],
    [{ ...trends, breakdownFilter: { breakdown: '{x}', breakdown_type: 'hogql' } }, null],
    [{ ...trends, series: [{ ...series[0], math: 'hogql', math_hogql: 'nosuch' }] }, null],
  ])('%j is refused', async (query, attr) => {
    const { status, body } = await history.ask(query)
    expect(status).toBe(400)
    if (attr !== null) expect(body['attr']).toBe(attr)
  })
})
