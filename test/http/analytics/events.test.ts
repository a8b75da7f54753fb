/** Lists of events through the management API: which, in which order and shape, page by page; values of properties. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { joinWorld } from '../shared-world.ts'
import { capture, manage } from '../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

const EVENTS = `/api/environments/${project_id}/events/`
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const started_ms = Date.now()
const ago = (minutes: number): string => new Date(started_ms - minutes * 60_000).toISOString()

beforeAll(async () => {
  await capture(
    world,
    {
      event: 'clicked',
      distinct_id: 'ann',
      timestamp: ago(1),
      properties: {
        $set: { plan: 'pro' },
        price: 3,
        $elements: [
          { tag_name: 'a', attr__class: 'big blue', $el_text: 'Say "hi"; now', nth_child: 2 },
          { tag_name: 'div', attr__id: 'top' },
        ],
      },
    },
    { event: 'viewed', distinct_id: 'ann', timestamp: ago(2), properties: { price: 12.5 } },
    {
      event: 'viewed',
      distinct_id: 'shy',
      timestamp: ago(3),
      properties: { $process_person_profile: false, price: 3 },
    },
    { event: 'old', distinct_id: 'ann', timestamp: ago(3 * 24 * 60), properties: { price: 1 } },
    {
      event: 'ancient',
      distinct_id: 'ann',
      timestamp: ago(90 * 24 * 60),
      properties: { price: 9 },
    },
  )
})

type Event = Readonly<Record<string, unknown>>

const list = async (search = '') => {
  const { status, body } = await manage(world, 'GET', EVENTS + search)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body as { next: string | null; results: Event[] }
}
const names = async (search = '') => (await list(search)).results.map(({ event }) => event)

describe('events', () => {
  test('are told one by one, by their ids', async () => {
    const { results } = await list('?limit=5')
    for (const event of results) {
      const one = await manage(world, 'GET', `${EVENTS}${String(event['id'])}/`)
      expect(one.body).toEqual(event)
    }
    const missing = '00000000-0000-4000-8000-000000000000'
    expect((await manage(world, 'GET', `${EVENTS}${missing}/`)).status).toBe(404)
    expect(await manage(world, 'GET', `${EVENTS}nothing/`)).toMatchObject({
      status: 400,
      body: { type: 'validation_error', detail: 'Invalid UUID' },
    })
  })

  test('are listed the newest first, whole', async () => {
    const { next, results } = await list()
    expect(next).toBeNull()
    expect(results.map(({ event }) => event)).toEqual([
      'clicked',
      'viewed',
      'viewed',
      'old',
      'ancient',
    ])
    expect(results[0]).toEqual({
      id: expect.stringMatching(UUID),
      distinct_id: 'ann',
      event: 'clicked',
      properties: expect.objectContaining({ price: 3 }),
      timestamp: expect.stringContaining(ago(1).slice(0, 19)),
      person: {
        is_identified: false,
        distinct_ids: ['ann'],
        properties: expect.objectContaining({ plan: 'pro' }),
      },
      elements: [
        {
          text: 'Say "hi"; now',
          tag_name: 'a',
          attr_class: ['big', 'blue'],
          href: null,
          attr_id: null,
          nth_child: 2,
          nth_of_type: 0,
          attributes: { attr__class: 'big blue' },
          order: 0,
        },
        {
          text: null,
          tag_name: 'div',
          attr_class: null,
          href: null,
          attr_id: 'top',
          nth_child: 0,
          nth_of_type: 0,
          attributes: { attr__id: 'top' },
          order: 1,
        },
      ],
      elements_chain: expect.stringContaining('a.big.blue:'),
    })
  })

  test('without a person profile have no person', async () => {
    const { results } = await list('?distinct_id=shy')
    expect(results).toMatchObject([{ event: 'viewed', person: null, elements: [] }])
  })

  test('come page by page, without one twice or none at all', async () => {
    const seen: unknown[] = []
    let at: string | null = `${EVENTS}?limit=2`
    while (at !== null) {
      const { body } = await manage(world, 'GET', at)
      const { next, results } = body as { next: string | null; results: Event[] }
      expect(results.length).toBeLessThanOrEqual(2)
      seen.push(...results.map(({ event }) => event))
      at = next?.replace('https://tidemark.example', '') ?? null
    }
    expect(seen).toEqual(['clicked', 'viewed', 'viewed', 'old', 'ancient'])
  })

  test('are narrowed', async () => {
    const [clicked] = (await list('?event=clicked')).results
    const { body } = await manage(
      world,
      'GET',
      `/api/projects/${project_id}/persons/?distinct_id=ann`,
    )
    const [ann] = body['results'] as { id: string }[]
    const filters = encodeURIComponent('[{"key":"price","value":5,"operator":"gt"}]')
    expect(clicked?.['event']).toBe('clicked')
    expect(await names('?event=viewed')).toEqual(['viewed', 'viewed'])
    expect(await names(`?after=${ago(2.5)}`)).toEqual(['clicked', 'viewed'])
    expect(await names(`?before=${ago(2.5)}&after=${ago(60)}`)).toEqual(['viewed'])
    expect(await names('?after=-7d&event=old')).toEqual(['old'])
    expect(await names('?after=-1d&event=old')).toEqual([])
    expect(await names(`?person_id=${ann?.id}&limit=1`)).toEqual(['clicked'])
    expect(await names(`?person_id=${ann?.id.toUpperCase()}`)).toHaveLength(4)
    expect(await names(`?person_id=${crypto.randomUUID()}`)).toEqual([])
    expect(await names(`?properties=${filters}`)).toEqual(['viewed', 'ancient'])
    const oldest = encodeURIComponent('{"price__gt":5,"price__lt":10}')
    expect(await names(`?properties=${oldest}`)).toEqual(['ancient'])
    const one = encodeURIComponent('{"key":"price","operator":"is_not_set"}')
    expect(await names(`?properties=${one}`)).toEqual([])
    expect(await names('?properties={}&limit=1')).toEqual(['clicked'])
    expect(await names(`?orderBy=["timestamp"]&limit=2`)).toEqual(['ancient', 'old'])
    expect(await names("?event=x'%20OR%201=1")).toEqual([])
    const steps = [{ event: 'clicked' }, { event: 'old' }]
    const made = await manage(world, 'POST', `/api/projects/${project_id}/actions/`, {
      name: 'Clicked or old',
      steps,
    })
    const action = Number(made.body['id'])
    expect(await names(`?action_id=${action}`)).toEqual(['clicked', 'old'])
    expect(await names(`?action_id=${action}&event=old`)).toEqual(['old'])
  })

  test.each([
    ['?after=yesterday-ish', 'after'],
    ['?before=2026-13-01', 'before'],
    ['?person_id=ann', 'person_id'],
    ['?action_id=clicked', 'action_id'],
    ['?properties={', 'properties'],
    ['?properties=["price"]', 'properties'],
    ['?orderBy=["event"]', 'orderBy'],
    ['?format=xml', 'format'],
  ])('%s is refused', async (search, attr) => {
    const { status, body } = await manage(world, 'GET', EVENTS + search)
    expect([status, body]).toMatchObject([400, { code: 'invalid_input', attr }])
  })
})

describe('values of an event property', () => {
  const values = async (search: string) => {
    const { status, body } = await manage(world, 'GET', `${EVENTS}values/?${search}`)
    expect(status).toBe(200)
    return body as unknown
  }

  test('are those of the last week, the most frequent first', async () => {
    expect(await values('key=price')).toEqual([
      { name: 3, count: 2 },
      { name: 1, count: 1 },
      { name: 12.5, count: 1 },
    ])
    expect(await values('key=price&event_name=viewed&value=12')).toEqual([{ name: 12.5, count: 1 }])
    expect(await values('key=price&event_name=viewed&event_name=old')).toEqual([
      { name: 1, count: 1 },
      { name: 12.5, count: 1 },
      { name: 3, count: 1 },
    ])
    expect(await values('')).toEqual([])
    expect(await values('key=never')).toEqual([])
    expect(await values('key=custom_event')).toEqual(
      ['ancient', 'clicked', 'old', 'viewed'].map((name) => ({ name })),
    )
    expect(await values('key=custom_event&value=OLD')).toEqual([{ name: 'old' }])
  })
})

// The last ones, since they add events that the others would see.
test('have times in UTC, written as on PostHog, which connectors read by a fixed format', async () => {
  await manage(world, 'PATCH', `/api/projects/${project_id}/`, { timezone: 'Europe/Berlin' })
  await capture(
    world,
    { event: 'timed', distinct_id: 'clock', timestamp: '2026-01-20T10:00:00Z' },
    { event: 'timed', distinct_id: 'clock', timestamp: '2026-07-20T10:00:00.25Z' },
  )
  const { results } = await list('?distinct_id=clock&after=2026-01-01')
  expect(results.map(({ timestamp }) => timestamp)).toEqual([
    '2026-07-20T10:00:00.250000+00:00',
    '2026-01-20T10:00:00+00:00',
  ])
  const { body } = await manage(world, 'GET', `${EVENTS}${String(results[1]?.['id'])}/`)
  expect(body['timestamp']).toBe('2026-01-20T10:00:00+00:00')
})

test('of a person with very many ids tell a hundred', async () => {
  const batch = Array.from({ length: 150 }, (_, index) => ({
    event: '$create_alias',
    distinct_id: 'many',
    properties: { alias: `many ${index}` },
  }))
  await capture(world, ...batch)
  const { results } = await list('?distinct_id=many&limit=2')
  for (const { person } of results) {
    expect((person as { distinct_ids: string[] }).distinct_ids).toHaveLength(100)
  }
  expect(results).toHaveLength(2)
})
