/** Queries about behaviour, answered as files: the rows of what has columns, a flat table of everything else. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { tableFromIPC } from 'apache-arrow'
import { openWorld, type World } from '../../world.ts'

setDefaultTimeout(60_000)

/** A uuid7 of 2024-06-11T11:05:00Z. */
const SESSION = '019006ec-a0e0-7000-8000-000000000000'
const NOW = new Date('2024-06-12T12:00:00Z')

let world: World
beforeAll(async () => {
  world = await openWorld({ now: () => NOW })
  const batch = [
    seen('ann', '2024-06-10T10:00:00.123456Z', { plan: 'pro', price: 10 }),
    seen('ann', '2024-06-11T10:00:00Z', { plan: '=1+1', price: 2.5 }),
    seen('ben', '2024-06-11T11:00:00Z', { plan: 'pro', tags: ['a', 'b'] }),
    { ...seen('ann', '2024-06-11T10:10:00Z', {}), event: 'bought' },
    {
      ...seen('ben', '2024-06-11T11:05:00Z', { $pathname: '/x', $session_id: SESSION }),
      event: '$pageview',
    },
  ]
  const body = JSON.stringify({ api_key: world.first.api_token, batch, historical_migration: true })
  expect((await world.send('/batch/', { method: 'POST', body })).status).toBe(200)
})
afterAll(() => world.close())

function seen(distinct_id: string, timestamp: string, properties: object) {
  const $set = { name: distinct_id === 'ann' ? '@ann' : distinct_id }
  return { event: 'seen', distinct_id, timestamp, properties: { ...properties, $set } }
}

function post(query: object, format: string, more: object = {}): Promise<Response> {
  return world.send(`/api/environments/1/query/?format=${format}`, {
    method: 'POST',
    body: JSON.stringify({ query, ...more }),
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
  })
}

async function bytesOf(query: object, format: string): Promise<Uint8Array> {
  const answer = await post(query, format)
  const bytes = await answer.bytes()
  if (answer.status !== 200) throw new Error(Buffer.from(bytes).toString())
  return bytes
}

const textOf = async (query: object, format: string): Promise<string> =>
  Buffer.from(await bytesOf(query, format)).toString()

async function linesOf(query: object): Promise<unknown[]> {
  const lines = (await textOf(query, 'ndjson')).split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

/** The columns with their types, and the rows, as DuckDB finds them in the file. */
async function parquetOf(query: object) {
  const file = join(world.data_dir, 'answer.parquet')
  await Bun.write(file, await bytesOf(query, 'parquet'))
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const read = await connection.runAndReadAll(`select * from read_parquet('${file}')`)
  const types = read.columnTypes().map(String)
  const columns = Object.fromEntries(read.columnNames().map((name, index) => [name, types[index]]))
  return { columns, rows: read.getRowObjectsJson() }
}

async function arrowOf(query: object) {
  const table = tableFromIPC(await bytesOf(query, 'arrow'))
  const columns = Object.fromEntries(
    table.schema.fields.map(({ name, type }) => [name, String(type)]),
  )
  return { columns, rows: table.toArray().map((row) => row.toJSON()) }
}

const dateRange = { date_from: '2024-06-10', date_to: '2024-06-11' }
const series = [{ kind: 'EventsNode', event: 'seen' }]
const FUNNEL = {
  kind: 'FunnelsQuery',
  dateRange,
  series: [...series, { kind: 'EventsNode', event: 'bought' }],
}

describe('EventsQuery', () => {
  const query = {
    kind: 'EventsQuery',
    select: ['timestamp', 'distinct_id', 'properties.plan', 'properties.price', 'properties.tags'],
    where: ["event = 'seen'"],
    orderBy: ['timestamp ASC'],
    after: '2024-06-01',
  }

  test('gives its rows as CSV, formulas disarmed', async () => {
    expect(await textOf(query, 'csv')).toBe(
      [
        'timestamp,distinct_id,properties.plan,properties.price,properties.tags',
        '2024-06-10T10:00:00.123456Z,ann,pro,10,',
        "2024-06-11T10:00:00Z,ann,'=1+1,2.5,",
        '2024-06-11T11:00:00Z,ben,pro,,"[""a"",""b""]"',
        '',
      ].join('\r\n'),
    )
  })

  test('gives its rows as NDJSON', async () => {
    const [first, , third] = await linesOf(query)
    expect(first).toEqual({
      timestamp: '2024-06-10T10:00:00.123456Z',
      distinct_id: 'ann',
      'properties.plan': 'pro',
      'properties.price': 10,
      'properties.tags': null,
    })
    expect(third).toMatchObject({ distinct_id: 'ben', 'properties.tags': '["a","b"]' })
  })

  test('keeps times and numbers in Parquet and Arrow', async () => {
    const parquet = await parquetOf(query)
    expect(Object.values(parquet.columns)).toEqual([
      'TIMESTAMP WITH TIME ZONE',
      'VARCHAR',
      'VARCHAR',
      'DOUBLE',
      'VARCHAR',
    ])
    expect(parquet.rows.map((row) => row['properties.price'])).toEqual([10, 2.5, null])
    expect(parquet.rows[0]?.['timestamp']).toStartWith('2024-06-10 10:00:00.123456')
    const arrow = await arrowOf(query)
    expect(arrow.columns).toMatchObject({
      timestamp: 'Timestamp<MICROSECOND, UTC>',
      'properties.price': 'Float64',
    })
    expect(arrow.rows.map((row) => row['distinct_id'])).toEqual(['ann', 'ann', 'ben'])
  })

  test('shows whole events as JSON text, and columns also where no row is', async () => {
    const [whole] = await linesOf({ ...query, select: ['*'] })
    const told = whole as { readonly '*': string }
    expect(JSON.parse(told['*'])).toMatchObject({ event: 'seen', distinct_id: 'ann' })
    const none = await parquetOf({ ...query, where: ["event = 'never'"] })
    expect(none.rows).toEqual([])
    expect(none.columns).toMatchObject({ timestamp: 'TIMESTAMP WITH TIME ZONE' })
  })
})

describe('ActorsQuery', () => {
  const query = {
    kind: 'ActorsQuery',
    select: ['properties.name', 'length(properties.name)'],
    orderBy: ['properties.name'],
  }

  test('gives its rows in every format', async () => {
    const columns = query.select
    expect(await textOf({ ...query, select: ['properties.name'] }, 'csv')).toBe(
      "properties.name\r\n'@ann\r\nben\r\n",
    )
    const rows = [
      ['@ann', 4],
      ['ben', 3],
    ].map(([name, length]) => ({ [columns[0] ?? '']: name, [columns[1] ?? '']: length }))
    expect(await linesOf(query)).toEqual(rows)
    const parquet = await parquetOf(query)
    expect(Object.values(parquet.columns)).toEqual(['VARCHAR', 'BIGINT'])
    expect(parquet.rows.map((row) => Object.values(row))).toEqual([
      ['@ann', '4'],
      ['ben', '3'],
    ])
    const arrow = await arrowOf(query)
    expect(Object.values(arrow.columns)).toEqual(['Utf8', 'Int64'])
    expect(arrow.rows.map((row) => Object.values(row))).toEqual([
      ['@ann', 4n],
      ['ben', 3n],
    ])
  })

  test('shows whole people as JSON text', async () => {
    const [ann] = await linesOf({ ...query, select: ['person', 'properties.name'] })
    const { person } = ann as { readonly person: string }
    expect(JSON.parse(person)).toMatchObject({ distinct_ids: ['ann'] })
  })
})

describe('TrendsQuery with a breakdown', () => {
  const breakdownFilter = { breakdown: 'plan', breakdown_type: 'event' }
  const query = { kind: 'TrendsQuery', dateRange, series, breakdownFilter }
  const ROWS = [
    {
      order: 0,
      label: 'pro',
      count: 2,
      breakdown_value: 'pro',
      '2024-06-10': 1,
      '2024-06-11': 1,
    },
    {
      order: 0,
      label: '=1+1',
      count: 1,
      breakdown_value: '=1+1',
      '2024-06-10': 0,
      '2024-06-11': 1,
    },
  ]

  test('gives a row per value with a column per day', async () => {
    expect(await textOf(query, 'csv')).toBe(
      [
        'order,label,count,breakdown_value,2024-06-10,2024-06-11',
        '0,pro,2,pro,1,1',
        "0,'=1+1,1,'=1+1,0,1",
        '',
      ].join('\r\n'),
    )
    expect(await linesOf(query)).toEqual(ROWS)
  })

  test('and in Parquet and Arrow', async () => {
    const parquet = await parquetOf(query)
    expect(parquet.rows).toEqual(ROWS)
    expect(parquet.columns).toMatchObject({ label: 'VARCHAR', '2024-06-10': 'DOUBLE' })
    const arrow = await arrowOf(query)
    expect(arrow.rows).toEqual(ROWS)
    expect(arrow.columns).toMatchObject({ label: 'Utf8', '2024-06-10': 'Float64' })
  })

  test('compared with the time before, every day is its own column', async () => {
    const compared = { kind: 'TrendsQuery', dateRange, series, compareFilter: { compare: true } }
    const [now, before] = await linesOf(compared)
    expect(now).toMatchObject({ compare_label: 'current', '2024-06-11': 2, '2024-06-09': null })
    expect(before).toMatchObject({ compare_label: 'previous', '2024-06-11': null, '2024-06-09': 0 })
  })

  test('of too many steps is refused', async () => {
    const long = {
      ...query,
      interval: 'hour',
      dateRange: { ...dateRange, date_from: '2024-01-01' },
    }
    const answer = await post(long, 'csv')
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'query_too_large' }])
  })
})

describe('FunnelsQuery', () => {
  const counts = (rows: readonly unknown[]) =>
    rows.map((row) => {
      const { name, order, count } = row as Record<string, unknown>
      return [name, order, count]
    })
  const STEPS = [
    ['seen', 0, 2],
    ['bought', 1, 1],
  ]

  test('gives a row per step in every format', async () => {
    const [head, ...lines] = (await textOf(FUNNEL, 'csv')).split('\r\n')
    expect(head).toBe(
      'action_id,name,custom_name,order,count,type,average_conversion_time,median_conversion_time',
    )
    expect(lines[0]).toBe('seen,seen,,0,2,events,,')
    expect(counts(await linesOf(FUNNEL))).toEqual(STEPS)
    expect(counts((await parquetOf(FUNNEL)).rows)).toEqual(STEPS)
    expect(counts((await arrowOf(FUNNEL)).rows)).toEqual(STEPS)
  })

  test('split, gives the steps of every value', async () => {
    const breakdownFilter = { breakdown: 'plan', breakdown_type: 'event' }
    const funnelsFilter = { breakdownAttributionType: 'last_touch' }
    const rows = await linesOf({ ...FUNNEL, breakdownFilter, funnelsFilter })
    expect(rows).toHaveLength(4)
    expect(rows).toContainEqual(
      expect.objectContaining({ name: 'seen', breakdown_value: '["pro"]' }),
    )
  })

  test('of times to convert gives a row per bin', async () => {
    const funnelsFilter = { funnelVizType: 'time_to_convert', binCount: 2 }
    const rows = await linesOf({ ...FUNNEL, funnelsFilter })
    expect(rows).toHaveLength(3)
    expect(Object.keys(rows[0] ?? {})).toEqual(['from_s', 'count'])
  })
})

describe('other kinds', () => {
  test.each([
    [{ kind: 'LifecycleQuery', dateRange, series }, 'count,label,status,2024-06-10,2024-06-11', 4],
    [{ kind: 'StickinessQuery', dateRange, series }, 'count,label,1 day,2 days', 1],
    [
      {
        kind: 'RetentionQuery',
        dateRange,
        retentionFilter: {
          period: 'Day',
          totalIntervals: 2,
          targetEntity: { id: 'seen', type: 'events' },
          returningEntity: { id: 'seen', type: 'events' },
        },
      },
      'label,date,Day 0,Day 1',
      2,
    ],
    [
      { kind: 'PathsQuery', dateRange, pathsFilter: { includeEventTypes: ['custom_event'] } },
      'source,target,value,average_conversion_time',
      1,
    ],
    [{ kind: 'TeamTaxonomyQuery' }, 'event,count', 3],
  ])('%j has the columns %s', async (query, columns, row_count) => {
    const [head, ...lines] = (await textOf(query, 'csv')).split('\r\n')
    expect([head, lines.length - 1]).toEqual([columns, row_count])
  })
})

test('figures of web tables and those they are compared with have columns of their own', async () => {
  const query = {
    kind: 'WebStatsTableQuery',
    dateRange,
    properties: [],
    breakdownBy: 'Page',
    compareFilter: { compare: true },
  }
  const { columns, rows } = await parquetOf(query)
  const shown = ['breakdown_value', 'visitors', 'visitors_previous', 'views', 'views_previous']
  expect(Object.keys(columns)).toEqual(shown.map((name) => `context.columns.${name}`))
  expect(rows.map((row) => Object.values(row).map(String))).toEqual([['/x', '1', '0', '1', '0']])
})

test('files are refused where JSON is refused, and in the background', async () => {
  const faulty = { kind: 'EventsQuery', select: ['nothing_there'] }
  expect((await post(faulty, 'parquet')).status).toBe(400)
  const late = await post(FUNNEL, 'csv', { refresh: 'async' })
  expect([late.status, await late.json()]).toMatchObject([400, { attr: 'refresh' }])
})
