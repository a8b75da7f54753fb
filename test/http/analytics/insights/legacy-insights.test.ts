/** Insights saved with the filters of before there were queries: each answers what its query of today answers. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Histories, type History, openHistories } from '../../../insights/history.ts'

setDefaultTimeout(60_000)

let histories: Histories
let history: History
let action_id = 0

beforeAll(async () => {
  histories = await openHistories('2024-06-12T12:00:00Z')
  history = await histories.open()
  const event = (distinct_id: string, name: string, day: number, properties: object = {}) => ({
    event: name,
    distinct_id,
    timestamp: `2024-06-${String(day).padStart(2, '0')}T10:00:00Z`,
    properties: { ...properties },
  })
  await history.send([
    event('ann', 'sign up', 6, { plan: 'pro' }),
    event('ann', 'pay', 7, { plan: 'pro', price: 5 }),
    event('ann', '$pageview', 7, { $current_url: 'https://a.example/a/' }),
    event('ann', '$pageview', 8, { $current_url: 'https://a.example/b' }),
    event('ann', 'pay', 9, { plan: 'pro', price: 7 }),
    event('bob', 'sign up', 7, { plan: 'free' }),
    event('bob', 'cancel', 8),
    event('bob', 'pay', 9, { plan: 'free', price: 3 }),
    event('cat', 'sign up', 8, { plan: 'free' }),
    event('cat', '$pageview', 8, { $current_url: 'https://a.example/a' }),
  ])
  const made = await history.call('POST', 'actions/', {
    name: 'Paid',
    steps: [{ event: 'pay' }],
  })
  action_id = Number(JSON.parse(await made.text()).id)
})
afterAll(() => histories.close())

const dates = { date_from: '2024-06-05', date_to: '2024-06-10' }
const dateRange = { date_from: '2024-06-05', date_to: '2024-06-10' }
const on = (event: string) => ({ kind: 'EventsNode', event })
const named = (id: string, order: number, rest: object = {}) => ({
  id,
  name: id,
  type: 'events',
  order,
  ...rest,
})

/** What was saved, and what is asked today; functions, as the action has no id yet. */
const CASES: Readonly<Record<string, () => readonly [filters: object, query: object]>> = {
  trends: () => [
    {
      insight: 'TRENDS',
      ...dates,
      interval: 'day',
      events: [named('sign up', 1, { math: 'dau' })],
      actions: [{ id: action_id, type: 'actions', order: 0, math: 'sum', math_property: 'price' }],
      formula: 'A / B',
      filter_test_accounts: true,
    },
    {
      kind: 'TrendsQuery',
      dateRange,
      interval: 'day',
      series: [
        { kind: 'ActionsNode', id: action_id, math: 'sum', math_property: 'price' },
        { ...on('sign up'), math: 'dau' },
      ],
      trendsFilter: { formula: 'A / B' },
      filterTestAccounts: true,
    },
  ],
  'trends that say little': () => [
    { events: [{ id: 'pay' }], properties: { plan: 'pro' }, display: 'BoldNumber' },
    {
      kind: 'TrendsQuery',
      series: [on('pay')],
      properties: [{ key: 'plan', value: 'pro', operator: 'exact', type: 'event' }],
      trendsFilter: { display: 'BoldNumber' },
      filterTestAccounts: false,
    },
  ],
  'trends split and compared': () => [
    {
      insight: 'TRENDS',
      ...dates,
      events: [named('pay', 0)],
      breakdown: 'plan',
      breakdown_type: 'event',
      compare: true,
    },
    {
      kind: 'TrendsQuery',
      dateRange,
      series: [on('pay')],
      breakdownFilter: { breakdown: 'plan', breakdown_type: 'event' },
      compareFilter: { compare: true },
      filterTestAccounts: false,
    },
  ],
  funnels: () => [
    {
      insight: 'FUNNELS',
      ...dates,
      events: [named('sign up', 0), named('pay', 1)],
      funnel_window_interval: 2,
      funnel_window_interval_unit: 'day',
      funnel_viz_type: 'steps',
      breakdown: ['plan'],
      breakdown_type: 'event',
      exclusions: [named('cancel', 0, { funnel_from_step: 0, funnel_to_step: 1 })],
    },
    {
      kind: 'FunnelsQuery',
      dateRange,
      series: [on('sign up'), on('pay')],
      breakdownFilter: { breakdown: ['plan'], breakdown_type: 'event' },
      funnelsFilter: {
        funnelWindowInterval: 2,
        funnelWindowIntervalUnit: 'day',
        exclusions: [{ ...on('cancel'), funnelFromStep: 0, funnelToStep: 1 }],
      },
    },
  ],
  'funnels by time': () => [
    {
      insight: 'FUNNELS',
      ...dates,
      interval: 'week',
      events: [named('sign up', 0), named('pay', 1)],
      funnel_viz_type: 'trends',
    },
    {
      kind: 'FunnelsQuery',
      dateRange,
      interval: 'week',
      series: [on('sign up'), on('pay')],
      funnelsFilter: { funnelVizType: 'trends' },
    },
  ],
  'funnels by time, as filters said before they had a view': () => [
    {
      insight: 'FUNNELS',
      ...dates,
      display: 'ActionsLineGraph',
      events: [named('sign up', 0), named('pay', 1)],
    },
    {
      kind: 'FunnelsQuery',
      dateRange,
      series: [on('sign up'), on('pay')],
      funnelsFilter: { funnelVizType: 'trends' },
    },
  ],
  retention: () => [
    {
      insight: 'RETENTION',
      ...dates,
      period: 'Day',
      total_intervals: 4,
      retention_type: 'retention_first_time',
      target_entity: { id: 'sign up', type: 'events' },
      returning_entity: { id: action_id, type: 'actions' },
    },
    {
      kind: 'RetentionQuery',
      dateRange,
      retentionFilter: {
        period: 'Day',
        totalIntervals: 4,
        retentionType: 'retention_first_time',
        targetEntity: { id: 'sign up', type: 'events' },
        returningEntity: { id: action_id, type: 'actions' },
      },
    },
  ],
  paths: () => [
    {
      insight: 'PATHS',
      ...dates,
      include_event_types: ['$pageview', 'custom_event'],
      exclude_events: ['cancel'],
      step_limit: 4,
      edge_limit: 20,
    },
    {
      kind: 'PathsQuery',
      dateRange,
      pathsFilter: {
        includeEventTypes: ['$pageview', 'custom_event'],
        excludeEvents: ['cancel'],
        stepLimit: 4,
        edgeLimit: 20,
      },
    },
  ],
  'paths of a funnel': () => [
    {
      insight: 'PATHS',
      ...dates,
      path_type: 'custom_event',
      funnel_paths: 'funnel_path_after_step',
      funnel_filter: {
        insight: 'FUNNELS',
        ...dates,
        events: [named('sign up', 0), named('pay', 1)],
        funnel_step: 1,
      },
    },
    {
      kind: 'PathsQuery',
      dateRange,
      pathsFilter: { includeEventTypes: ['custom_event'] },
      funnelPathsFilter: {
        funnelPathType: 'funnel_path_after_step',
        funnelStep: 1,
        funnelSource: {
          kind: 'FunnelsQuery',
          dateRange,
          series: [on('sign up'), on('pay')],
          funnelsFilter: {},
        },
      },
    },
  ],
  lifecycle: () => [
    { insight: 'LIFECYCLE', ...dates, events: [named('pay', 0)], shown_as: 'Lifecycle' },
    { kind: 'LifecycleQuery', dateRange, series: [on('pay')] },
  ],
  stickiness: () => [
    { insight: 'TRENDS', ...dates, events: [named('pay', 0)], shown_as: 'Stickiness' },
    { kind: 'StickinessQuery', dateRange, series: [on('pay')] },
  ],
}

describe('an insight with old filters', () => {
  test.each(Object.keys(CASES))('of %s answers what its query of today answers', async (name) => {
    const [filters, query] = CASES[name]?.() ?? [{}, {}]
    const asked = await history.ask(query)
    expect([asked.status, asked.body['detail']]).toEqual([200, undefined])
    expect(JSON.stringify(asked.body['results'])).toMatch(/[1-9]/)
    const made = await history.call('POST', 'insights/', { name, filters })
    const { id } = JSON.parse(await made.text())
    const read = await history.call('GET', `insights/${String(id)}/?refresh=force_blocking`)
    const body = JSON.parse(await read.text())
    expect([read.status, body.query_status, body.query]).toEqual([200, null, null])
    expect(body.filters).toEqual(filters)
    expect(body.result).toEqual(asked.body['results'])
  })

  test.each([
    [{ insight: 'TRENDS', events: [] }],
    [{ insight: 'TRENDS', events: [{ id: 'a' }], interval: 'moon' }],
    [{ insight: 'FUNNELS' }],
    [{ insight: 'toString' }],
    [{ events: 'none' }],
  ])('%j is kept, and says why there is no result', async (filters) => {
    const made = await history.call('POST', 'insights/', { name: 'Odd', filters })
    const { id } = JSON.parse(await made.text())
    const read = await history.call('GET', `insights/${String(id)}/?refresh=force_blocking`)
    const { result, query_status } = JSON.parse(await read.text())
    expect([read.status, result]).toEqual([200, null])
    expect(query_status).toMatchObject({ error: true, error_message: expect.any(String) })
  })
})

/** Where the insight of each kind is asked without being saved. */
const DIRECT: Readonly<Record<string, string>> = {
  FunnelsQuery: 'funnel',
  PathsQuery: 'path',
  RetentionQuery: 'retention',
}

describe('old filters asked directly', () => {
  test.each(Object.keys(CASES))('of %s answer what their query of today answers', async (name) => {
    const [filters, query] = CASES[name]?.() ?? [{}, {}]
    const path = `insights/${DIRECT['kind' in query ? String(query.kind) : ''] ?? 'trend'}/`
    const { body: wanted } = await history.ask(query)
    const posted = await history.call('POST', path, { ...filters, refresh: true })
    const address = new URLSearchParams(
      Object.entries(filters).map(([key, value]): [string, string] => [
        key,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    )
    const got = await history.call('GET', `${path}?${address.toString()}`)
    const [by_body, by_address] = [JSON.parse(await posted.text()), JSON.parse(await got.text())]
    expect([posted.status, by_body.detail, got.status, by_address.detail]).toEqual([
      200,
      undefined,
      200,
      undefined,
    ])
    expect(by_body.result).toEqual(wanted['results'])
    expect(by_address.result).toEqual(wanted['results'])
    expect(by_address).toMatchObject({
      timezone: 'UTC',
      next: null,
      last_refresh: expect.any(String),
    })
  })

  test.each([
    ['trend', { events: [] }, 'events'],
    ['trend', { events: [{ id: 'a' }], refresh: 'soon' }, 'refresh'],
    ['funnel', { insight: 'TRENDS' }, 'events'],
    ['path', { step_limit: 'many' }, 'step_limit'],
  ])('%s refuses %j', async (path, filters, attr) => {
    const answer = await history.call('POST', `insights/${path}/`, filters)
    expect([answer.status, JSON.parse(await answer.text()).attr]).toEqual([400, attr])
  })
})
