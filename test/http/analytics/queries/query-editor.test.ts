/** What editors of queries ask: is a text right, what may follow in it, what tables are there. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { joinWorld } from '../../shared-world.ts'

const world = await joinWorld()
const { project_id } = world.first

beforeAll(async () => {
  const batch = [
    { event: 'bought', distinct_id: 'u1', properties: { plan: 'pro', price: 10, 'a b': 1 } },
    { event: "it's new", distinct_id: 'u1', properties: { $set: { age: 40 } } },
    {
      event: '$groupidentify',
      distinct_id: 'u1',
      properties: { $group_type: 'company', $group_key: 'c', $group_set: { seats: 3 } },
    },
  ]
  const body = JSON.stringify({ api_key: world.first.api_token, batch })
  expect((await world.send('/batch/', { method: 'POST', body })).status).toBe(200)
})

async function ask(query: object, more: object = {}) {
  const answer = await world.send(`/api/environments/${project_id}/query/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    body: JSON.stringify({ query, ...more }),
  })
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

describe('HogQLMetadata', () => {
  const metadata = async (query: string, more: object = {}) => {
    const { status, body } = await ask({ kind: 'HogQLMetadata', language: 'hogQL', query, ...more })
    expect(status).toBe(200)
    return body
  }

  test('of a query with several errors tells each with its place', async () => {
    const query =
      'SELECT evnt, cont(), nope.x FROM events WHERE distinct_idd = 1 AND evnt = 2 ORDER BY toStartOfMonthh(timestamp)'
    const at = (part: string, from = 0) => {
      const start = query.indexOf(part, from)
      return { start, end: start + part.length }
    }
    const { isValid, errors } = await metadata(query)
    expect(isValid).toBe(false)
    const field = 'Unable to resolve field:'
    expect(
      errors.toSorted((a: { start: number }, b: { start: number }) => a.start - b.start),
    ).toEqual([
      { message: `${field} evnt. Perhaps you meant 'event'?`, ...at('evnt') },
      {
        message: "Unsupported function call 'cont(...)'. Perhaps you meant 'count(...)'?",
        ...at('cont()'),
      },
      { message: `${field} nope.x`, ...at('nope.x') },
      { message: `${field} distinct_idd. Perhaps you meant 'distinct_id'?`, ...at('distinct_idd') },
      { message: `${field} evnt. Perhaps you meant 'event'?`, ...at('evnt', 60) },
      {
        message:
          "Unsupported function call 'toStartOfMonthh(...)'. Perhaps you meant 'toStartOfMonth(...)'?",
        ...at('toStartOfMonthh(timestamp)'),
      },
    ])
  })

  test('of a right query tells all about it', async () => {
    const query = 'SELECT event, count() AS n FROM events WHERE properties.price > 5 GROUP BY event'
    const start = query.indexOf('properties')
    expect(await metadata(query)).toEqual({
      query,
      isValid: true,
      isValidView: true,
      errors: [],
      warnings: [],
      notices: [
        {
          start,
          end: start + 'properties.price'.length,
          message: 'Event property "price" is of type Numeric.',
        },
      ],
      table_names: ['events'],
      columns: ['event', 'n'],
      types: [
        ['event', 'String'],
        ['n', 'UInt64'],
      ],
      query_status: null,
    })
  })

  test.each([
    ['SELECT nothing FROM events', 'nothing', 'nothing'],
    ['SELECT 1 FROM evnts', 'evnts', 'evnts'],
    ['SELECT coutn() FROM events', 'coutn()', 'coutn'],
    ['SELECT event FROM events WHERE', '', ''],
    ['SELECT event FROM events WHERE (', '', ''],
  ])('of %p points at %p', async (query, part, named) => {
    const { isValid, isValidView, errors, columns } = await metadata(query)
    expect([isValid, isValidView, errors.length, columns]).toEqual([false, false, 1, []])
    const [{ message, start, end }] = errors
    expect(message).toContain(named)
    expect(query.slice(start, end)).toBe(part)
  })

  test('warns of properties that nobody has sent, of events, persons and groups', async () => {
    const query = `SELECT properties.plann, e.person.properties.age, e.company.properties.seats,
      e.company.properties.chairs FROM events AS e`
    const { isValid, warnings, notices } = await metadata(query)
    expect(isValid).toBe(true)
    const told = (list: readonly { start: number; end: number; message: string }[]) =>
      list.map(({ start, end, message }) => `${query.slice(start, end)}: ${message}`).toSorted()
    expect(told(warnings)).toEqual([
      'e.company.properties.chairs: Group property "chairs" was never sent.',
      'properties.plann: Event property "plann" was never sent.',
    ])
    expect(told(notices)).toEqual([
      'e.company.properties.seats: Group property "seats" is of type Numeric.',
      'e.person.properties.age: Person property "age" is of type Numeric.',
    ])
  })

  test('reads what stands in braces as values to come', async () => {
    const query = `SELECT count() FROM events
      WHERE {filters} AND event = {variables.name} AND timestamp > {filters.dateRange.from} LIMIT {n}`
    expect(await metadata(query)).toMatchObject({ isValid: true, errors: [] })
  })

  test('names tables of the catalog, not those of WITH', async () => {
    const query = `WITH recent AS (SELECT person_id FROM events)
      SELECT count() FROM recent JOIN persons ON persons.id = recent.person_id`
    expect(await metadata(query)).toMatchObject({ table_names: ['events', 'persons'] })
    expect(await metadata('SELECT 1 FROM system.cohorts')).toMatchObject({
      table_names: ['system.cohorts'],
      isValidView: false,
    })
  })

  test.each([
    ['hogQLExpr', 'properties.price * 2', undefined, true],
    ['hogQLExpr', 'seats + 1', undefined, false],
    [
      'hogQLExpr',
      'seats + 1',
      {
        kind: 'DataTableNode',
        source: { kind: 'HogQLQuery', query: 'SELECT 1 FROM (SELECT 3 AS seats)' },
      },
      true,
    ],
    ['hogQLExpr', 'SELECT 1', undefined, false],
    ['hogTemplate', 'Hello {properties.plan}!', undefined, true],
    ['hogTemplate', 'Hello {nobody}!', undefined, false],
  ])('of %s %p with source %j is valid: %p', async (language, query, sourceQuery, isValid) => {
    expect(await metadata(query, { language, sourceQuery })).toMatchObject({ isValid })
  })

  test.each([
    [{ query: 'SELECT 1', language: 'cobol' }, 'query__language'],
    [{ query: 7, language: 'hogQL' }, 'query__query'],
    [{ query: 'SELECT 1', language: 'hogQL', nothing: 1 }, 'query__nothing'],
  ])('%j is refused at %s', async (members, attr) => {
    const { status, body } = await ask({ kind: 'HogQLMetadata', ...members })
    expect([status, body.attr]).toEqual([400, attr])
  })
})

describe('HogQLAutocomplete', () => {
  /** Suggestions where `|` stands; the word before it is what was typed. */
  async function suggested(marked: string, more: object = {}) {
    const endPosition = marked.indexOf('|')
    const query = marked.replace('|', '')
    const word = /[\w$]*$/.exec(query.slice(0, endPosition))?.[0] ?? ''
    const startPosition = endPosition - word.length
    const asked = {
      kind: 'HogQLAutocomplete',
      language: 'hogQL',
      query,
      startPosition,
      endPosition,
    }
    const { status, body } = await ask({ ...asked, ...more })
    expect(status).toBe(200)
    return body
  }
  const labels = async (marked: string, more: object = {}): Promise<readonly string[]> =>
    (await suggested(marked, more)).suggestions.map(({ label }: { label: string }) => label)

  test('has suggestions as editors take them', async () => {
    expect(await suggested('SELECT properties.pla| FROM events')).toEqual({
      suggestions: [{ label: 'plan', insertText: 'plan', kind: 'Variable', detail: 'String' }],
      incomplete_list: false,
      timings: [{ k: '.', t: expect.any(Number) }],
      query_status: null,
    })
    const [first] = (await suggested('SELECT uniqExact| FROM events')).suggestions
    expect(first).toEqual({ label: 'uniqExact', insertText: 'uniqExact()', kind: 'Function' })
    const { suggestions, incomplete_list } = await suggested('SELECT | FROM events')
    expect([suggestions.length, incomplete_list]).toEqual([220, true])
  })

  test.each([
    ['SELECT event FROM ev|', ['events', 'session_replay_events']],
    ['SELECT event FROM events JOIN pers|', ['persons', 'person_distinct_ids']],
    ['SELECT 1 FROM system.coh|', ['cohorts']],
    ['WITH mine AS (SELECT 1 AS one) SELECT on| FROM mine', ['one']],
    ['WITH mine AS (SELECT 1 AS one) SELECT 1 FROM min|', ['mine']],
    ['WITH mine AS (SELECT 1 AS one) SELECT mine.| FROM mine', ['one']],
    ['SELECT e.person.properties.| FROM events AS e', ['age']],
    ['SELECT e.person.cre| FROM events e WHERE', ['created_at']],
    ['SELECT group_0.properties.| FROM events', ['seats']],
    ['SELECT company.properties.| FROM events', ['seats']],
    ['SELECT e.company.properties.| FROM events e', ['seats']],
    ['SELECT compan| FROM events', ['company']],
    ['SELECT compan| FROM persons', []],
    ["SELECT properties['a| FROM events", ['a b', 'plan']],
    ["SELECT 1 FROM events WHERE event = 'bou|", ['bought']],
    ["SELECT 1 FROM events WHERE event IN ('x', 'it|', 'y')", ["it's new"]],
    ["SELECT 1 FROM events WHERE distinct_id = 'bou|'", []],
    ['SELECT 1 FROM (SELECT event AS what FROM events) AS s WHERE s.|', ['what']],
    ['SELECT 1 FROM persons UNION ALL SELECT nothing.| FROM events', []],
    ['SELECT nobody.|', []],
  ])('%p is followed by %j', async (marked, expected) => {
    expect((await labels(marked)).slice(0, Math.max(expected.length, 1))).toEqual(expected)
  })

  test('knows the tables of the SELECT around the place, not those of others', async () => {
    const inner = 'SELECT 1 FROM persons WHERE id IN (SELECT distinct_i| FROM events)'
    expect(await labels(inner)).toContain('distinct_id')
    const outer = 'SELECT distinct_i| FROM persons WHERE id IN (SELECT 1 FROM events)'
    expect(await labels(outer)).not.toContain('distinct_id')
    expect(await labels('SELECT is_ident| FROM events')).not.toContain('is_identified')
    expect(await labels('SELECT is_ident| FROM persons')).toContain('is_identified')
  })

  test('puts names in as they have to be spelled', async () => {
    const [name] = (await suggested('SELECT properties.a| FROM events')).suggestions
    expect(name).toMatchObject({ label: 'a b', insertText: '`a b`' })
    const [event] = (await suggested("SELECT 1 FROM events WHERE event = 'it|")).suggestions
    expect(event).toMatchObject({ label: "it's new", insertText: String.raw`it\'s new` })
  })

  test('of an expression knows its source, of a template what stands for values there', async () => {
    const sourceQuery = { kind: 'HogQLQuery', query: 'SELECT * FROM persons' }
    expect(await labels('is_ident|', { language: 'hogQLExpr', sourceQuery })).toContain(
      'is_identified',
    )
    expect(await labels('distinct_i|', { language: 'hogQLExpr' })).toContain('distinct_id')
    const globals = { project: { id: 1 } }
    expect(await labels('{proj|', { language: 'hogTemplate', globals })).toEqual(['project'])
  })

  test.each([
    [{ startPosition: 5, endPosition: 3 }, 'query__endPosition'],
    [{ startPosition: 0, endPosition: 300 }, 'query__endPosition'],
    [{ startPosition: -1, endPosition: 3 }, 'query__startPosition'],
    [{ startPosition: 0.5, endPosition: 3 }, 'query__startPosition'],
  ])('at %j is refused at %s', async (positions, attr) => {
    const query = { kind: 'HogQLAutocomplete', language: 'hogQL', query: 'SELECT 1', ...positions }
    const { status, body } = await ask(query)
    expect([status, body.attr]).toEqual([400, attr])
  })

  test.each(['', "'", '((((', 'SELECT (', '))))', '\u0000', 'FROM FROM FROM', "f'{", '`', '🙂🙂'])(
    'anywhere in %p is answered',
    async (query) => {
      for (let at = 0; at <= query.length; at++) {
        const positions = { startPosition: at, endPosition: at }
        const asked = { kind: 'HogQLAutocomplete', language: 'hogQL', query, ...positions }
        expect((await ask(asked)).status).toBe(200)
      }
    },
  )
})

describe('DatabaseSchemaQuery', () => {
  test('answers every table with every field, and those that can be asked for', async () => {
    const { status, body } = await ask({ kind: 'DatabaseSchemaQuery' })
    expect([status, Object.keys(body)]).toEqual([200, ['tables', 'joins']])
    expect(Object.keys(body.tables)).toContain('system.feature_flags')
    const { events } = body.tables
    expect(events).toMatchObject({ type: 'posthog', id: 'events', name: 'events' })
    expect(events.fields).toMatchObject({
      timestamp: {
        name: 'timestamp',
        hogql_value: 'timestamp',
        type: 'datetime',
        schema_valid: true,
      },
      properties: { type: 'json' },
      elements_chain_texts: { type: 'array' },
      person: { type: 'lazy_table', table: 'persons', fields: expect.arrayContaining(['id']) },
      poe: { type: 'virtual_table' },
      company: { hogql_value: 'company', type: 'field_traverser', chain: ['group_0'] },
    })
    for (const [name, table] of Object.entries<{ fields: Record<string, { type: string }> }>(
      body.tables,
    )) {
      const types = Object.values(table.fields).map(({ type }) => type)
      expect([name, types.includes('unknown')]).toEqual([name, false])
      const { isValid } = (
        await ask({
          kind: 'HogQLMetadata',
          language: 'hogQL',
          query: `SELECT * FROM ${name}`,
        })
      ).body
      expect([name, isValid]).toEqual([name, true])
    }
  })
})
