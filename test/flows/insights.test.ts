/** A demo project's insights through the compiled executable: queries of every kind there is all answer, and fit together. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type InsightQueries } from '../../src/contract/insights/kinds.ts'
import { buildExecutable } from './processes/build-executable.ts'
import { PERSONAL_API_KEY, type Server, startServer } from './processes/server.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-insights-'))
const executable = join(folder, 'tidemark')
const data_dir = join(folder, 'data')
let server: Server

beforeAll(async () => {
  copyFileSync(buildExecutable(), executable)
  mkdirSync(data_dir)
  server = await startServer({ data_dir, command: [executable], cwd: folder })
  const command = [
    'demo',
    '--data-dir',
    data_dir,
    '--project',
    '1',
    '--persons',
    '150',
    '--days',
    '40',
  ]
  const demo = Bun.spawn([executable, ...command], { cwd: folder, stdout: 'pipe', stderr: 'pipe' })
  if ((await demo.exited) !== 0) throw new Error(await new Response(demo.stderr).text())
  const experiment = await fetch(`${server.url}/api/projects/1/experiments/`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({
      name: 'The new editor',
      feature_flag_key: 'new-editor',
      start_date: new Date(Date.now() - 30 * 86_400_000).toISOString(),
    }),
  })
  if (experiment.status !== 201) throw new Error(await experiment.text())
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const dateRange = { date_from: '-30d' }
const opened = { kind: 'EventsNode', event: '$pageview' } as const
const created = { kind: 'EventsNode', event: 'document_created' } as const
const funnel = {
  kind: 'FunnelsQuery',
  series: [opened, { kind: 'EventsNode', event: 'signed_up' }, created],
  dateRange,
} as const
const retention = {
  kind: 'RetentionQuery',
  retentionFilter: {
    period: 'Week',
    totalIntervals: 4,
    targetEntity: { id: 'document_created', type: 'events' },
    returningEntity: { id: 'document_created', type: 'events' },
  },
} as const
const stickiness = { kind: 'StickinessQuery', series: [created], dateRange } as const
const step = { kind: 'FunnelsActorsQuery', source: funnel, funnelStep: 2 } as const
const correlation = {
  kind: 'FunnelCorrelationQuery',
  source: step,
  funnelCorrelationType: 'events',
} as const

const metric = { kind: 'ExperimentMetric' } as const

/** At least one query of every kind. */
const QUERIES = {
  ActorsPropertyTaxonomyQuery: [{ kind: 'ActorsPropertyTaxonomyQuery', properties: ['plan'] }],
  ActorsQuery: [
    { kind: 'ActorsQuery', source: step },
    { kind: 'ActorsQuery', search: 'a', limit: 5 },
  ],
  CalendarHeatmapQuery: [{ kind: 'CalendarHeatmapQuery', series: [opened], dateRange }],
  EventTaxonomyQuery: [{ kind: 'EventTaxonomyQuery', event: 'document_created' }],
  EventsQuery: [
    { kind: 'EventsQuery', select: ['*', 'person', 'timestamp'], after: '-30d', limit: 10 },
    { kind: 'EventsQuery', select: ['event', 'count()'], after: 'all' },
  ],
  ExperimentExposureQuery: [
    { kind: 'ExperimentExposureQuery', experiment_id: 1 },
    {
      kind: 'ExperimentExposureQuery',
      experiment_id: 1,
      exposure_criteria: { multiple_variant_handling: 'first_seen' },
    },
  ],
  ExperimentFunnelsQuery: [
    { kind: 'ExperimentFunnelsQuery', experiment_id: 1, funnels_query: { series: [created] } },
  ],
  ExperimentQuery: [
    {
      kind: 'ExperimentQuery',
      experiment_id: 1,
      metric: { ...metric, metric_type: 'ratio', numerator: created, denominator: opened },
    },
    {
      kind: 'ExperimentQuery',
      experiment_id: 1,
      metric: { ...metric, metric_type: 'mean', source: created },
    },
  ],
  ExperimentTrendsQuery: [
    { kind: 'ExperimentTrendsQuery', experiment_id: 1, count_query: { series: [created] } },
  ],
  FunnelCorrelationActorsQuery: [
    {
      kind: 'FunnelCorrelationActorsQuery',
      source: correlation,
      funnelCorrelationPersonEntity: { kind: 'EventsNode', event: 'onboarding_completed' },
    },
  ],
  FunnelCorrelationQuery: [
    correlation,
    { ...correlation, funnelCorrelationType: 'properties', funnelCorrelationNames: ['plan'] },
  ],
  FunnelsActorsQuery: [step],
  FunnelsQuery: [
    funnel,
    { ...funnel, funnelsFilter: { funnelVizType: 'trends' } },
    { ...funnel, funnelsFilter: { funnelVizType: 'time_to_convert' } },
    { ...funnel, funnelsFilter: { funnelOrderType: 'unordered' } },
    { ...funnel, breakdownFilter: { breakdown: '$browser', breakdown_type: 'event' } },
  ],
  InsightActorsQuery: [
    { kind: 'InsightActorsQuery', source: stickiness, day: 1 },
    { kind: 'InsightActorsQuery', source: retention, interval: 0 },
  ],
  InsightActorsQueryOptions: [
    {
      kind: 'InsightActorsQueryOptions',
      source: { kind: 'InsightActorsQuery', source: retention },
    },
  ],
  LifecycleQuery: [{ kind: 'LifecycleQuery', series: [opened], dateRange }],
  PathsQuery: [{ kind: 'PathsQuery', pathsFilter: {}, dateRange }],
  PersonsNode: [{ kind: 'PersonsNode' }],
  RetentionQuery: [
    retention,
    { ...retention, breakdownFilter: { breakdown: 'plan', breakdown_type: 'person' } },
  ],
  SessionsTimelineQuery: [{ kind: 'SessionsTimelineQuery', after: '-7d' }],
  StickinessActorsQuery: [{ kind: 'StickinessActorsQuery', source: stickiness, day: 1 }],
  StickinessQuery: [stickiness],
  TeamTaxonomyQuery: [{ kind: 'TeamTaxonomyQuery' }],
  TrendsQuery: [
    { kind: 'TrendsQuery', series: [opened, created], dateRange },
    {
      kind: 'TrendsQuery',
      series: [{ ...opened, math: 'dau' }],
      dateRange,
      breakdownFilter: { breakdown: '$os', breakdown_type: 'event' },
    },
  ],
  WebExternalClicksTableQuery: [{ kind: 'WebExternalClicksTableQuery', dateRange }],
  WebOverviewQuery: [{ kind: 'WebOverviewQuery', dateRange, compareFilter: { compare: true } }],
  WebStatsTableQuery: [
    { kind: 'WebStatsTableQuery', breakdownBy: 'Page', dateRange, includeBounceRate: true },
    { kind: 'WebStatsTableQuery', breakdownBy: 'InitialChannelType', dateRange },
  ],
} as const satisfies Record<keyof InsightQueries, readonly object[]>

const HEADERS = { Authorization: `Bearer ${PERSONAL_API_KEY}`, 'Content-Type': 'application/json' }

async function ask(query: object): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(`${server.url}/api/environments/1/query/`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({ query, refresh: 'force_blocking' }),
  })
  const body = JSON.parse(await answer.text())
  expect([answer.status, body.detail]).toEqual([200, undefined])
  return body
}

describe('a demo project', () => {
  const queries = Object.entries(QUERIES).flatMap(([kind, asked]) =>
    asked.map((query: object, index) => [kind, index, query] as const),
  )

  test.each(queries)('answers %s (%i)', async (kind, _index, query) => {
    const { results, error } = await ask(query)
    expect(error ?? null).toBeNull()
    const count = Array.isArray(results) ? results.length : Object.keys(results ?? {}).length
    // Nobody of the story leaves for another site.
    expect(count > 0).toBe(kind !== 'WebExternalClicksTableQuery')
  })

  test('has as many people behind a number as the number says', async () => {
    const { results } = await ask(funnel)
    const second = (results as { count: number }[])[1]?.count
    const people = await ask({ kind: 'ActorsQuery', source: step, select: ['id'], limit: 1000 })
    expect(people['results']).toHaveLength(second ?? -1)
    const rows = (await ask(retention))['results'] as { values: { count: number }[] }[]
    for (const [interval, { values }] of rows.entries()) {
      const source = { kind: 'InsightActorsQuery', source: retention, interval }
      const found = await ask({ kind: 'ActorsQuery', source, select: ['id'], limit: 1000 })
      expect(found['results']).toHaveLength(values[0]?.count ?? -1)
    }
  })

  test('answers person analytics', async () => {
    const events = encodeURIComponent(JSON.stringify([{ id: '$pageview', type: 'events' }]))
    const today = new Date().toISOString().slice(0, 10)
    for (const path of [
      `lifecycle/?events=${events}&date_from=-30d&target_date=${today}&lifecycle_type=new`,
      `stickiness/?entity_id=$pageview&entity_type=events&date_from=-30d&stickiness_days=1`,
      'values/?key=plan',
    ]) {
      const answer = await fetch(`${server.url}/api/environments/1/persons/${path}`, {
        headers: HEADERS,
      })
      expect([path, answer.status]).toEqual([path, 200])
      expect(JSON.parse(await answer.text())).toBeDefined()
    }
  })
})
