/** People behind a lifecycle, a stickiness and a correlation, asked for with old-style filters over the server's own door. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ANALYSES, type Analysis } from '../../../src/contract/persons/person-analytics.ts'
import {
  type Histories,
  type History,
  openHistories,
  type SentEvent,
} from '../../insights/history.ts'
import { limitTests } from '../../long-tests.ts'
import { isTried } from '../../random-runs.ts'
import { untold } from '../described.ts'

limitTests(120_000)

const NOW = '2024-06-12T12:00:00Z'

let histories: Histories
let history: History
beforeAll(async () => {
  histories = await openHistories(NOW)
  history = await histories.open({ timezone: 'Europe/Berlin' })
  // Ann is there every day from the 9th to the 11th, ben on the 10th and the 12th, eve has no profile.
  await history.send([
    seen('ann', '2024-06-09T10:00:00Z', { $set: { email: 'ann@x.org', formula: '=1+1' } }),
    seen('ann', '2024-06-10T10:00:00Z', { plan: 'pro' }),
    seen('ann', '2024-06-11T10:00:00Z'),
    seen('ben', '2024-06-10T10:00:00Z', { plan: 'free' }),
    seen('ben', '2024-06-12T10:00:00Z'),
    seen('eve', '2024-06-10T10:00:00Z', { $process_person_profile: false }),
    { ...seen('cyd', '2024-06-10T10:00:00Z'), event: 'other' },
  ])
})
afterAll(() => histories.close())

function seen(distinct_id: string, timestamp: string, properties: object = {}): SentEvent {
  return { event: 'seen', distinct_id, timestamp, properties: { ...properties } }
}

const EVENTS = JSON.stringify([{ id: 'seen', type: 'events', order: 0 }])
const RANGE = 'date_from=2024-06-09&date_to=2024-06-12&interval=day'

async function get(path: string) {
  const answer = await history.call('GET', `persons/${path}`)
  const text = await answer.text()
  return { status: answer.status, text, type: answer.headers.get('content-type') }
}

type People = {
  readonly results: readonly [
    { readonly people: readonly { readonly name: string }[]; readonly count: number },
  ]
  readonly next: string | null
}

async function people(path: string): Promise<People> {
  const { status, text } = await get(path)
  expect(untold({ method: 'GET', path: `/api/projects/1/persons/${path}`, status, text })).toEqual(
    [],
  )
  expect([status, JSON.parse(text).detail]).toEqual([200, undefined])
  return JSON.parse(text)
}

const names = async (path: string): Promise<readonly string[]> =>
  (await people(path)).results[0].people.map(({ name }) => name).toSorted()

describe('persons/lifecycle/', () => {
  const lifecycle = (target_date: string, lifecycle_type: string, more = ''): string =>
    `lifecycle/?insight=LIFECYCLE&events=${encodeURIComponent(EVENTS)}&${RANGE}&target_date=${target_date}&lifecycle_type=${lifecycle_type}${more}`

  test('tells who had a status on a day', async () => {
    expect(await names(lifecycle('2024-06-09', 'new'))).toEqual(['ann@x.org'])
    expect(await names(lifecycle('2024-06-10', 'new'))).toEqual(['ben'])
    expect(await names(lifecycle('2024-06-10', 'returning'))).toEqual(['ann@x.org'])
    expect(await names(lifecycle('2024-06-11', 'dormant'))).toEqual(['ben'])
    expect(await names(lifecycle('2024-06-12', 'resurrecting'))).toEqual(['ben'])
    expect(await names(lifecycle('2024-06-12', 'new'))).toEqual([])
  })

  test('answers persons as lists of persons do, with a count', async () => {
    expect(await people(lifecycle('2024-06-09', 'new'))).toEqual({
      results: [
        {
          people: [
            {
              type: 'person',
              id: expect.any(String),
              uuid: expect.any(String),
              name: 'ann@x.org',
              distinct_ids: ['ann'],
              properties: expect.objectContaining({ email: 'ann@x.org' }),
              created_at: '2024-06-09T10:00:00.000Z',
              is_identified: expect.any(Boolean),
              matched_recordings: [],
              value_at_data_point: null,
            } as never,
          ],
          count: 1,
        },
      ],
      next: null,
    })
  })

  test('is narrowed by filters of the old forms and the new', async () => {
    const filters = [
      [{ key: 'plan', value: 'pro' }],
      { plan: 'pro' },
      { plan__icontains: 'PR' },
      { type: 'AND', values: [{ key: 'plan', value: 'pro', operator: 'exact', type: 'event' }] },
    ]
    for (const filter of filters) {
      const properties = encodeURIComponent(JSON.stringify(filter))
      // Only the 10th has a plan, so nobody was there before.
      const path = lifecycle('2024-06-10', 'resurrecting', `&properties=${properties}`)
      expect(await names(path)).toEqual(['ann@x.org'])
    }
  })

  test('comes as CSV, one row per person, with nothing that a spreadsheet would compute', async () => {
    const { status, type, text } = await get(lifecycle('2024-06-09', 'new', '&format=csv'))
    expect([status, type]).toEqual([200, 'text/csv; charset=utf-8'])
    const [head = '', row = '', end] = text.split('\r\n')
    expect(head.split(',').slice(0, 2)).toEqual(['id', 'name'])
    expect(head).toContain('distinct_ids.0')
    expect(head).toContain('properties.formula')
    expect(row).toContain(",'=1+1")
    expect(end).toBe('')
  })

  test.each([
    ['lifecycle/?events=[]', 'target_date'],
    ['lifecycle/?target_date=2024-06-10', 'lifecycle_type'],
    ['lifecycle/?target_date=2024-06-10&lifecycle_type=new', 'events'],
    [`lifecycle/?target_date=2024-06-10&lifecycle_type=new&events={}`, 'events'],
    [`lifecycle/?target_date=2024-06-10&lifecycle_type=new&events=[`, 'events'],
    [`lifecycle/?target_date=2024-06-10&lifecycle_type=new&events=[7]`, 'events'],
    [`lifecycle/?target_date=2024-06-10&lifecycle_type=odd&events=${EVENTS}`, 'lifecycle_type'],
    [`lifecycle/?target_date=soon&lifecycle_type=new&events=${EVENTS}`, 'target_date'],
    [
      `lifecycle/?target_date=2024-06-10&lifecycle_type=new&date_from=soon&events=${EVENTS}`,
      'date_from',
    ],
    [
      `lifecycle/?target_date=2024-06-10&lifecycle_type=new&interval=eon&events=${EVENTS}`,
      'interval',
    ],
    [`lifecycle/?target_date=2024-06-10&lifecycle_type=new&limit=x&events=${EVENTS}`, 'limit'],
    [
      `lifecycle/?target_date=2024-06-10&lifecycle_type=new&properties=7&events=${EVENTS}`,
      'properties',
    ],
    ['stickiness/?stickiness_days=2', 'entity_id'],
    ['stickiness/?entity_id=seen', 'entity_type'],
    ['stickiness/?entity_id=seen&entity_type=odd', 'entity_type'],
    ['stickiness/?entity_id=seen&entity_type=events&stickiness_days=x', 'stickiness_days'],
    ['funnel/correlation/?insight=FUNNELS', 'funnel_correlation_person_entity'],
  ])('%s is refused, naming %s', async (path, attr) => {
    const { status, text } = await get(path)
    expect([status, JSON.parse(text)]).toMatchObject([400, { type: 'validation_error', attr }])
  })
})

describe('persons/stickiness/', () => {
  const stickiness = (days: number, more = ''): string =>
    `stickiness/?shown_as=Stickiness&entity_id=seen&entity_type=events&stickiness_days=${days}&${RANGE}${more}`

  test('tells who was there on so many days', async () => {
    expect(await names(stickiness(3))).toEqual(['ann@x.org'])
    expect(await names(stickiness(2))).toEqual(['ben'])
    expect(await names(stickiness(1))).toEqual([])
  })

  test('asks what the events of its filters ask of the same one', async () => {
    const events = JSON.stringify([
      { id: 'seen', order: 0, properties: [{ key: 'plan', operator: 'is_set', value: 'is_set' }] },
    ])
    expect(await names(stickiness(1, `&events=${encodeURIComponent(events)}`))).toEqual([
      'ann@x.org',
      'ben',
    ])
  })

  test('comes page by page, and is searched', async () => {
    const all = `stickiness/?entity_id=seen&entity_type=events&${RANGE}&limit=1`
    const first = await people(all)
    expect(first.results[0].count).toBe(1)
    const next = new URL(first.next ?? '')
    expect(next.origin).toBe('https://tidemark.example')
    expect(next.searchParams.get('offset')).toBe('1')
    const second = await people(`stickiness/${next.search}`)
    expect(second.results[0].people[0]?.name).not.toBe(first.results[0].people[0]?.name)
    expect(await names(`${all}&search=ann`)).toEqual(['ann@x.org'])
  })
})

describe('persons/funnel/correlation/', () => {
  let funnel: History
  beforeAll(async () => {
    funnel = await histories.open()
    const at = (event: string, distinct_id: string, time: string, properties: object = {}) => ({
      event,
      distinct_id,
      timestamp: `2024-06-10T${time}:00Z`,
      properties: { ...properties },
    })
    // Ann and cyd come through, ben does not; ann and ben ask for help on the way.
    await funnel.send([
      at('open', 'ann', '10:00'),
      at('help', 'ann', '10:10'),
      at('buy', 'ann', '10:20'),
      at('open', 'ben', '10:00', { $set: { plan: 'pro' } }),
      at('help', 'ben', '10:10'),
      at('open', 'cyd', '10:00'),
      at('buy', 'cyd', '11:00'),
    ])
  })

  const steps = [
    { id: 'open', type: 'events', order: 0 },
    { id: 'buy', type: 'events', order: 1 },
  ]
  const asked = {
    insight: 'FUNNELS',
    date_from: '2024-06-01',
    funnel_window_interval: 7,
    funnel_window_interval_unit: 'day',
    funnel_correlation_type: 'events',
  }
  const help = { id: 'help', type: 'events' }

  const namesIn = async (answer: Response): Promise<readonly string[]> => {
    const text = await answer.text()
    const path = '/api/projects/1/persons/funnel/correlation/'
    expect(untold({ method: 'GET', path, status: answer.status, text })).toEqual([])
    return (JSON.parse(text) as People).results[0].people.map(({ name }) => name).toSorted()
  }

  const namesOf = (more: Readonly<Record<string, unknown>>): Promise<readonly string[]> => {
    const sent = Object.entries({ ...asked, events: steps, ...more }).map(
      ([name, value]) =>
        [name, typeof value === 'object' ? JSON.stringify(value) : String(value)] as const,
    )
    const query = new URLSearchParams(Object.fromEntries(sent)).toString()
    return funnel.call('GET', `persons/funnel/correlation/?${query}`).then(namesIn)
  }

  test('tells who did something on the way, and came through or not', async () => {
    const entity = { funnel_correlation_person_entity: help }
    expect(await namesOf({ ...entity, funnel_correlation_person_converted: 'true' })).toEqual([
      'ann',
    ])
    expect(await namesOf({ ...entity, funnel_correlation_person_converted: 'false' })).toEqual([
      'ben',
    ])
    expect(await namesOf(entity)).toEqual(['ann', 'ben'])
  })

  test('tells who is something', async () => {
    const values = [{ key: 'plan', value: 'pro', type: 'person', operator: 'exact' }]
    const are = {
      funnel_correlation_type: 'properties',
      funnel_correlation_property_values: values,
    }
    expect(await namesOf({ ...are, funnel_correlation_person_converted: false })).toEqual(['ben'])
    expect(await namesOf({ ...are, funnel_correlation_person_converted: true })).toEqual([])
  })

  test('takes the same as the members of a body, properties too', async () => {
    const body = {
      ...asked,
      events: steps,
      funnel_correlation_person_entity: help,
      properties: [{ key: 'plan', operator: 'is_not_set', type: 'person' }],
    }
    const answer = await funnel.call('POST', 'persons/funnel/correlation/', body)
    expect(await namesIn(answer)).toEqual(['ann'])
  })

  test('says what lists of correlations say, and pages by names of its own', async () => {
    const body = { ...asked, events: steps, funnel_correlation_person_entity: help }
    const path = 'persons/funnel/correlation/?funnel_correlation_person_limit=1'
    const answer = await funnel.call('POST', path, body)
    const page = JSON.parse(await answer.text())
    expect(page).toMatchObject({
      results: [{ people: [expect.anything()], count: 1 }],
      missing_persons: 0,
      is_cached: false,
      last_refresh: '2024-06-12T12:00:00.000Z',
    })
    expect(page.next).toContain('funnel_correlation_person_offset=1')
    expect(page.initial).toContain('funnel_correlation_person_offset=0')
  })

  test('comes as CSV too', async () => {
    const body = { ...asked, events: steps, funnel_correlation_person_entity: help }
    const answer = await funnel.call('POST', 'persons/funnel/correlation/?format=csv', body)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect((await answer.text()).split('\r\n')).toHaveLength(4)
  })

  test.each([
    [{ funnel_correlation_person_entity: help, events: [] }, 'events'],
    [{ events: steps }, 'funnel_correlation_person_entity'],
    [{ events: steps, funnel_correlation_person_entity: 7 }, 'funnel_correlation_person_entity'],
    [
      { events: steps, funnel_correlation_person_entity: help, funnel_correlation_type: 'odd' },
      'funnel_correlation_type',
    ],
    [
      { events: steps, funnel_correlation_person_entity: help, funnel_window_interval: 'long' },
      'funnel_window_interval',
    ],
    [
      { events: steps, funnel_correlation_person_entity: help, funnel_window_interval_unit: 'eon' },
      'funnel_window_interval_unit',
    ],
    [
      { events: steps, funnel_correlation_person_entity: help, funnel_order_type: 'odd' },
      'funnel_order_type',
    ],
    [{ events: 'open', funnel_correlation_person_entity: help }, 'events'],
  ])('refuses %j, naming %s', async (body, attr) => {
    const answer = await funnel.call('POST', 'persons/funnel/correlation/', body)
    expect([answer.status, JSON.parse(await answer.text())]).toMatchObject([400, { attr }])
  })
})

describe('persons/funnel/, persons/trends/ and insights/funnel/correlation/', () => {
  const steps = JSON.stringify([
    { id: 'other', type: 'events', order: 0 },
    { id: 'seen', type: 'events', order: 1 },
  ])
  const both = JSON.stringify([
    { id: 'seen', type: 'events', order: 0 },
    { id: 'seen', type: 'events', order: 1 },
  ])

  test('list who completed a step, and who dropped off before it', async () => {
    const funnel = `funnel/?${RANGE}&insight=FUNNELS`
    expect(await names(`${funnel}&events=${both}&funnel_step=1`)).toEqual(['ann@x.org', 'ben'])
    expect(await names(`${funnel}&events=${both}&funnel_step=2`)).toEqual(['ann@x.org', 'ben'])
    expect(await names(`${funnel}&events=${steps}&funnel_step=-2`)).toEqual(['cyd'])
    expect(await names(`${funnel}&events=${steps}&funnel_custom_steps=[1]`)).toEqual(['cyd'])
    const body = { insight: 'FUNNELS', events: JSON.parse(both), funnel_step: 2, date_from: '-7d' }
    const sent = await history.call('POST', 'persons/funnel/?limit=1', body)
    const answer = JSON.parse(await sent.text())
    expect(answer).toMatchObject({ results: [{ count: 1 }], is_cached: false })
    expect(answer.next).toContain('offset=1')
  })

  test('list who entered a funnel over time and did not come through', async () => {
    const funnel = `funnel/?${RANGE}&events=${steps}&funnel_viz_type=trends`
    const entrance = 'entrance_period_start=2024-06-10%2000:00:00'
    expect(await names(`${funnel}&${entrance}&drop_off=true`)).toEqual(['cyd'])
    expect(await names(`${funnel}&${entrance}&drop_off=false`)).toEqual([])
  })

  test('list who is behind a trend, the most frequent first, with how often', async () => {
    const trend = `trends/?${RANGE}&entity_id=seen&entity_type=events`
    const { results } = await people(trend)
    expect(results[0].people).toMatchObject([
      { name: 'ann@x.org', value_at_data_point: 3 },
      { name: 'ben', value_at_data_point: 2 },
    ])
    const pro = `${trend}&breakdown=plan&breakdown_type=event&breakdown_value=pro`
    expect(await names(pro)).toEqual(['ann@x.org'])
    const filters = `&events=${JSON.stringify([{ id: 'other' }])}&display=BoldNumber`
    expect(await names(`${trend}${filters}`)).toEqual(['ann@x.org', 'ben'])
  })

  test('list who is behind an hour of a trend, and behind the events without a breakdown value', async () => {
    const trend = 'trends/?entity_id=seen&entity_type=events'
    const hour = 'date_from=2024-06-10 12:00:00&date_to=2024-06-10 12:59:59&interval=hour'
    expect(await names(`${trend}&${hour}`)).toEqual(['ann@x.org', 'ben'])
    expect(await names(`${trend}&${hour.replaceAll('12:', '13:')}`)).toEqual([])
    const none = `${trend}&${RANGE}&breakdown=plan&breakdown_type=event&breakdown_value=`
    expect((await people(none)).results[0].people).toMatchObject([
      { name: 'ann@x.org', value_at_data_point: 2 },
      { name: 'ben', value_at_data_point: 1 },
    ])
  })

  test.each([
    ['trends/?date_from=-7d', 'entity_id'],
    ['funnel/?funnel_step=1', 'events'],
    [`funnel/?events=${both}&funnel_step=x`, 'funnel_step'],
    [`funnel/?events=${both}&funnel_step=1&exclusions=5`, 'exclusions'],
  ])('refuse %s by %s', async (path, attr) => {
    const { status, text } = await get(path)
    expect([status, JSON.parse(text).attr]).toEqual([400, attr])
  })

  test('compute a correlation that nobody saved', async () => {
    const asked = { insight: 'FUNNELS', events: JSON.parse(both), date_from: '2024-06-01' }
    const answer = await history.call('POST', 'insights/funnel/correlation/', asked)
    expect(JSON.parse(await answer.text())).toMatchObject({ result: { events: [], skewed: false } })
    expect(answer.status).toBe(200)
    const query = `events=${both}&date_from=2024-06-01&funnel_correlation_type=properties&funnel_correlation_names=["plan"]`
    expect((await history.call('GET', `insights/funnel/correlation/?${query}`)).status).toBe(200)
    expect((await history.call('GET', 'insights/funnel/correlation/')).status).toBe(400)
  })

  test('leave out of a correlation the events that are named', async () => {
    const own = await histories.open()
    const at = (distinct_id: string, event: string, hour: number): SentEvent => ({
      ...seen(distinct_id, `2024-06-10T${hour}:00:00Z`),
      event,
    })
    await own.send([
      ...['a', 'b', 'c'].flatMap((id) => [at(id, 'start', 10), at(id, 'end', 12)]),
      ...['d', 'e'].map((id) => at(id, 'start', 10)),
      at('a', 'help', 11),
      at('b', 'help', 11),
      at('c', 'docs', 11),
      at('d', 'docs', 11),
    ])
    const events = [
      { id: 'start', order: 0 },
      { id: 'end', order: 1 },
    ]
    const correlated = async (excluded: readonly string[]): Promise<unknown> => {
      const asked = {
        insight: 'FUNNELS',
        events,
        date_from: '2024-06-01',
        funnel_correlation_exclude_event_names: excluded,
      }
      const answer = await own.call('POST', 'insights/funnel/correlation/', asked)
      const { result } = JSON.parse(await answer.text())
      return result.events.map(({ event }: { event: { event: string } }) => event.event)
    }
    expect(await correlated([])).toEqual(['help', 'docs'])
    expect(await correlated(['help'])).toEqual(['docs'])
  })
})

describe('odd parameters', () => {
  const ODD = [
    '',
    'x',
    '-1',
    '7',
    '1e99',
    'null',
    '[]',
    '{}',
    '[{}]',
    '[[]]',
    '[{"id":{}}]',
    '[{"id":{"toString":1,"valueOf":1}}]',
    '{"id":[]}',
    '"x"',
    '\u0000',
    "'",
    'true',
  ]
  const complete = {
    correlation: [
      'funnel/correlation/',
      { events: EVENTS, funnel_correlation_person_entity: '{"id":"seen","type":"events"}' },
    ],
    funnel: [
      'funnel/',
      { events: `[${EVENTS.slice(1, -1)},${EVENTS.slice(1, -1)}]`, funnel_step: '1' },
    ],
    lifecycle: ['lifecycle/', { events: EVENTS, target_date: '2024-06-10', lifecycle_type: 'new' }],
    stickiness: ['stickiness/', { entity_id: 'seen', entity_type: 'events', stickiness_days: '1' }],
    trends: ['trends/', { entity_id: 'seen', entity_type: 'events' }],
  } as const

  test.each(Object.keys(ANALYSES))(
    'of %s are answered or refused with a reason',
    async (analysis) => {
      if (!isAnalysis(analysis)) throw new Error(analysis)
      const [path, sent] = complete[analysis]
      for (const [index, name] of Object.keys(ANALYSES[analysis].properties).entries()) {
        // Each name with a quarter of the values, and each value with a quarter of the names.
        for (const odd of ODD.filter((_, at) => isTried(index + at, 4))) {
          const query = new URLSearchParams({ date_from: '2024-06-09', ...sent, [name]: odd })
          const { status, text } = await get(`${path}?${query.toString()}`)
          const { detail } = JSON.parse(text)
          expect([name, odd, status, detail]).toEqual([
            name,
            odd,
            status === 200 ? 200 : 400,
            status === 200 ? undefined : expect.stringMatching(/./),
          ])
        }
      }
    },
  )

  const isAnalysis = (name: string): name is Analysis => Object.hasOwn(ANALYSES, name)
})
