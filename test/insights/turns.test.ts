/** The largest answers that the limits allow are made in turns: other requests pass between. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import type { FunnelsQuery } from '../../src/contract/insights/funnels.ts'
import type { TrendsQuery } from '../../src/contract/insights/trends.ts'
import { FUNNELS } from '../../src/insights/funnels/funnels.ts'
import type { InsightAnswer, InsightContext, RunTree } from '../../src/insights/insight.ts'
import { PATHS } from '../../src/insights/paths/paths.ts'
import { RETENTION_QUERY } from '../../src/insights/retention/retention.ts'
import { tableOfInsight } from '../../src/insights/table.ts'
import { TRENDS } from '../../src/insights/trends/trends.ts'
import { WEB_STATS } from '../../src/insights/web/stats.ts'
import { tableQuery } from '../../src/query/kinds/table-query.ts'
import { sortInSlices } from '../../src/threads/slices.ts'
import { measureTurns } from '../threads/longest-turn.ts'

setDefaultTimeout(60_000)

/** Processor time that one turn may take. */
const TURN_MS = 50

const CONTEXT: InsightContext = {
  project_id: 1,
  timezone: 'UTC',
  week_start_day: 0,
  now: new Date('2024-06-12T12:00:00Z'),
  test_account_filters: [],
  path_cleaning_filters: [],
  rows_max: 50_000,
  property_types: new Map(),
  actions: () => [],
  cohorts: () => [],
  findExperiment: () => null,
}

type Rows = readonly (readonly unknown[])[]

const times = <Item>(count: number, make: (index: number) => Item): readonly Item[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** Answers each tree with the next rows, or with the last ones, in a turn of its own as the engine does. */
function answering(...tables: readonly [Rows, ...Rows[]]): RunTree {
  let next = 0
  return async (_tree) => {
    await Bun.sleep(0)
    const rows = tables[Math.min(next, tables.length - 1)] ?? []
    next += 1
    return { columns: [], types: [], rows, has_more: false, hogql: 'select 1' }
  }
}

const event = { kind: 'EventsNode', event: 'open' } as const
const trends: TrendsQuery = {
  kind: 'TrendsQuery',
  series: [event],
  breakdownFilter: { breakdown: 'plan', breakdown_limit: 1000 },
}
const inHours: TrendsQuery = { ...trends, interval: 'hour', dateRange: { date_from: '2023-04-25' } }
const oneDay = { date_from: '2024-06-12' }
const hourAt = (index: number): string =>
  new Date(Date.UTC(2023, 3, 25) + index * 3_600_000).toISOString()
const ofSeries = (series: number): Rows =>
  times(1000, (index) => ['2024-06-12', `${index} of ${series}`, 1])
const retention = (totalIntervals: number) =>
  ({
    kind: 'RetentionQuery',
    retentionFilter: { period: 'Day', totalIntervals },
    breakdownFilter: { breakdown: 'plan', breakdown_limit: 1000 },
  }) as const
const retained = (values: number): Rows =>
  times(50_000, (index) => [`value ${index % values}`, index % 300, (index * 7) % 300, 1])

const LARGE: readonly (readonly [string, () => Promise<unknown>])[] = [
  [
    'formulas of 500 characters over a thousand values',
    () => {
      const formulas = times(5, () => times(250, () => 'A').join('+'))
      const rows = times(20_000, (index) => [
        `2024-06-${String(1 + (index % 12)).padStart(2, '0')}`,
        `value ${index % 1000}`,
        1,
      ])
      const dateRange = { date_from: '2024-06-01' }
      const query = { ...trends, dateRange, trendsFilter: { formulas: [...formulas] } }
      return TRENDS.answer(query, CONTEXT, answering(rows))
    },
  ],
  [
    'formulas over series without a common value, which are equal and sorted by name',
    () => {
      const trendsFilter = { formulas: [...times(5, () => '0')] }
      const query = {
        ...trends,
        dateRange: oneDay,
        series: [...times(26, () => event)],
        trendsFilter,
      }
      return TRENDS.answer(
        query,
        CONTEXT,
        answering(ofSeries(0), ...times(25, (index) => ofSeries(index + 1))),
      )
    },
  ],
  [
    'fifty thousand rows of ten thousand hours',
    () => {
      const rows = times(50_000, (index) => [
        hourAt((index * 7919) % 9900),
        `value ${index % 40}`,
        1,
      ])
      return TRENDS.answer(inHours, CONTEXT, answering(rows))
    },
  ],
  [
    'means of a thousand numbers for each number',
    () => {
      const query = { ...inHours, trendsFilter: { smoothingIntervals: 1000 } }
      const rows = times(10, (index) => [hourAt(index), `value ${index}`, 1])
      return TRENDS.answer(query, CONTEXT, answering(rows))
    },
  ],
  [
    'totals over ten thousand days of a zone whose clocks change',
    () => {
      const trendsFilter = { display: 'ActionsTable' }
      const query = { ...trends, trendsFilter, dateRange: { date_from: '1997-04-25' } }
      const context = { ...CONTEXT, timezone: 'Europe/Berlin' }
      return TRENDS.answer(query, context, answering([['pro', 1]]))
    },
  ],
  [
    'retention of three hundred days by eight values',
    () => RETENTION_QUERY.answer(retention(300), CONTEXT, answering(retained(8))),
  ],
  [
    'paths of ten thousand edges, each from an item of its own',
    () => {
      const query = { kind: 'PathsQuery', pathsFilter: { edgeLimit: 10_000 } } as const
      const rows = times(10_000, (index) => [`1_/page/${index}`, `2_/page/${index}`, 1, 1])
      return PATHS.answer(query, CONTEXT, answering(rows))
    },
  ],
  [
    'a funnel of four hundred days by a thousand values',
    () => {
      const buckets = times(380, (index) => [index, 2, 1])
      const rows = times(1000, (index) => [`value ${index}`, buckets, 2])
      const query: FunnelsQuery = {
        kind: 'FunnelsQuery',
        series: [event, event],
        dateRange: { date_from: '2023-06-01' },
        breakdownFilter: { breakdown: 'plan', breakdown_limit: 1000 },
        funnelsFilter: { funnelVizType: 'trends' },
      }
      return FUNNELS.answer(query, CONTEXT, answering(rows))
    },
  ],
  [
    'a file of four hundred days by a thousand values',
    async () => {
      const days = times(390, (index) => `day ${index}`)
      const data = times(390, (index) => index * 1.5)
      const results = times(1000, (index) => ({ label: `value ${index}`, days, data }))
      const table = await tableOfInsight({ results, hogql: null })
      await tableQuery(table, { project_id: 1, timezone: 'UTC', form: 'csv', rows_max: 50_000 })
    },
  ],
  [
    'a web table of fifty thousand pages',
    () =>
      WEB_STATS.answer(
        {
          kind: 'WebStatsTableQuery',
          breakdownBy: 'Page',
          includeBounceRate: true,
          includeAvgTimeOnPage: true,
          includeScrollDepth: true,
          limit: 50_000,
          properties: [],
          dateRange: { date_from: '-7d' },
        },
        CONTEXT,
        answering(times(50_000, (index) => [`/${index}`, ...times(12, () => index)])),
      ),
  ],
]

// At once they took up to 800 ms.
test.each(LARGE)('%s: no turn is long', async (_title, answer) => {
  const { longest_ms } = await measureTurns(answer, TURN_MS)
  expect(longest_ms).toBeLessThan(TURN_MS)
})

const TOO_LARGE = { code: 'query_too_large', attr: 'query__breakdownFilter' }
const refusalOf = (answer: Promise<InsightAnswer>): Promise<unknown> =>
  answer.then(
    () => null,
    (error: unknown) => error,
  )

test('formulas over series without a common value are counted for every value', async () => {
  const trendsFilter = { formulas: [...times(20, () => 'A')] }
  const query = { ...trends, dateRange: oneDay, series: [...times(26, () => event)], trendsFilter }
  const tables = times(25, (index) => ofSeries(index + 1))
  expect(
    await refusalOf(TRENDS.answer(query, CONTEXT, answering(ofSeries(0), ...tables))),
  ).toMatchObject(TOO_LARGE)
})

test('retention by more values than an answer holds is refused before its cells are made', async () => {
  expect(
    await refusalOf(RETENTION_QUERY.answer(retention(300), CONTEXT, answering(retained(9)))),
  ).toMatchObject(TOO_LARGE)
  const breakdownFilter = { breakdown: [...times(9, () => 1)], breakdown_type: 'cohort' }
  const by_cohorts = { ...retention(300), breakdownFilter }
  expect(await refusalOf(RETENTION_QUERY.answer(by_cohorts, CONTEXT, answering([])))).toMatchObject(
    TOO_LARGE,
  )
})

test('active actors by the hour are looked for once per hour', async () => {
  const series = [{ ...event, math: 'weekly_active' }]
  const rows = times(10, (index) => [index * 1000, 'pro', index + 1])
  const { results } = await TRENDS.answer({ ...inHours, series }, CONTEXT, answering(rows))
  const [{ data }] = results as readonly [{ readonly data: readonly number[] }]
  expect(times(10, (index) => data[index * 1000])).toEqual(times(10, (index) => index + 1))
})

test.each([0, 1, 31, 32, 33, 1000])(
  'a list of %d is sorted in slices as at once',
  async (count) => {
    const items = times(count, (index) => ({ key: (index * 7919) % 13, index }))
    const compare = (a: { readonly key: number }, b: { readonly key: number }) => a.key - b.key
    expect(await sortInSlices(items, compare)).toEqual(items.toSorted(compare))
  },
)
