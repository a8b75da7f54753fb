/** Every value of `refresh`, for every kind of query, in every state of the cache. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { INSIGHT_QUERIES } from '../../../../src/contract/insights/kinds.ts'
import { limitTests } from '../../../long-tests.ts'
import { openWorld, type World } from '../../world.ts'

limitTests(120_000)

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How long an answer is fresh for those in a hurry, and for those who are not. */
const STEPS = {
  minute: [15 * SECOND, HOUR],
  hour: [15 * MINUTE, HOUR],
  day: [2 * HOUR, 6 * HOUR],
  week: [12 * HOUR, DAY],
  month: [DAY, 2 * DAY],
  /** Of queries that count in no steps. */
  none: [MINUTE, HOUR],
} as const

const EVENT = { kind: 'EventsNode', event: 'e' }
const series = [EVENT]
const hogql = { kind: 'HogQLQuery', query: 'SELECT count() FROM events' }
const trends = { kind: 'TrendsQuery', series }
const lifecycle = { kind: 'LifecycleQuery', series }
const funnels = { kind: 'FunnelsQuery', series: [EVENT, EVENT] }
const correlation = {
  kind: 'FunnelCorrelationQuery',
  source: { kind: 'FunnelsActorsQuery', source: funnels, funnelStep: 1 },
  funnelCorrelationType: 'events',
}

const metric = { kind: 'ExperimentMetric', metric_type: 'mean', source: EVENT }

/** [the query, the steps of time it counts in] */
const KINDS: readonly (readonly [object, keyof typeof STEPS])[] = [
  [hogql, 'minute'],
  [{ kind: 'DataTableNode', source: hogql }, 'minute'],
  [{ kind: 'DataVisualizationNode', source: hogql }, 'minute'],
  [trends, 'day'],
  [{ kind: 'InsightVizNode', source: trends }, 'day'],
  [{ ...trends, interval: 'hour' }, 'hour'],
  [{ ...trends, interval: 'week' }, 'week'],
  [{ ...trends, interval: 'month' }, 'month'],
  [lifecycle, 'day'],
  [{ kind: 'StickinessQuery', series }, 'day'],
  [funnels, 'day'],
  [{ kind: 'FunnelsActorsQuery', source: funnels, funnelStep: 1 }, 'minute'],
  [correlation, 'day'],
  [
    {
      kind: 'FunnelCorrelationActorsQuery',
      source: correlation,
      funnelCorrelationPersonEntity: EVENT,
      funnelCorrelationPersonConverted: true,
    },
    'minute',
  ],
  [{ kind: 'PathsQuery', pathsFilter: {} }, 'day'],
  [{ kind: 'CalendarHeatmapQuery', series }, 'day'],
  [{ kind: 'RetentionQuery', retentionFilter: {} }, 'day'],
  [{ kind: 'WebOverviewQuery', properties: [] }, 'day'],
  [{ kind: 'WebStatsTableQuery', properties: [], breakdownBy: 'Page' }, 'day'],
  [{ kind: 'WebExternalClicksTableQuery', properties: [] }, 'day'],
  [{ kind: 'ExperimentQuery', experiment_id: 1, metric }, 'none'],
  [{ kind: 'ExperimentExposureQuery', experiment_id: 1 }, 'none'],
  [{ kind: 'ExperimentTrendsQuery', experiment_id: 1, count_query: { series } }, 'none'],
  [{ kind: 'ExperimentFunnelsQuery', experiment_id: 1, funnels_query: { series } }, 'none'],
  [{ kind: 'TeamTaxonomyQuery' }, 'day'],
  [{ kind: 'EventTaxonomyQuery', event: 'e' }, 'day'],
  [{ kind: 'ActorsPropertyTaxonomyQuery', properties: ['p'] }, 'day'],
  [{ kind: 'EventsQuery', select: ['event'] }, 'minute'],
  [{ kind: 'SessionsTimelineQuery' }, 'minute'],
  [{ kind: 'ActorsQuery', select: ['id'] }, 'minute'],
  [{ kind: 'PersonsNode' }, 'minute'],
  [{ kind: 'InsightActorsQuery', source: lifecycle, day: '2024-06-14', status: 'new' }, 'minute'],
  [
    { kind: 'StickinessActorsQuery', source: { kind: 'StickinessQuery', series }, day: 1 },
    'minute',
  ],
  [
    {
      kind: 'InsightActorsQueryOptions',
      source: { kind: 'InsightActorsQuery', source: lifecycle, day: '2024-06-14' },
    },
    'minute',
  ],
]

const REFRESH = [
  'blocking',
  'force_blocking',
  true,
  false,
  null,
  'async',
  'lazy_async',
  'force_async',
  'force_cache',
  'async_except_on_cache_miss',
] as const

/** What is answered, by the state of the cache, in the order of REFRESH. */
const CELLS = {
  //       blocking   force      true       false      null       async      lazy       force_async cache     except_miss
  none: [
    'computed',
    'computed',
    'computed',
    'computed',
    'computed',
    'started',
    'started',
    'started',
    'miss',
    'computed',
  ],
  fresh: [
    'cached',
    'computed',
    'computed',
    'cached',
    'cached',
    'cached',
    'cached',
    'started',
    'cached',
    'cached',
  ],
  stale: [
    'computed',
    'computed',
    'computed',
    'computed',
    'computed',
    'renewed',
    'cached',
    'started',
    'cached',
    'renewed',
  ],
  old: [
    'computed',
    'computed',
    'computed',
    'computed',
    'computed',
    'renewed',
    'renewed',
    'started',
    'cached',
    'renewed',
  ],
  /** Somebody asked a moment ago, and nothing is cached. */
  computing: [
    'joined',
    'after',
    'after',
    'joined',
    'joined',
    'joined',
    'joined',
    'after',
    'miss',
    'joined',
  ],
} as const

/** A Tuesday: no week or month ends before its answers are old. */
const START_MS = Date.UTC(2024, 5, 18, 12)

let world: World
/** The world's clock: it stands still until a test moves it. */
let now_ms = START_MS
/** What the engine waits for before it hears a query. */
let gate: Promise<void> = Promise.resolve()
beforeAll(async () => {
  world = await openWorld(
    { now: () => new Date(now_ms) },
    {
      run: async (query, options) => {
        await gate
        return world.engine.run(query, options)
      },
    },
  )
  const body = JSON.stringify({ api_key: world.first.api_token, event: 'e', distinct_id: 'u' })
  expect((await world.send('/capture/', { method: 'POST', body })).status).toBe(200)
  const start_date = new Date(START_MS - 86_400_000).toISOString()
  const experiment = { name: 'E', feature_flag_key: 'e', start_date }
  expect((await send('POST', '/api/projects/1/experiments/', experiment)).status).toBe(201)
})
afterEach(() => {
  gate = Promise.resolve()
  now_ms = START_MS
})
afterAll(() => world.close())

const PATH = '/api/environments/1/query/'

async function send(method: string, path: string, body?: object) {
  const answer = await world.send(path, {
    method,
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: JSON.parse((await answer.text()) || 'null') }
}

type Body = {
  readonly is_cached?: boolean
  readonly query_status?: { readonly id: string; readonly complete: boolean } | null
}

async function ask(query: object, refresh: unknown, more: object = {}): Promise<Body> {
  const { status, body } = await send('POST', PATH, { query, refresh, ...more })
  expect([status, body.detail]).toEqual([200, undefined])
  return body
}

async function complete(id: string): Promise<void> {
  for (;;) {
    const { query_status } = (await send('GET', `${PATH}${id}/`)).body
    expect([id, query_status.error_message]).toEqual([id, null])
    if (query_status.complete) return
    await Bun.sleep(1)
  }
}

/** Waits until a number of queries is asked. */
async function untilAsked(count: number): Promise<void> {
  while (world.service.state.requests < count) await Bun.sleep(0)
}

/** What a body says happened. */
function told({ is_cached, query_status }: Body): string {
  const is_running = query_status?.complete === false
  if (is_cached === undefined) return is_running ? 'started' : 'miss'
  if (is_cached) return is_running ? 'renewed' : 'cached'
  return is_running ? 'both' : 'computed'
}

const nameOf = (query: object): string => JSON.stringify(query).replaceAll('"', '')

test('every kind of query is in this table', () => {
  const text = JSON.stringify(KINDS)
  const missing = Object.keys(INSIGHT_QUERIES).filter((kind) => !text.includes(`"${kind}"`))
  expect(missing).toEqual([])
})

/**
 * What a mode does depends on the steps alone, and steps differ in their lengths alone, so a query of each of these has
 * all cells in every run; of the others these modes show that they have those steps. `EVERY_CELL=1` runs all cells of
 * all queries.
 */
const STEPS_WHOLE: ReadonlySet<keyof typeof STEPS> = new Set(['minute', 'day', 'none'])
const REFRESH_SHORT: ReadonlySet<unknown> = new Set(['blocking', 'lazy_async'])

function isWhole(index: number): boolean {
  if (process.env['EVERY_CELL'] === '1') return true
  const steps = KINDS[index]?.[1] ?? 'none'
  return STEPS_WHOLE.has(steps) && KINDS.findIndex((kind) => kind[1] === steps) === index
}

describe.each(
  KINDS.map(([query, steps], index) => ({
    name: nameOf(query),
    query,
    steps,
    is_whole: isWhole(index),
  })),
)('$name', ({ name, query, steps, is_whole }) => {
  const modes: ReadonlySet<unknown> = new Set(
    REFRESH.filter((refresh) => is_whole || REFRESH_SHORT.has(refresh)),
  )
  const [usual, lazy] = STEPS[steps]
  const AGES = { none: null, fresh: usual - 1, stale: usual, old: lazy } as const

  const states = is_whole
    ? (['none', 'fresh', 'stale', 'old'] as const)
    : (['fresh', 'stale', 'old'] as const)
  test.each(states)('is answered by each value of refresh where the cache is %s', async (state) => {
    const answered: string[] = []
    for (const refresh of modes) {
      world.service.dropProject(1)
      now_ms = START_MS
      const age_ms = AGES[state]
      if (age_ms !== null) {
        expect(told(await ask(query, 'blocking'))).toBe('computed')
        now_ms += age_ms
      }
      const body = await ask(query, refresh)
      answered.push(told(body))
      if (body.query_status) {
        await complete(body.query_status.id)
        // What was computed in the background is what the cache has now.
        expect(told(await ask(query, 'blocking'))).toBe('cached')
      }
    }
    expect(answered).toEqual(CELLS[state].filter((_, at) => modes.has(REFRESH[at])))
  })

  // Of these nothing is asked of the engine: they are answered before anybody else can come.
  if (name.includes('ActorsQueryOptions') || !is_whole) return

  test('is answered by each value of refresh while it is computed', async () => {
    const answered: string[] = []
    for (const refresh of REFRESH) {
      world.service.dropProject(1)
      const opened = Promise.withResolvers<void>()
      gate = opened.promise
      await ask(query, 'async', { client_query_id: 'first' })
      const begun = world.service.state.started
      // Whoever wants it newer than now does not take what began before.
      now_ms += 1
      const second = ask(query, refresh, { client_query_id: 'second' })
      const is_miss = refresh === 'force_cache'
      if (is_miss) expect(told(await second)).toBe('miss')
      else await Promise.race([second, untilAsked(2)])
      opened.resolve()
      await complete('first')
      const { query_status } = await second
      if (query_status) await complete('second')
      const times = world.service.state.started - begun
      answered.push(is_miss ? 'miss' : times === 0 ? 'joined' : `after${times > 1 ? '!' : ''}`)
    }
    expect(answered).toEqual([...CELLS.computing])
  })
})

describe('an answer whose axis has moved', () => {
  const MIDNIGHT_MS = Date.UTC(2024, 5, 19)
  const of = (name: string, dateRange: object, interval = 'day') => ({
    kind: 'TrendsQuery',
    series: [{ ...EVENT, custom_name: name }],
    interval,
    dateRange,
  })
  const lastDay = (body: object) =>
    (body as { results: { days: string[] }[] }).results[0]?.days.at(-1)

  test.each([
    ['until now', { date_from: '-3d' }, '2024-06-18', '2024-06-19'],
    ['until days ago', { date_from: '-9d', date_to: '-3d' }, '2024-06-15', '2024-06-16'],
  ])('by days %s is computed again after midnight', async (name, dateRange, before, after) => {
    const query = of(name, dateRange)
    now_ms = MIDNIGHT_MS - 5 * MINUTE
    expect(lastDay(await ask(query, 'blocking'))).toBe(before)
    now_ms = MIDNIGHT_MS - 1
    expect(await ask(query, 'blocking')).toMatchObject({ is_cached: true })
    now_ms = MIDNIGHT_MS
    expect(await ask(query, 'force_cache')).toMatchObject({ is_cached: true })
    expect(await ask(query, 'lazy_async')).toMatchObject({ query_status: { complete: false } })
    expect(lastDay(await ask(query, 'blocking'))).toBe(after)
  })

  test('by weeks, or until a date, stays over midnight', async () => {
    const queries = [
      of('weeks', { date_from: '-3w' }, 'week'),
      of('dates', { date_from: '2024-06-01', date_to: '2024-06-30' }),
    ]
    for (const query of queries) {
      now_ms = MIDNIGHT_MS - 5 * MINUTE
      await ask(query, 'blocking')
      now_ms = MIDNIGHT_MS
      expect(await ask(query, 'blocking')).toMatchObject({ is_cached: true })
    }
  })

  test('from a relative start until a past date is not kept for ever', async () => {
    const query = of('moving start', { date_from: '-9d', date_to: '2024-06-15' })
    const firstDay = (body: object) =>
      (body as { results: { days: string[] }[] }).results[0]?.days[0]
    now_ms = START_MS
    expect(firstDay(await ask(query, 'blocking'))).toBe('2024-06-09')
    now_ms = START_MS + 2 * HOUR - 1
    expect(await ask(query, 'blocking')).toMatchObject({ is_cached: true })
    now_ms = START_MS + DAY
    expect(firstDay(await ask(query, 'blocking'))).toBe('2024-06-10')
  })

  test('of a past range is not kept for ever where a filter depends on now', async () => {
    const event = {
      api_key: world.first.api_token,
      event: 'dated',
      distinct_id: 'u',
      timestamp: '2024-06-10T12:00:00Z',
      properties: { at: '2024-06-17T12:00:00Z' },
    }
    const sent = await world.send('/capture/', { method: 'POST', body: JSON.stringify(event) })
    expect(sent.status).toBe(200)
    const properties = [{ key: 'at', operator: 'is_date_after', value: '-2d', type: 'event' }]
    const dateRange = { date_from: '2024-06-10', date_to: '2024-06-11' }
    const query = {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'dated', properties }],
      dateRange,
    }
    const countOf = (body: object) => (body as { results: { count: number }[] }).results[0]?.count
    expect(countOf(await ask(query, 'blocking'))).toBe(1)
    now_ms = START_MS + DAY - 1
    expect(await ask(query, 'blocking')).toMatchObject({ is_cached: true })
    now_ms = START_MS + 3 * DAY
    expect(countOf(await ask(query, 'blocking'))).toBe(0)
  })

  test('by hours until some hours ago is not kept for ever', async () => {
    const query = of('hours', { date_from: '-9h', date_to: '-3h' }, 'hour')
    await ask(query, 'blocking')
    now_ms = START_MS + 15 * MINUTE - 1
    expect(await ask(query, 'blocking')).toMatchObject({ is_cached: true })
    now_ms = START_MS + HOUR + 15 * MINUTE
    expect(await ask(query, 'blocking')).toMatchObject({ is_cached: false })
  })
})
