/** Funnels, correlations and paths over the server's front door: answered whole, refused by the member at fault. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Histories, type History, openHistories } from '../history.ts'

setDefaultTimeout(120_000)

const NOW = '2024-03-06T12:00:00Z'
const node = (event: string) => ({ kind: 'EventsNode', event })
const dateRange = { date_from: '2024-03-01', date_to: '2024-03-05' }
const funnel = { kind: 'FunnelsQuery', series: [node('visit'), node('pay')], dateRange }

let histories: Histories
let history: History

beforeAll(async () => {
  histories = await openHistories(NOW)
  history = await histories.open({ timezone: 'Europe/Berlin' })
  const event = (distinct_id: string, name: string, minute: number, properties: object = {}) => ({
    event: name,
    distinct_id,
    timestamp: new Date(Date.UTC(2024, 2, 1, 22) + minute * 60_000).toISOString(),
    properties: { ...properties },
  })
  await history.send([
    event('ann-anonymous', 'visit', 0, { plan: 'pro' }),
    event('ann-anonymous', '$pageview', 1, { $current_url: 'https://a.b/docs/' }),
    // In the middle of the funnel she tells who she is.
    event('ann', '$identify', 2, { $anon_distinct_id: 'ann-anonymous', $set: { plan: 'pro' } }),
    event('ann', '$pageview', 3, { $current_url: 'https://a.b/buy' }),
    event('ann', 'pay', 30),
    event('bob', 'visit', 90, { plan: 'free' }),
    event('bob', '$pageview', 91, { $current_url: 'https://a.b/docs' }),
    // Without a profile, an actor all the same.
    event('cat', 'visit', 95, { $process_person_profile: false }),
  ])
})
afterAll(() => histories.close())

describe('over HTTP', () => {
  test('a funnel of newer editors has display settings, and says that it is not compared', async () => {
    const newer = {
      ...funnel,
      compareFilter: { compare: false, compare_to: null },
      funnelsFilter: {
        legendPosition: 'bottom',
        showAnnotations: true,
        hideIncompleteConversionWindowPeriods: true,
        customAggregationTarget: false,
        // Ninety-nine years.
        funnelWindowInterval: 3_122_064_000,
        funnelWindowIntervalUnit: 'second',
      },
    }
    const { status, body } = await history.ask(newer)
    expect(status).toBe(200)
    expect(body['results']).toMatchObject([{ count: 3 }, { count: 1 }])
    const longest = { funnelWindowInterval: 10_000_000_000, funnelWindowIntervalUnit: 'month' }
    const long = await history.ask({ ...funnel, funnelsFilter: longest })
    expect([long.status, long.body['results']]).toMatchObject([200, [{ count: 3 }, { count: 1 }]])
    const compared = await history.ask({ ...funnel, compareFilter: { compare: true } })
    expect(compared.status).toBe(400)
  })

  test('a funnel is answered with everything an envelope has', async () => {
    const { status, body } = await history.ask(funnel)
    expect(status).toBe(200)
    expect(body['results']).toEqual([
      {
        action_id: 'visit',
        name: 'visit',
        custom_name: null,
        order: 0,
        people: [],
        count: 3,
        type: 'events',
        average_conversion_time: null,
        median_conversion_time: null,
      },
      {
        action_id: 'pay',
        name: 'pay',
        custom_name: null,
        order: 1,
        people: [],
        count: 1,
        type: 'events',
        average_conversion_time: 1800,
        median_conversion_time: 1800,
      },
    ])
    expect(body).toMatchObject({
      error: null,
      is_cached: false,
      timezone: 'Europe/Berlin',
      resolved_date_range: {
        date_from: '2024-03-01T00:00:00+01:00',
        date_to: '2024-03-05T23:59:59.999999+01:00',
      },
    })
  })

  test('a day begins at the project’s midnight', async () => {
    const { body } = await history.ask({
      kind: 'InsightVizNode',
      source: { ...funnel, funnelsFilter: { funnelVizType: 'trends' } },
    })
    // Ann enters at eleven in the evening of the first, the others after midnight.
    expect(body['results']).toEqual([
      {
        count: 5,
        data: [100, 0, 0, 0, 0],
        days: ['2024-03-01', '2024-03-02', '2024-03-03', '2024-03-04', '2024-03-05'],
        labels: ['1-Mar-2024', '2-Mar-2024', '3-Mar-2024', '4-Mar-2024', '5-Mar-2024'],
      },
    ])
  })

  test('the people behind a step are persons', async () => {
    const source = { kind: 'FunnelsActorsQuery', source: funnel, funnelStep: 2 }
    const { status, body } = await history.ask({ kind: 'ActorsQuery', source, select: ['person'] })
    expect(status).toBe(200)
    expect(body['results']).toMatchObject([[{ properties: { plan: 'pro' } }]])
    const left = await history.ask({
      kind: 'ActorsQuery',
      source: { ...source, funnelStep: -2 },
      select: ['id'],
    })
    expect(left.body['results']).toBeArrayOfSize(2)
  })

  test('correlations are answered', async () => {
    const { status, body } = await history.ask({
      kind: 'FunnelCorrelationQuery',
      source: { kind: 'FunnelsActorsQuery', source: funnel },
      funnelCorrelationType: 'events',
    })
    expect(status).toBe(200)
    expect(body['results']).toEqual({
      events: [
        {
          event: { event: '$identify', properties: {}, elements: [] },
          success_count: 1,
          failure_count: 0,
          odds_ratio: 6,
          correlation_type: 'success',
        },
        {
          event: { event: '$pageview', properties: {}, elements: [] },
          success_count: 1,
          failure_count: 1,
          odds_ratio: 2,
          correlation_type: 'success',
        },
      ],
      skewed: false,
    })
  })

  test('paths are answered, and who goes them', async () => {
    const pathsFilter = { includeEventTypes: ['$pageview'] }
    const paths = { kind: 'PathsQuery', dateRange, pathsFilter }
    const { status, body } = await history.ask(paths)
    expect(status).toBe(200)
    expect(body['results']).toEqual([
      {
        source: '1_https://a.b/docs',
        target: '2_https://a.b/buy',
        value: 1,
        average_conversion_time: 120_000,
      },
    ])
    const behind = await history.ask({
      kind: 'ActorsQuery',
      select: ['properties.plan'],
      source: {
        kind: 'InsightActorsQuery',
        source: { ...paths, pathsFilter: { ...pathsFilter, pathEndKey: '2_https://a.b/buy' } },
      },
    })
    expect(behind.body['results']).toEqual([['pro']])
  })

  test.each([
    [{ ...funnel, series: [] }, 'query__series'],
    [{ ...funnel, funnelsFilter: { funnelOrderType: 'random' } }, 'funnelOrderType'],
    [{ ...funnel, funnelsFilter: { funnelWindowInterval: 0 } }, 'funnelWindowInterval'],
    [{ ...funnel, dateRange: { date_from: 'whenever' } }, 'query__dateRange__date_from'],
    [{ ...funnel, series: [{ kind: 'ActionsNode', id: 99 }] }, 'query__series__0__id'],
    [{ ...funnel, funnelsFilter: { funnelAggregateByHogQL: 'sum(' } }, 'query'],
    [{ kind: 'PathsQuery', pathsFilter: { stepLimit: 99 } }, 'stepLimit'],
    [
      {
        kind: 'PathsQuery',
        pathsFilter: { pathsHogQLExpression: 'nonsense(', includeEventTypes: ['hogql'] },
      },
      'query',
    ],
    [{ kind: 'FunnelCorrelationQuery', funnelCorrelationType: 'events' }, 'source'],
  ])('%j is refused', async (query, member) => {
    const { status, body } = await history.ask(query)
    expect({ status, text: JSON.stringify(body) }).toEqual({
      status: 400,
      text: expect.stringContaining(member),
    })
    expect(body['type']).toBeString()
  })

  test('what a funnel prints may be asked as a text', async () => {
    const { body } = await history.ask(funnel)
    const again = await history.ask({ kind: 'HogQLQuery', query: body['hogql'] })
    const [steps] = again.body['results'] as readonly (readonly unknown[])[]
    const counts = (body['results'] as readonly { readonly count: number }[]).map(
      ({ count }) => count,
    )
    expect(steps?.slice(1, 1 + counts.length)).toEqual(counts)
  })

  const FOLD = {
    order: 'ordered',
    step_count: 2,
    packed_steps: 2,
    bits: 2,
    window_us: 1,
    optional: 0,
    attribution_step: null,
    valued: 0,
    from_step: 0,
    buckets: [{ start_us: 0, width_us: 1, count: 1 }],
  }
  const folded = (list: string, fold: object = {}) =>
    `select funnel_entrances(${list}, '${JSON.stringify({ ...FOLD, ...fold })}')`
  const PATH = { gap_us: 1, step_limit: 5, has_start: false, has_end: false }
  const path = (fold: object) =>
    `select path_steps(path_timeline(0)(timestamp, 4), '${JSON.stringify({ ...PATH, ...fold })}') from events`
  const SOURCE = 'a list made by actor_timeline'
  const NO_LIST = 'lists that actor_timeline made'

  test.each([
    ["select actor_timeline(timestamp, event = 'a') from events", 'origin'],
    ["select actor_timeline(rand(), 0)(timestamp, event = 'a') from events", 'origin'],
    ["select actor_timeline(-1, 0)(timestamp, event = 'a') from events", 'origin'],
    ["select actor_timeline(0, 2)(timestamp, event = 'a') from events", '0, or 1'],
    ["select actor_timeline(0, 0)(event, event = 'a') from events", 'must be a time'],
    ["select actor_timeline(0, 0)(toDate(timestamp), event = 'a') from events", 'must be a time'],
    [`select actor_timeline(0, 0)(timestamp, ${'true, '.repeat(60)}true) from events`, 'range'],
    ["select path_timeline(0)(timestamp, 'a') from events", 'whole number'],
    ["select funnel_steps([1], '{}')", SOURCE],
    ["select funnel_steps(['a'], '{}')", SOURCE],
    ["select path_steps([1.0], '{}')", 'a list made by path_timeline'],
    ["select triples_of('abc')", 'a list of numbers'],
    ['select funnel_steps([1.0], event) from events', 'constant text'],
    ["select funnel_steps([1.0], '{}') over () from events", 'OVER'],
    ["select funnel_steps([1.0], '{}')", 'packed_steps'],
    ["select funnel_steps([1.0], 'x')", 'JSON object'],
    [folded('[1.0]', { order: 'any' }), 'order'],
    [folded('[1.0]', { packed_steps: 60 }), 'packed_steps'],
    [folded('[1.0]', { step_count: 3 }), 'step_count'],
    [folded('[1.0]', { bits: 100 }), 'bits'],
    [folded('[1.0]', { window_us: -1 }), 'window_us'],
    [folded('[1.0]', { attribution_step: 9 }), 'attribution_step'],
    [folded('[1.0]', { buckets: [{ start_us: 0, width_us: 0, count: 1 }] }), 'width_us'],
    [
      folded('[1.0]', { buckets: [1, 2].map(() => ({ ...FOLD.buckets[0], count: 9999 })) }),
      'buckets',
    ],
    [folded('[inf]'), NO_LIST],
    [folded('[nan]'), NO_LIST],
    [folded('[-1.0]'), NO_LIST],
    [folded('[0.5]'), NO_LIST],
    [folded('[1.0, null]'), NO_LIST],
    [path({ step_limit: 1000 }), 'step_limit'],
    [path({ gap_us: 'x' }), 'gap_us'],
    [path({ has_end: 1 }), 'has_end'],
  ])('a text may call what funnels and paths print, and %s is refused', async (text, detail) => {
    const { status, body } = await history.ask({ kind: 'HogQLQuery', query: text })
    expect({ status, detail: body['detail'] }).toEqual({
      status: 400,
      detail: expect.stringContaining(detail),
    })
  })

  test('a text that calls them reads no other project', async () => {
    const query = 'select length(actor_timeline(0, 0)(timestamp, true)) from events'
    const other = await histories.open()
    expect((await other.ask({ kind: 'HogQLQuery', query })).body['results']).toEqual([[0]])
  })
})
