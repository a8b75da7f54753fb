/** What may stand in the body of a query: filters, variables, overrides, wrappers, and other formats for the answer. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { tableFromIPC, Vector } from 'apache-arrow'
import { openWorld, type World } from '../../world.ts'

const NOW = new Date('2024-06-15T12:00:00Z')

let world: World
beforeAll(async () => {
  world = await openWorld({ now: () => NOW })
  const events = [
    ['u1', '2024-06-15T10:00:00Z', { plan: 'pro', price: 10, paid: true, $host: 'a.example' }],
    ['u2', '2024-06-10T10:00:00Z', { plan: 'free', price: 5, paid: false, $host: 'localhost:80' }],
    ['u3', '2024-05-01T10:00:00Z', { plan: 'Pro plus', price: 100, $host: 'a.example' }],
    ['u4', '2023-06-15T10:00:00Z', { note: '50%', since: '2024-06-01T00:00:00Z' }],
  ] as const
  const batch = events.map(([distinct_id, timestamp, properties]) => ({
    event: 'bought',
    distinct_id,
    timestamp,
    properties: { ...properties, $set: { level: distinct_id === 'u1' ? 'gold' : 'iron' } },
  }))
  const body = JSON.stringify({ api_key: world.first.api_token, batch, historical_migration: true })
  expect((await world.send('/batch/', { method: 'POST', body })).status).toBe(200)
})
afterAll(() => world.close())

type Sent = {
  readonly query: object
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly [member: string]: unknown
}

function post({ path, headers, ...body }: Sent): Promise<Response> {
  return world.send(`/api/environments/1/query/${path ?? ''}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { Authorization: `Bearer ${world.first.personal_api_key}`, ...headers },
  })
}

const WHO = 'SELECT distinct_id FROM events WHERE {filters} ORDER BY distinct_id'
const hogql = (query: string, more: object = {}) => ({ kind: 'HogQLQuery', query, ...more })

/** The first column of the answer, joined; the refusal when there is none. */
async function first(sent: Sent): Promise<string> {
  const answer = await post({ refresh: 'force_blocking', ...sent })
  const body = JSON.parse(await answer.text())
  if (answer.status !== 200) return `${answer.status} ${body.code} ${body.attr}: ${body.detail}`
  return body.results.map((row: readonly unknown[]) => row[0]).join(' ')
}

const filtered = (filters: object) => first({ query: hogql(WHO, { filters }) })
const narrowed = (filter: object) => filtered({ properties: [filter] })

describe('{filters}', () => {
  test('hold for everything when there are none', async () => {
    expect(await first({ query: hogql(WHO) })).toBe('u1 u2 u3 u4')
    expect(await filtered({})).toBe('u1 u2 u3 u4')
  })

  test.each([
    [{ date_from: '2024-06-01' }, 'u1 u2'],
    [{ date_from: '2024-05-01T10:00:00Z', date_to: '2024-06-15T10:00:00Z' }, 'u2 u3'],
    [{ date_from: '-7d' }, 'u1 u2'],
    [{ date_from: '-3h' }, 'u1'],
    [{ date_from: '-1h' }, ''],
    [{ date_from: 'dStart' }, 'u1'],
    [{ date_from: '-1mStart', date_to: '-1mEnd' }, 'u3'],
    [{ date_from: 'yStart' }, 'u1 u2 u3'],
    [{ date_from: '-1y' }, 'u1 u2 u3'],
    [{ date_from: '-1yStart' }, 'u1 u2 u3 u4'],
    [{ date_from: 'all', date_to: '2024-01-01' }, 'u4'],
  ])('of the time %j leave %s', async (dateRange, who) => {
    expect(await filtered({ dateRange })).toBe(who)
  })

  test.each([
    [{ key: 'plan', value: 'pro' }, 'u1'],
    [{ key: 'plan', operator: 'exact', value: ['pro', 'free'] }, 'u1 u2'],
    [{ key: 'plan', operator: 'exact', value: [] }, 'u1 u2 u3 u4'],
    [{ key: 'plan', operator: 'is_not', value: 'pro' }, 'u2 u3 u4'],
    [{ key: 'plan', operator: 'is_not', value: ['pro', 'free'] }, 'u3 u4'],
    [{ key: 'plan', operator: 'icontains', value: 'PRO' }, 'u1 u3'],
    [{ key: 'plan', operator: 'not_icontains', value: 'pro' }, 'u2 u4'],
    [{ key: 'plan', operator: 'regex', value: '^(pro|free)$' }, 'u1 u2'],
    [{ key: 'plan', operator: 'not_regex', value: '^pro$' }, 'u2 u3 u4'],
    [{ key: 'plan', operator: 'is_set' }, 'u1 u2 u3'],
    [{ key: 'plan', operator: 'is_not_set', value: 'is_not_set' }, 'u4'],
    [{ key: 'price', operator: 'gt', value: 5 }, 'u1 u3'],
    [{ key: 'price', operator: 'gte', value: '5' }, 'u1 u2 u3'],
    [{ key: 'price', operator: 'lt', value: 10 }, 'u2'],
    [{ key: 'price', operator: 'lte', value: 10 }, 'u1 u2'],
    [{ key: 'price', operator: 'between', value: [6, 50] }, 'u1'],
    [{ key: 'price', operator: 'not_between', value: [6, 50] }, 'u2 u3'],
    [{ key: 'price', value: 10 }, 'u1'],
    [{ key: 'price', value: ['10', 5] }, 'u1 u2'],
    [{ key: 'paid', value: 'true' }, 'u1'],
    [{ key: 'paid', value: ['false'] }, 'u2'],
    [{ key: 'note', value: "50%' OR 1=1 --" }, ''],
    [{ key: 'since', operator: 'is_date_after', value: '2024-05-01' }, 'u4'],
    [{ key: 'since', operator: 'is_date_before', value: '-1d' }, 'u4'],
    [{ key: 'since', operator: 'is_date_exact', value: '2024-06-01' }, 'u4'],
    [{ key: 'level', type: 'person', value: 'gold' }, 'u1'],
    [{ key: "properties.price > 50 AND event = 'bought'", type: 'hogql' }, 'u3'],
    [{ key: 'distinct_id', type: 'event_metadata', value: 'u2' }, 'u2'],
    [{ key: 'plan' }, 'u1 u2 u3 u4'],
    [{}, 'u1 u2 u3 u4'],
    [{ key: '1', type: 'flag', value: true }, 'u1 u2 u3 u4'],
    [
      {
        type: 'AND',
        values: [
          { key: 'plan', operator: 'is_set' },
          { key: 'price', operator: 'lt', value: 50 },
        ],
      },
      'u1 u2',
    ],
    [
      {
        type: 'OR',
        values: [
          { key: 'plan', value: 'pro' },
          { key: 'plan', value: 'free' },
        ],
      },
      'u1 u2',
    ],
  ])('of the property %j leave %s', async (filter, who) => {
    expect(await narrowed(filter)).toBe(who)
  })

  test('leave out the people the project calls its own', async () => {
    expect(await filtered({ filterTestAccounts: true })).toBe('u1 u3 u4')
    expect(await filtered({ filterTestAccounts: false })).toBe('u1 u2 u3 u4')
  })

  test('belong to the select they stand in', async () => {
    const query = `SELECT count() FROM events e JOIN (SELECT distinct_id AS d FROM events WHERE {filters}) s
      ON e.distinct_id = s.d WHERE {filters}`
    const filters = { dateRange: { date_from: '-7d' }, properties: [{ key: 'plan', value: 'pro' }] }
    expect(await first({ query: hogql(query, { filters }) })).toBe('1')
  })

  test('give their bounds, and a comparison with a bound there is not holds for all', async () => {
    const query = `SELECT distinct_id FROM events WHERE timestamp >= {filters.dateRange.from}
      AND timestamp < {filters.dateRange.to} ORDER BY 1`
    const ranged = (dateRange: object) => first({ query: hogql(query, { filters: { dateRange } }) })
    expect(await ranged({ date_from: '2024-06-01', date_to: '2024-06-12' })).toBe('u2')
    expect(await ranged({ date_from: '2024-06-01' })).toBe('u1 u2')
    expect(await first({ query: hogql(query) })).toBe('u1 u2 u3 u4')
  })

  test.each([
    [
      { dateRange: { date_from: 'yesterdayish' } },
      '400 invalid_input query__filters__dateRange__date_from: Not a date: "yesterdayish"',
    ],
    [
      { dateRange: { date_from: 7 } },
      '400 parse_error query__filters__dateRange__date_from: JSON parse error - query.filters.dateRange.date_from: Not a valid string.',
    ],
    [
      { properties: [{ key: 'a', operator: 'smells_like', value: 'b' }] },
      '400 invalid_input query__filters__properties: Unknown property operator: "smells_like"',
    ],
    [
      { properties: [{ key: 'a', type: 'moon', value: 'b' }] },
      '400 invalid_input query__filters__properties: Property filters of type "moon" are not supported.',
    ],
    [
      { properties: [{ key: 'a', value: { b: 1 } }] },
      '400 invalid_input query__filters__properties: The value of a property filter must be a string, a number or a boolean.',
    ],
    [
      { properties: 3 },
      '400 parse_error query__filters__properties: JSON parse error - query.filters.properties: Expected a list of items.',
    ],
    [
      { nothing: 1 },
      '400 parse_error query__filters__nothing: JSON parse error - query.filters.nothing: Unexpected field.',
    ],
  ])('of %j are refused: %s', async (filters, told) => {
    expect(await filtered(filters)).toBe(told)
  })

  test('of a table that has no time are refused with their place', async () => {
    const query = 'SELECT number FROM numbers(3) WHERE {filters}'
    const filters = { dateRange: { date_from: '-7d' } }
    const answer = await post({ query: hogql(query, { filters }) })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({
      code: 'invalid_input',
      attr: 'query',
      extra: { start: query.indexOf('{'), end: query.length },
    })
  })
})

describe('filters_override', () => {
  test('replaces the range as a whole and adds properties', async () => {
    const filters = { dateRange: { date_from: '-7d', date_to: '2024-06-12' } }
    const over = (filters_override: object) =>
      first({ query: hogql(WHO, { filters }), filters_override })
    expect(await over({})).toBe('u2')
    expect(await over({ date_from: '2024-05-01' })).toBe('u1 u2 u3')
    expect(await over({ date_from: null, date_to: null })).toBe('u2')
    expect(await over({ properties: [{ key: 'plan', value: 'pro' }] })).toBe('')
    const both = { date_from: '-7d', properties: [{ key: 'plan', value: 'pro' }] }
    expect(await over(both)).toBe('u1')
  })

  test('has a breakdown for queries that have one; HogQL has none', async () => {
    const filters_override = { breakdown_filter: { breakdown: 'plan', breakdown_type: 'event' } }
    expect(await first({ query: hogql(WHO), filters_override })).toBe('u1 u2 u3 u4')
  })

  test('is refused where it makes no sense', async () => {
    expect(await first({ query: hogql(WHO), filters_override: { date_from: 7 } })).toBe(
      '400 parse_error filters_override__date_from: JSON parse error - filters_override.date_from: Not a valid string.',
    )
    expect(
      await first({
        query: hogql(WHO),
        filters_override: { breakdown_filter: { breakdown_limit: 0 } },
      }),
    ).toStartWith('400 parse_error filters_override__breakdown_filter__breakdown_limit')
    expect(await first({ query: hogql(WHO), filters_override: 7 })).toStartWith(
      '400 parse_error filters_override',
    )
  })
})

describe('variables', () => {
  const query = 'SELECT distinct_id FROM events WHERE properties.plan = {variables.plan}'
  const variables = { v1: { variableId: 'v1', code_name: 'plan', value: 'free' } }

  test('stand for {variables.code_name}, and overrides replace those the query has', async () => {
    expect(await first({ query: hogql(query, { variables }) })).toBe('u2')
    const over = (variables_override: object) =>
      first({ query: hogql(query, { variables }), variables_override })
    expect(await over({ v1: { variableId: 'v1', value: 'pro' } })).toBe('u1')
    expect(await over({ v2: { variableId: 'v2', code_name: 'plan', value: 'pro' } })).toBe('u2')
  })

  test('are NULL when they say so', async () => {
    const none = { v1: { code_name: 'plan', value: 'free', isNull: true } }
    const asked = 'SELECT isNull({variables.plan})'
    expect(await first({ query: hogql(asked, { variables: none }) })).toBe('1')
  })

  test('that a query does not have are named', async () => {
    const answer = await post({ query: hogql(query) })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toEqual({
      type: 'validation_error',
      code: 'invalid_input',
      detail: 'Variable plan is missing from query',
      attr: 'query',
      extra: { start: query.indexOf('{'), end: query.length },
    })
  })
})

test('values beyond their limit are refused, in lists and beside each other', async () => {
  const query = 'SELECT 1'
  const list = Array.from({ length: 10_001 }, (_, count) => count)
  const told = 'A query may have 10000 values, those in lists included.'
  expect(await first({ query: hogql(query, { values: { list } }) })).toBe(
    `400 invalid_input query__values: ${told}`,
  )
  const variables = Object.fromEntries(list.map((count) => [`v${count}`, { value: count }]))
  expect(await first({ query: hogql(query, { variables }) })).toBe(
    `400 invalid_input query__variables: ${told}`,
  )
  expect(await first({ query: hogql(query, { values: { list: list.slice(1) } }) })).toBe(
    `400 invalid_input query__values: ${told}`,
  )
  expect(await first({ query: hogql(query, { values: { list: list.slice(2) } }) })).toBe('1')
})

describe('a wrapper', () => {
  const source = hogql('SELECT 42')
  test.each([
    [{ kind: 'DataTableNode', source }],
    [{ kind: 'DataVisualizationNode', source, chartSettings: { yAxis: [] } }],
    [{ kind: 'InsightVizNode', source }],
    [{ kind: 'DataVisualizationNode', source: { kind: 'DataTableNode', source } }],
  ])('%j is answered as its source', async (query) => {
    expect(await first({ query })).toBe('42')
  })

  test.each([
    [
      { kind: 'DataTableNode' },
      '400 invalid_input query__source: DataTableNode needs a query as its source.',
    ],
    [
      { kind: 'DataTableNode', source: { kind: 'TarotQuery' } },
      '400 invalid_input query__source__kind: Unsupported query kind: TarotQuery',
    ],
    [
      { kind: 'SavedInsightNode', shortId: 'x' },
      '400 invalid_input query__kind: Unsupported query kind: SavedInsightNode',
    ],
    [{ kind: 'constructor' }, '400 invalid_input query__kind: Unsupported query kind: constructor'],
    [
      { kind: 'DataTableNode', source: { kind: 'HogQLQuery', query: 3 } },
      '400 parse_error query__source__query: JSON parse error - query.source.query: Not a valid string.',
    ],
    [
      hogql('SELECT 1', { filter: {} }),
      '400 parse_error query__filter: JSON parse error - query.filter: Unexpected field.',
    ],
  ])('%j is refused: %s', async (query, told) => {
    expect(await first({ query })).toBe(told)
  })
})

test('modifiers come back, and queries with others have other keys', async () => {
  const ask = async (modifiers: object) =>
    JSON.parse(await (await post({ query: hogql('SELECT 1', { modifiers }) })).text())
  const [one, other] = [await ask({ debug: true }), await ask({})]
  expect([one.modifiers, other.modifiers]).toEqual([{ debug: true }, {}])
  expect(one.cache_key).not.toBe(other.cache_key)
})

describe('rows as', () => {
  const ALL = 'SELECT distinct_id, properties.price AS price, [1, 2] AS list FROM events ORDER BY 1'

  test.each([
    ['?format=csv', {}],
    ['', { Accept: 'text/csv' }],
    ['', { Accept: 'text/csv;q=0.9, application/json;q=0.1' }],
  ])('CSV with %j and %j', async (path, headers) => {
    const answer = await post({ query: hogql(ALL), path, headers })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/csv; charset=utf-8',
    ])
    expect(await answer.text()).toBe(
      'distinct_id,price,list\r\nu1,10,"[1,2]"\r\nu2,5,"[1,2]"\r\nu3,100,"[1,2]"\r\nu4,,"[1,2]"\r\n',
    )
  })

  test.each([
    ['?format=ndjson', {}],
    ['?format=jsonl', {}],
    ['', { Accept: 'application/x-ndjson' }],
  ])('NDJSON with %j and %j', async (path, headers) => {
    const answer = await post({ query: hogql(ALL), path, headers })
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
    const lines = (await answer.text()).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { distinct_id: 'u1', price: 10, list: [1, 2] },
      { distinct_id: 'u2', price: 5, list: [1, 2] },
      { distinct_id: 'u3', price: 100, list: [1, 2] },
      { distinct_id: 'u4', price: null, list: [1, 2] },
    ])
  })

  test.each([
    ['?format=json', {}],
    ['', { Accept: 'application/json, text/csv' }],
    ['', { Accept: '*/*' }],
  ])('JSON with %j and %j', async (path, headers) => {
    const answer = await post({ query: hogql('SELECT 1'), path, headers })
    expect(await answer.json()).toMatchObject({ results: [[1]] })
  })

  test('CSV may be more than one body may have, with a limit of its own or without', async () => {
    const lines = async (query: string) => {
      const answer = await post({ query: hogql(query), path: '?format=csv' })
      return (await answer.text()).split('\r\n').length - 2
    }
    expect(await lines('SELECT number FROM numbers(120000)')).toBe(120_000)
    expect(await lines('SELECT number FROM numbers(200000) LIMIT 70000')).toBe(70_000)
    expect(await lines('SELECT number FROM numbers(0)')).toBe(0)
  })

  test('CSV is refused like JSON, before anything is sent', async () => {
    const refused = await post({ query: hogql('SELECT nothing FROM events'), path: '?format=csv' })
    expect([refused.status, refused.headers.get('content-type')]).toEqual([400, 'application/json'])
    const failing = await post({
      query: hogql("SELECT throwIf(number = 0, 'no') FROM numbers(3)"),
      path: '?format=csv',
    })
    expect(failing.status).toBe(400)
  })

  test.each([
    ['?format=pdf', {}, 'format'],
    ['?format=csv', { refresh: 'async' }, 'refresh'],
    ['?format=ndjson', { refresh: 'force_cache' }, 'refresh'],
  ])('%s with %j is refused', async (path, more, attr) => {
    const answer = await post({ query: hogql('SELECT 1'), path, ...more })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ attr })
  })

  test.each([
    ['?format=arrow', {}],
    ['', { Accept: 'application/vnd.apache.arrow.stream' }],
  ])('Arrow with %j and %j', async (path, headers) => {
    const answer = await post({ query: hogql(ALL), path, headers })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/vnd.apache.arrow.stream',
    ])
    const table = tableFromIPC(new Uint8Array(await answer.arrayBuffer()))
    expect(table.schema.fields.map(({ name }) => name)).toEqual(['distinct_id', 'price', 'list'])
    expect(
      table.toArray().map((row) => row.toArray().map((value: unknown) => plainly(value))),
    ).toEqual([
      ['u1', 10, [1, 2]],
      ['u2', 5, [1, 2]],
      ['u3', 100, [1, 2]],
      ['u4', null, [1, 2]],
    ])
  })

  test.each([
    ['?format=parquet', {}],
    ['', { Accept: 'application/vnd.apache.parquet' }],
  ])('Parquet with %j and %j', async (path, headers) => {
    const answer = await post({ query: hogql(ALL), path, headers })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/vnd.apache.parquet',
    ])
    const file = join(world.data_dir, 'answer.parquet')
    await Bun.write(file, await answer.arrayBuffer())
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const rows = await connection.runAndReadAll(`select * from read_parquet('${file}')`)
    expect(rows.getRowObjectsJson()).toEqual([
      { distinct_id: 'u1', price: 10, list: ['1', '2'] },
      { distinct_id: 'u2', price: 5, list: ['1', '2'] },
      { distinct_id: 'u3', price: 100, list: ['1', '2'] },
      { distinct_id: 'u4', price: null, list: ['1', '2'] },
    ])
  })

  test.each(['arrow', 'parquet'])(
    '%s is refused like JSON, before anything is sent',
    async (form) => {
      const query = hogql("SELECT throwIf(number = 0, 'no') FROM numbers(3)")
      const failing = await post({ query, path: `?format=${form}` })
      expect([failing.status, failing.headers.get('content-type')]).toEqual([
        400,
        'application/json',
      ])
    },
  )
})

/** Arrow's integers and lists as JavaScript's. */
function plainly(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Vector) return [...value].map(plainly)
  return value
}

test('a query about behaviour has so many characters; an answer sent along does not count', async () => {
  const select = Array.from({ length: 100 }, () => `concat(${'event,'.repeat(600)}'')`)
  const refused = await post({ query: { kind: 'EventsQuery', select } })
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { detail: 'A query has at most 300000 characters.', attr: 'query' },
  ])
  const response = { results: 'x'.repeat(400_000) }
  const asked = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'e' }], response }
  expect((await post({ query: asked })).status).toBe(200)
})

test('a query may have a name, which changes nothing', async () => {
  const query = hogql('SELECT 1')
  expect(await first({ query, name: 'one' })).toBe('1')
  expect(await first({ query, name: null })).toBe('1')
  expect(await first({ query, name: 1 })).toContain('400 parse_error name')
})

describe('members of a query that were sent as texts', () => {
  const series = [{ kind: 'EventsNode', event: 'bought' }]

  test('stand for the numbers and booleans that its schema wants', async () => {
    const listed = await post({
      query: { kind: 'EventsQuery', select: ['event'], after: '2023-01-01', limit: '2' },
    })
    expect([listed.status, (await listed.json()) as object]).toMatchObject([
      200,
      { limit: 2, hasMore: true, results: [['bought'], ['bought']] },
    ])
    const range = { date_from: '2024-06-01' }
    const count = async (filterTestAccounts: unknown) => {
      const query = { kind: 'TrendsQuery', series, dateRange: range, filterTestAccounts }
      const answer = (await (await post({ query })).json()) as { results: { count: number }[] }
      return answer.results[0]?.count
    }
    expect([await count('true'), await count('False')]).toEqual([
      await count(true),
      await count(false),
    ])
  })

  test.each([{ limit: 'two' }, { limit: '' }])('are refused as %j', async (more) => {
    const query = { kind: 'EventsQuery', select: ['event'], ...more }
    expect((await post({ query })).status).toBe(400)
  })
})
