/** Lists of persons and groups over the server's own door: all of them, and those behind every kind of number. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Histories, type History, openHistories, type SentEvent } from '../history.ts'

setDefaultTimeout(120_000)

const NOW = '2024-06-12T12:00:00Z'

let histories: Histories
let history: History
beforeAll(async () => {
  histories = await openHistories(NOW)
  history = await histories.open()
  // Ann opens on three days and buys; ben opens on two; cyd is merged into ben; eve has no profile.
  await history.send([
    act('$groupidentify', 'ann', '10', {
      $group_type: 'team',
      $group_key: 'red',
      $group_set: { name: 'Red' },
    }),
    act('open', 'ann', '10', { $groups: { team: 'red' }, $set: { email: 'ann@x.org', age: 40 } }),
    act('open', 'ann', '11', { $groups: { team: 'blue' } }),
    act('open', 'ann', '12'),
    act('buy', 'ann', '12'),
    act('open', 'ben', '10', { $set: { name: 'Ben', age: 20 } }),
    act('open', 'cyd', '12'),
    act('$create_alias', 'ben', '12', { alias: 'cyd' }),
    act('open', 'eve', '11', { $process_person_profile: false }),
  ])
})
afterAll(() => histories.close())

function act(event: string, distinct_id: string, day: string, properties: object = {}): SentEvent {
  const time = event === 'buy' ? '10:10' : '10:00'
  return {
    event,
    distinct_id,
    timestamp: `2024-06-${day}T${time}:00Z`,
    properties: { ...properties },
  }
}

const hogql = (key: string) => ({ type: 'hogql', key, value: null })

type Rows = readonly (readonly unknown[])[]

async function ask(query: object): Promise<Readonly<Record<string, unknown>>> {
  const { status, body } = await history.ask({ kind: 'ActorsQuery', ...query })
  expect([status, body['detail']]).toEqual([200, undefined])
  return body
}

const rows = async (query: object): Promise<Rows> => (await ask(query))['results'] as Rows

/** Who they are, by name, in any order. */
const who = async (query: object): Promise<readonly string[]> =>
  (await rows({ ...query, select: ['person_display_name'] }))
    .map(([person]) => (person as { display_name: string }).display_name)
    .map((name) => (/^[0-9a-f-]{36}$/.test(name) ? 'nobody' : name))
    .toSorted()

describe('all persons', () => {
  test('are answered whole, with what envelopes say', async () => {
    const body = await ask({
      properties: [{ key: 'age', value: 30, operator: 'gt', type: 'person' }],
    })
    const [[person, id]] = body['results'] as [[{ id: string }, string]]
    expect(body).toMatchObject({
      columns: ['person', 'id', 'person.$delete'],
      types: ['String', 'String', 'UInt8'],
      hasMore: false,
      limit: 100,
      offset: 0,
      missing_actors_count: 0,
      error: null,
    })
    expect(body['results']).toEqual([
      [
        {
          id,
          distinct_ids: ['ann'],
          properties: expect.objectContaining({ email: 'ann@x.org', age: 40 }),
          created_at: '2024-06-10T10:00:00Z',
          is_identified: expect.any(Boolean),
        },
        person.id,
        1,
      ],
    ])
  })

  test.each([
    [{}, ['Ben', 'ann@x.org']],
    [{ search: 'ANN@' }, ['ann@x.org']],
    [{ search: 'cyd' }, ['Ben']],
    [{ search: 'nobody' }, []],
    [{ properties: [{ key: 'age', value: [20, 30], operator: 'exact', type: 'person' }] }, ['Ben']],
    [{ fixedProperties: [{ key: 'email', operator: 'is_not_set', type: 'person' }] }, ['Ben']],
    [{ properties: [hogql('properties.age * 2 > 60')] }, ['ann@x.org']],
    [
      { properties: { type: 'OR', values: [hogql('properties.age < 30'), hogql('false')] } },
      ['Ben'],
    ],
  ])('with %j are %j', async (narrowed, names) => {
    expect(await who(narrowed)).toEqual(names)
  })

  test.each(['Infinity', '1e999', 'beta', 1e300])(
    'are not in cohort %p, which is none',
    async (value) => {
      const properties = [{ key: 'id', type: 'cohort', value }]
      const { status, body } = await history.ask({ kind: 'ActorsQuery', properties })
      expect([status, body['code']]).toEqual([400, 'invalid_input'])
    },
  )

  test('are ordered, counted and paged as asked', async () => {
    const shown = { select: ['properties.name', 'properties.age'], orderBy: ['properties.age'] }
    expect(await rows(shown)).toEqual([
      ['Ben', 20],
      [null, 40],
    ])
    expect(await rows({ ...shown, limit: 1, offset: 1 })).toEqual([[null, 40]])
    expect((await ask({ ...shown, limit: 1 }))['hasMore']).toBe(true)
    expect(await rows({ select: ['count()'] })).toEqual([[2]])
  })

  test('are ordered by the first column, by counts, or by when they came', async () => {
    expect(await rows({ select: ['properties.age', 'id'] })).toEqual([
      [20, expect.any(String)],
      [40, expect.any(String)],
    ])
    expect(await rows({ select: ['properties.age * -1 as less', 'properties.name'] })).toEqual([
      [-40, null],
      [-20, 'Ben'],
    ])
    const ids = (await rows({ select: ['id'] })).flat().map(String)
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)))
    expect((await rows({})).map(([, id]) => id)).toEqual(ids)
    expect(await rows({ select: ['properties.age > 30', 'count()'] })).toHaveLength(2)
    const by_email = await rows({ select: ['properties.email'], orderBy: ['person DESC'] })
    expect(by_email).toEqual([['ann@x.org'], [null]])
    const newest = await rows({ select: ['properties.age', 'created_at'] })
    const times = newest.map(([, created_at]) => String(created_at))
    expect(times).toEqual(times.toSorted((a, b) => (a < b ? 1 : -1)))
  })

  test('are filtered by what is counted of them', async () => {
    const select = ['properties.age > 30', 'count()']
    const more = [hogql('count() > 1')]
    expect(await rows({ select, properties: more })).toEqual([])
    expect(await rows({ select, properties: [hogql('count() = 1')] })).toHaveLength(2)
  })

  test('are found by the older form too', async () => {
    const { body } = await history.ask({ kind: 'PersonsNode', distinctId: 'cyd' })
    expect(body['results']).toMatchObject([
      [{ distinct_ids: ['ben', 'cyd'] }, expect.any(String), 1],
    ])
  })
})

const open = { kind: 'EventsNode', event: 'open' }
const dateRange = { date_from: '2024-06-10', date_to: '2024-06-12' }
const behind = (source: object, point: object = {}) => ({
  source: { kind: 'InsightActorsQuery', source, ...point },
})

describe('behind a number', () => {
  test.each(['Infinity', '1e999', 'beta', -1])(
    'of retention by cohorts, %p is refused as none',
    async (breakdown) => {
      const breakdownFilter = { breakdown_type: 'cohort', breakdown: ['all'] }
      const source = { kind: 'RetentionQuery', retentionFilter: {}, breakdownFilter }
      const point = behind(source, { interval: 0, breakdown })
      const { status, body } = await history.ask({ kind: 'ActorsQuery', ...point })
      expect([status, body['code']]).toEqual([400, 'invalid_input'])
    },
  )

  const trends = { kind: 'TrendsQuery', series: [{ ...open, math: 'dau' }], dateRange }
  const lifecycle = { kind: 'LifecycleQuery', series: [open], dateRange }
  const stickiness = { kind: 'StickinessQuery', series: [open], dateRange }
  const retention = {
    kind: 'RetentionQuery',
    retentionFilter: {
      totalIntervals: 3,
      targetEntity: { id: 'open', type: 'events' },
      returningEntity: { id: 'open', type: 'events' },
    },
  }
  const funnel = {
    kind: 'FunnelsQuery',
    series: [open, { kind: 'EventsNode', event: 'buy' }],
    dateRange,
  }
  const steps = (funnelStep: number) => ({
    source: { kind: 'FunnelsActorsQuery', source: funnel, funnelStep },
  })
  const paths = {
    kind: 'PathsQuery',
    pathsFilter: {
      includeEventTypes: ['custom_event'],
      pathStartKey: '1_open',
      pathEndKey: '2_buy',
    },
    dateRange,
  }

  test.each([
    ['trends', behind(trends, { day: '2024-06-11' }), ['ann@x.org', 'nobody']],
    [
      'trends of all time',
      behind({ ...trends, dateRange: { date_from: 'all' } }, { day: '2024-06-10' }),
      ['Ben', 'ann@x.org'],
    ],
    ['a lifecycle', behind(lifecycle, { day: '2024-06-12', status: 'resurrecting' }), ['Ben']],
    ['a stickiness', behind(stickiness, { day: 3 }), ['ann@x.org']],
    [
      'a stickiness',
      { source: { kind: 'StickinessActorsQuery', source: stickiness, day: '2', operator: 'gte' } },
      ['Ben', 'ann@x.org'],
    ],
    ['a retention', behind(retention, { interval: 0 }), ['Ben', 'ann@x.org']],
    ['a retention', behind(retention, { interval: 1 }), ['ann@x.org', 'nobody']],
    ['a funnel', steps(1), ['Ben', 'ann@x.org', 'nobody']],
    ['a funnel', steps(2), ['ann@x.org']],
    ['a funnel', steps(-2), ['Ben', 'nobody']],
    ['paths', behind(paths), ['ann@x.org']],
    [
      'a query',
      { source: { kind: 'HogQLQuery', query: "select person_id from events where event = 'buy'" } },
      ['ann@x.org'],
    ],
    [
      'a query',
      {
        source: {
          kind: 'HogQLQuery',
          query: 'select toString(person_id) as actor_id from events group by actor_id',
        },
      },
      ['Ben', 'ann@x.org', 'nobody'],
    ],
  ] as const)('of %s stand %#', async (_, source, names) => {
    expect(await who(source)).toEqual([...names].toSorted())
  })

  test('stand those without a profile too, by their id alone, and are counted', async () => {
    const body = await ask({
      ...behind(retention, { interval: 1 }),
      select: ['actor', 'event_count', 'appearance_intervals', 'appearances'],
      orderBy: ['length(appearances) DESC'],
    })
    expect(body['missing_actors_count']).toBe(1)
    expect(body['results']).toEqual([
      [expect.objectContaining({ distinct_ids: ['ann'] }), 2, [0, 1], [0, 1]],
      [{ id: expect.any(String) }, 1, [0], [0]],
    ])
  })

  test('stand those that are searched or filtered alone', async () => {
    expect(await who({ ...steps(1), search: 'ann' })).toEqual(['ann@x.org'])
    const young = [{ key: 'age', value: 30, operator: 'lt', type: 'person' }]
    expect(await who({ ...steps(1), properties: young })).toEqual(['Ben'])
    expect(await who({ ...steps(1), properties: [hogql('properties.age < 30')] })).toEqual(['Ben'])
  })

  test('stand groups where groups act', async () => {
    const grouped = { ...retention, aggregation_group_type_index: 0 }
    expect(await rows(behind(grouped, { interval: 0 }))).toEqual([
      [
        {
          id: 'red',
          type: 'group',
          properties: { name: 'Red' },
          group_key: 'red',
          group_type_index: 0,
          group_properties: { name: 'Red' },
          created_at: '2024-06-10T10:00:00Z',
        },
      ],
    ])
    // Nothing was ever said of the blue team.
    const blue = await ask(behind(grouped, { interval: 1 }))
    expect([blue['results'], blue['missing_actors_count']]).toEqual([[[{ id: 'blue' }]], 1])
    expect(await rows({ ...behind(grouped, { interval: 0 }), search: 'RE' })).toHaveLength(1)
    const named = [hogql("properties.name = 'Red'")]
    expect(await rows({ ...behind(grouped, { interval: 0 }), properties: named })).toHaveLength(1)
  })

  test('is as many as the number says', async () => {
    const { body } = await history.ask(retention)
    const answer = body['results'] as { values: { count: number }[] }[]
    for (const [interval, { values }] of answer.entries()) {
      const found = await rows(behind(retention, { interval }))
      expect(found).toHaveLength(values[0]?.count ?? 0)
    }
  })

  test('stand ids alone where the source itself is asked', async () => {
    const { body } = await history.ask(behind(stickiness, { day: 3 }).source)
    expect(body).toMatchObject({
      results: [[expect.any(String), 3]],
      columns: ['actor_id', 'event_count'],
    })
  })

  test.each([
    [behind(retention, { interval: 3 }), 'query__source__interval'],
    [behind(stickiness, { day: 'often' }), 'query__source__day'],
    [behind(lifecycle, { day: '2024-06-12', status: 'odd' }), 'query__source__status'],
    [steps(0), 'query__source__funnelStep'],
    [{ source: { kind: 'HogQLQuery', query: 'select event from events' } }, 'query__source__query'],
    [{ filterTestAccounts: true }, 'query__filterTestAccounts'],
    [{ select: ['count('] }, 'query__select'],
    [{ orderBy: ['('] }, 'query__orderBy'],
    [{ properties: [{ key: 'a', value: 'b', type: 'event' }] }, 'query__properties'],
    [{ properties: [hogql('{age} > 1')] }, 'query__properties'],
  ])('that there is not is refused: %j', async (query, attr) => {
    const { status, body } = await history.ask({ kind: 'ActorsQuery', ...query })
    expect([status, body['attr']]).toEqual([400, attr])
  })

  test('can be chosen', async () => {
    const options = async (source: object) =>
      (await history.ask({ kind: 'InsightActorsQueryOptions', source })).body
    expect(await options(behind(retention).source)).toMatchObject({
      interval: [
        { label: 'Day 0', value: 0 },
        { label: 'Day 1', value: 1 },
        { label: 'Day 2', value: 2 },
      ],
      day: null,
    })
    expect(await options(behind(stickiness).source)).toMatchObject({
      day: [{ value: 1 }, { value: 2 }, { value: 3 }],
    })
    expect(await options(behind(lifecycle).source)).toMatchObject({ status: expect.any(Array) })
  })
})
