/** EventsQuery over the server's own road: rows, objects, what is gathered, and what is refused. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Histories, type History, openHistories } from './history.ts'

setDefaultTimeout(120_000)

const NOW = '2024-06-12T12:00:00Z'

let histories: Histories
let history: History
beforeAll(async () => {
  histories = await openHistories(NOW)
  history = await histories.open({ timezone: 'Europe/Berlin' })
  await history.send([
    event('view', 'ann', '2024-06-12T10:00:00Z', {
      path: '/b',
      n: 2,
      $set: { email: 'ann@x.org' },
    }),
    event('view', 'ann', '2024-06-12T09:00:00Z', { path: '/a', n: 1 }),
    event('buy', 'ben', '2024-06-12T08:00:00Z', { path: '/a', n: 5 }),
    event('view', 'eve', '2024-06-11T11:00:00Z', { $process_person_profile: false }),
    event('view', 'old', '2024-06-01T11:00:00Z', { path: '/old' }),
  ])
})
afterAll(() => histories.close())

function event(name: string, distinct_id: string, timestamp: string, properties: object) {
  return { event: name, distinct_id, timestamp, properties: { ...properties } }
}

async function rows(query: object): Promise<unknown> {
  const { status, body } = await history.ask({ kind: 'EventsQuery', ...query })
  expect([status, body['detail']]).toEqual([200, undefined])
  return body['results']
}

describe('EventsQuery', () => {
  test('a condition on what is gathered is one of groups', async () => {
    const query = { select: ['distinct_id', 'count()'], after: 'all', orderBy: ['distinct_id'] }
    expect(await rows({ ...query, where: ['count() > 1', "event = 'view'"] })).toEqual([['ann', 2]])
  })

  test('answers columns of the last day, the newest first, with what envelopes say', async () => {
    const { body } = await history.ask({
      kind: 'EventsQuery',
      select: ['event', 'properties.path -- Path', 'timestamp'],
      limit: 2,
    })
    expect(body).toMatchObject({
      results: [
        ['view', '/b', '2024-06-12T12:00:00+02:00'],
        ['view', '/a', '2024-06-12T11:00:00+02:00'],
      ],
      columns: ['event', 'properties.path -- Path', 'timestamp'],
      types: ['String', 'Nullable(String)', "DateTime64(6, 'Europe/Berlin')"],
      hasMore: true,
      limit: 2,
      offset: 0,
      error: null,
      timezone: 'Europe/Berlin',
    })
    expect(await rows({ select: ['event'], limit: 2, offset: 2 })).toEqual([['buy']])
  })

  test('names persons by the properties of the project, or by their distinct ids', async () => {
    const select = ['distinct_id', 'person_display_name -- Person']
    const named = async () => {
      const orderBy = ['person_display_name -- Person DESC']
      const query = { kind: 'EventsQuery', select, event: 'view', after: '-2d', orderBy }
      const answer = await history.call('POST', 'query/', { query })
      const { results } = JSON.parse(await answer.text()) as {
        results: readonly (readonly [string, { readonly display_name: string }])[]
      }
      return results.map(([, { display_name }]) => display_name)
    }
    expect(await named()).toEqual(['eve', 'ann@x.org', 'ann@x.org'])
    const [[, whole]] = (await rows({ select, event: 'buy' })) as [[string, object]]
    expect(whole).toEqual({ display_name: 'ben', id: expect.any(String), distinct_id: 'ben' })
    const change = async (names: readonly string[] | null) => {
      const body = { person_display_name_properties: names }
      expect((await history.call('PATCH', '', body)).status).toBe(200)
    }
    await change(['nickname'])
    // Not the answer of a moment ago.
    expect(await named()).toEqual(['eve', 'ann', 'ann'])
    const people = { kind: 'ActorsQuery', select: ['person_display_name'], search: 'ann' }
    const { body } = await history.ask(people)
    expect(body['results']).toMatchObject([[{ display_name: 'ann' }]])
    await change(null)
    expect((await history.ask(people)).body['results']).toMatchObject([
      [{ display_name: 'ann@x.org' }],
    ])
  })

  test('shows an event and a person whole', async () => {
    const [row] = (await rows({ select: ['*', 'person'], event: 'buy' })) as unknown[][]
    expect(row).toEqual([
      {
        uuid: expect.any(String),
        event: 'buy',
        properties: { path: '/a', n: 5 },
        timestamp: '2024-06-12T10:00:00+02:00',
        team_id: history.project_id,
        distinct_id: 'ben',
        elements_chain: '',
        created_at: expect.any(String),
        person_mode: 'full',
      },
      {
        uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        created_at: '2024-06-12T10:00:00+02:00',
        properties: expect.objectContaining({}),
        distinct_id: 'ben',
      },
    ])
    expect(
      await rows({ select: ['person'], after: '-2d', where: ["distinct_id = 'eve'"] }),
    ).toEqual([[{ distinct_id: 'eve' }]])
  })

  test('gathers by the other columns, the most first', async () => {
    const query = { select: ['properties.path', 'count()', 'max(toInt(properties.n))'] }
    expect(await rows({ ...query, where: ['properties.path is not null'] })).toEqual([
      ['/a', 2, 5],
      ['/b', 1, 2],
    ])
    expect(await rows({ select: ['count()'], after: 'all' })).toEqual([[5]])
    expect(await rows({ select: ['event', 'sum(toInt(properties.n))'] })).toEqual([
      ['buy', 5],
      ['view', 3],
    ])
  })

  test.each([
    [{ event: 'buy' }, ['ben']],
    [{ events: ['buy', 'none'] }, ['ben']],
    [{ events: [] }, ['ann', 'ann', 'ben']],
    [{ after: '-2d' }, ['ann', 'ann', 'ben', 'eve']],
    [{ after: 'all' }, ['ann', 'ann', 'ben', 'eve', 'old']],
    [{ after: 'all', before: '2024-06-12 10:00:00' }, ['eve', 'old']],
    [{ where: ["event = 'view'", "properties.path = '/a'"] }, ['ann']],
    [{ properties: [{ key: 'path', value: '/a', operator: 'exact' }] }, ['ann', 'ben']],
    [
      { fixedProperties: [{ key: 'email', value: '@x', operator: 'icontains', type: 'person' }] },
      ['ann', 'ann'],
    ],
    [{ orderBy: ['timestamp'] }, ['ben', 'ann', 'ann']],
    [{ orderBy: ['distinct_id DESC', 'timestamp'] }, ['ben', 'ann', 'ann']],
  ])('with %j finds events of %j', async (narrowed, whose) => {
    expect(await rows({ select: ['distinct_id'], ...narrowed })).toEqual(whose.map((id) => [id]))
  })

  test('finds the events of a person, under all their distinct ids', async () => {
    const [[person_id]] = (await rows({ select: ['person_id'], event: 'buy' })) as [[string]]
    expect(await rows({ select: ['event'], personId: person_id.toUpperCase() })).toEqual([['buy']])
  })

  test('finds the events of a saved action', async () => {
    const steps = [{ event: 'buy' }, { event: 'view', properties: [{ key: 'n', value: '1' }] }]
    const saved = await history.call('POST', 'actions/', { name: 'any of two', steps })
    const { id } = JSON.parse(await saved.text())
    expect(await rows({ select: ['distinct_id'], actionId: id })).toEqual([['ann'], ['ben']])
    const named = { select: ['count()'], where: ["matchesAction('any of two')"] }
    expect(await rows(named)).toEqual([[2]])
  })

  test('finds the events of those behind a number', async () => {
    const series = [{ kind: 'EventsNode', event: 'buy' }]
    const trends = { kind: 'TrendsQuery', series, dateRange: { date_from: '-7d' } }
    const source = { kind: 'InsightActorsQuery', source: trends, day: '2024-06-12' }
    expect(await rows({ select: ['event', 'distinct_id'], source })).toEqual([['buy', 'ben']])
    const text = "select distinct person_id from events where distinct_id in ('ann', 'eve')"
    const asked = { kind: 'HogQLQuery', query: text }
    expect(await rows({ select: ['distinct_id'], after: '-2d', source: asked })).toEqual([
      ['ann'],
      ['ann'],
      ['eve'],
    ])
  })

  test('finds the events that a number of a trend counts, and no others of those behind it', async () => {
    const behind = async (series: object, point: object, rest: object = {}) => {
      const trends = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', ...series }], ...rest }
      const range = { dateRange: { date_from: '2024-06-01', date_to: '2024-06-12' } }
      const source = { kind: 'InsightActorsQuery', source: { ...range, ...trends }, ...point }
      const select = ['distinct_id', 'properties.path']
      return rows({ select, after: 'all', orderBy: ['timestamp'], source })
    }
    const today = { day: '2024-06-12' }
    const path = { key: 'path', value: '/a' }
    expect(await behind({ event: 'view' }, { day: '2024-06-11' })).toEqual([['eve', null]])
    expect(await behind({ event: 'view', properties: [path] }, today)).toEqual([['ann', '/a']])
    expect(await behind({ event: 'view', math: 'dau' }, today)).toEqual([
      ['ann', '/a'],
      ['ann', '/b'],
    ])
    expect(await behind({ event: 'view', math: 'first_time_for_user' }, today)).toEqual([
      ['ann', '/a'],
    ])
    const split = { breakdownFilter: { breakdown: 'path', breakdown_type: 'event' } }
    expect(await behind({ event: null }, { ...today, breakdown: '/b' }, split)).toEqual([
      ['ann', '/b'],
    ])
    const query = { kind: 'EventsQuery', select: ['event'], after: 'all' }
    const trends = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode' }] }
    const source = { kind: 'InsightActorsQuery', source: trends, series: 1 }
    expect((await history.ask({ ...query, source })).status).toBe(400)
  })

  test('leaves test accounts out where it is asked to', async () => {
    const filters = [{ key: 'email', value: 'x.org', operator: 'not_icontains', type: 'person' }]
    const tested = await histories.open({ test_account_filters: filters })
    await tested.send([
      event('view', 'ann', '2024-06-12T10:00:00Z', { $set: { email: 'ann@x.org' } }),
      event('view', 'ben', '2024-06-12T10:00:00Z', {}),
    ])
    const query = { kind: 'EventsQuery', select: ['distinct_id'], orderBy: ['distinct_id'] }
    expect((await tested.ask(query)).body['results']).toEqual([['ann'], ['ben']])
    const { body } = await tested.ask({ ...query, filterTestAccounts: true })
    expect(body['results']).toEqual([['ben']])
  })

  test('finds by its chain of elements, which is a column, as by a property', async () => {
    const chained = await histories.open({})
    const clicked = (distinct_id: string, $elements_chain: string) =>
      event('$autocapture', distinct_id, '2024-06-12T10:00:00Z', { $elements_chain })
    await chained.send([
      clicked('ann', 'a.link;div.box'),
      clicked('ben', 'a.link;button'),
      event('view', 'eve', '2024-06-12T10:00:00Z', {}),
    ])
    const found = async (operator: string, value?: string) => {
      const properties = [{ key: '$elements_chain', value, operator }]
      const select = ['distinct_id']
      const query = { kind: 'EventsQuery', select, properties, orderBy: select }
      return ((await chained.ask(query)).body['results'] as readonly string[][]).join(' ')
    }
    expect(await found('icontains', 'div')).toBe('ann')
    expect(await found('not_icontains', 'div')).toBe('ben eve')
    expect(await found('is_set')).toBe('ann ben')
    expect(await found('is_not_set')).toBe('eve')
  })

  test('compares a path as the project cleans it, as the list of events does', async () => {
    const path_cleaning_filters = [{ regex: '\\d+', alias: ':id' }]
    const cleaned = await histories.open({ path_cleaning_filters })
    await cleaned.send([
      event('view', 'ann', '2024-06-12T10:00:00Z', { $pathname: '/user/7' }),
      event('view', 'ben', '2024-06-12T10:00:00Z', { $pathname: '/about' }),
    ])
    const properties = [{ key: '$pathname', value: '/user/:id', operator: 'is_cleaned_path_exact' }]
    const { body } = await cleaned.ask({ kind: 'EventsQuery', select: ['distinct_id'], properties })
    expect(body['results']).toEqual([['ann']])
    const list = `events/?properties=${encodeURIComponent(JSON.stringify(properties))}`
    const { results } = JSON.parse(await (await cleaned.call('GET', list)).text())
    expect(results.map(({ distinct_id }: { distinct_id: string }) => distinct_id)).toEqual(['ann'])
  })

  test.each([
    [{ select: [] }, 'query__select'],
    [{ select: ['count('] }, 'query__select'],
    [{ select: ['event'], where: ['1 +'] }, 'query__where'],
    [{ select: ['event'], orderBy: ['desc desc desc'] }, 'query__orderBy'],
    [{ select: ['event'], after: 'soon' }, 'query__after'],
    [{ select: ['event'], before: 'soon' }, 'query__before'],
    [{ select: ['event'], personId: 'ann' }, 'query__personId'],
    [{ select: ['event'], limit: -1 }, 'query__limit'],
    [{ select: ['event'], misspelt: 1 }, 'query__misspelt'],
    [{}, 'query__select'],
  ])('%j is refused, naming %s', async (query, attr) => {
    const { status, body } = await history.ask({ kind: 'EventsQuery', ...query })
    expect([status, body['attr']]).toEqual([400, attr])
  })

  test('holds no rows of other projects, whatever is asked', async () => {
    const other = await histories.open()
    await other.send([event('own', 'ann', '2024-06-12T10:00:00Z', {})])
    const everywhere = '(select count() from events)'
    const { body } = await other.ask({
      kind: 'EventsQuery',
      select: ['event', 'count()', everywhere],
      after: 'all',
    })
    expect(body['results']).toEqual([['own', 1, 1]])
  })
})

describe('SessionsTimelineQuery', () => {
  test('parts what one person did by session, and what has none by pauses of half an hour', async () => {
    const timeline = await histories.open()
    const at = (minute: number, session: string | null) =>
      event(
        `e${minute}`,
        'ann',
        new Date(Date.parse(NOW) - (200 - minute) * 60_000).toISOString(),
        session === null ? {} : { $session_id: session },
      )
    await timeline.send([
      at(0, null),
      at(29, null),
      at(59, null),
      at(60, 's1'),
      at(61, null),
      at(70, 's2'),
      at(80, 's1'),
      event('theirs', 'ben', '2024-06-12T11:00:00Z', {}),
    ])
    const people = await timeline.ask({ kind: 'EventsQuery', select: ['person_id'], event: 'e0' })
    const [[personId]] = people.body['results'] as [[string]]
    const { body } = await timeline.ask({ kind: 'SessionsTimelineQuery', personId })
    const entries = body['results'] as { sessionId: unknown; events: { event: string }[] }[]
    expect(
      entries.map(({ sessionId, events }) => [sessionId, events.map((one) => one.event)]),
    ).toEqual([
      ['s2', ['e70']],
      ['s1', ['e80', 'e60']],
      [null, ['e61', 'e59']],
      [null, ['e29', 'e0']],
    ])
    expect(body['hasMore']).toBe(false)
    expect(entries[0]?.events[0]).toEqual({
      id: expect.any(String),
      distinct_id: 'ann',
      event: 'e70',
      timestamp: '2024-06-12T09:50:00Z',
      properties: { $session_id: 's2' },
      elements_chain: '',
    } as never)
  })
})

test('`*` shows what was clicked as elements beside elements_chain, and no elements of other events', async () => {
  const clicks = await histories.open()
  await clicks.send([
    event('$autocapture', 'ann', '2024-06-12T10:00:00Z', {
      $elements: [
        { tag_name: 'a', $el_text: 'Say "hi"; now', attr__class: 'big blue', attr__href: '/hi' },
        { tag_name: 'body', nth_child: 2, nth_of_type: 1 },
      ],
    }),
    event('view', 'ann', '2024-06-12T09:00:00Z', {}),
  ])
  const { body } = await clicks.ask({ kind: 'EventsQuery', select: ['*'] })
  const [[click = {}] = [], [view = {}] = []] = body['results'] as object[][]
  expect(click).toMatchObject({
    event: '$autocapture',
    elements_chain: expect.stringContaining('a.big.blue:'),
    elements: [
      { tag_name: 'a', text: 'Say "hi"; now', attr_class: ['big', 'blue'], href: '/hi', order: 0 },
      { tag_name: 'body', nth_child: 2, nth_of_type: 1, order: 1 },
    ],
  })
  expect(view).toMatchObject({ event: 'view', elements_chain: '' })
  expect(view).not.toHaveProperty('elements')
})
