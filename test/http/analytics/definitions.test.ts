/** Definitions of events and properties through the management API. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { joinWorld } from '../shared-world.ts'
import { capture, manage } from '../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

const ROOT = `/api/environments/${project_id}/`
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/

/** What is told of a name of which nobody said anything. */
const UNSAID = {
  description: null,
  tags: [],
  hidden: false,
  verified: false,
  verified_at: null,
  verified_by: null,
  updated_by: null,
}

beforeAll(async () => {
  await capture(
    world,
    { event: 'bought', distinct_id: 'a', properties: { price: 3, plan: 'pro', $set: { age: 30 } } },
    { event: 'Seen', distinct_id: 'a', properties: { price: 4, odd: null } },
    {
      event: '$groupidentify',
      distinct_id: 'a',
      properties: { $group_type: 'company', $group_key: 'x', $group_set: { seats: 3 } },
    },
  )
})

const list = async (path: string) => {
  const { status, body } = await manage(world, 'GET', ROOT + path)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body as { count: number; next: unknown; results: Readonly<Record<string, unknown>>[] }
}
const names = async (path: string) => (await list(path)).results.map(({ name }) => name)

describe('definitions of events', () => {
  test('are the names seen so far, whole', async () => {
    const { results, ...page } = await list('event_definitions/')
    expect(page).toMatchObject({ count: 3, next: null, previous: null })
    expect(results.map(({ name }) => name)).toEqual(['$groupidentify', 'Seen', 'bought'])
    expect(results[2]).toEqual({
      id: expect.stringMatching(UUID),
      name: 'bought',
      owner: null,
      created_at: expect.stringMatching(/^\d{4}-/),
      updated_at: expect.stringMatching(/^\d{4}-/),
      last_seen_at: expect.stringMatching(/^\d{4}-/),
      last_updated_at: expect.stringMatching(/^\d{4}-/),
      ...UNSAID,
    })
    expect(new Set(results.map(({ id }) => id)).size).toBe(3)
  })

  test('are searched and come page by page', async () => {
    expect(await names('event_definitions/?search=SEE')).toEqual(['Seen'])
    expect(await names('event_definitions/?search=identify%20group')).toEqual(['$groupidentify'])
    expect(await names('event_definitions/?limit=1&offset=1')).toEqual(['Seen'])
  })

  test.each([
    ['?event_type=event_custom', ['Seen', 'bought']],
    ['?event_type=event_posthog', ['$groupidentify']],
    ['?ordering=-name', ['bought', 'Seen', '$groupidentify']],
    ['?ordering=last_seen_at&event_type=event_posthog', ['$groupidentify']],
    ['?verified=true', []],
  ])('%s leaves %j', async (search, wanted) => {
    expect(await names(`event_definitions/${search}`)).toEqual(wanted)
  })

  test('are found by name', async () => {
    const [wanted] = (await list('event_definitions/?search=bought')).results
    const found = await manage(world, 'GET', `${ROOT}event_definitions/by_name/?name=bought`)
    expect([found.status, found.body]).toEqual([200, wanted as typeof found.body])
    const status = async (search: string) =>
      (await manage(world, 'GET', `${ROOT}event_definitions/by_name/${search}`)).status
    expect([await status('?name=sold'), await status('')]).toEqual([404, 400])
  })
})

test('each definition is told by its id, in its own family', async () => {
  const one = async (path: string) => manage(world, 'GET', `${ROOT}${path}/`)
  for (const family of ['event_definitions', 'property_definitions']) {
    for (const of of ['', '?type=person', '?type=group&group_type_index=0']) {
      const { results } = await list(`${family}/${of}`)
      for (const shown of results) {
        expect((await one(`${family}/${String(shown['id'])}`)).body).toEqual(shown)
      }
    }
    expect((await one(`${family}/00000000-0000-8000-a000-000000000000`)).status).toBe(404)
  }
  const [event] = (await list('event_definitions/')).results
  expect((await one(`property_definitions/${String(event?.['id'])}`)).status).toBe(404)
})

describe('definitions of properties', () => {
  test('are those of events unless told, with the type their values showed', async () => {
    const { results } = await list('property_definitions/?properties=price,plan')
    expect(results).toEqual([
      {
        id: expect.stringMatching(UUID),
        name: 'plan',
        type: 'event',
        created_at: expect.stringMatching(/Z$/),
        is_numerical: false,
        property_type: 'String',
        ...UNSAID,
        updated_at: null,
        is_seen_on_filtered_events: null,
        type_check: null,
      },
      {
        id: expect.stringMatching(UUID),
        name: 'price',
        type: 'event',
        created_at: expect.stringMatching(/Z$/),
        is_numerical: true,
        property_type: 'Numeric',
        ...UNSAID,
        updated_at: null,
        is_seen_on_filtered_events: null,
        type_check: null,
      },
    ])
    expect(await names('property_definitions/?search=PRI')).toEqual(['price'])
    expect(await names('property_definitions/?type=person')).toContain('age')
    expect(await names('property_definitions/?type=person')).not.toContain('price')
    expect(await names('property_definitions/?type=group&group_type_index=0')).toEqual(['seats'])
    expect(await names('property_definitions/?type=group&group_type_index=1')).toEqual([])
  })

  test('of named events come first, or alone', async () => {
    const search = `event_names=${encodeURIComponent('["Seen"]')}&exclude_core_properties=true`
    const { results } = await list(`property_definitions/?${search}`)
    expect(results.map((one) => [one['name'], one['is_seen_on_filtered_events']])).toEqual([
      ['odd', true],
      ['price', true],
      ['plan', false],
    ])
    expect(await names(`property_definitions/?${search}&filter_by_event_names=true`)).toEqual([
      'odd',
      'price',
    ])
  })

  test.each([
    ['is_numerical=true', ['price']],
    ['is_numerical=false&exclude_core_properties=true', ['odd', 'plan']],
    ['excluded_properties=["odd"]&exclude_core_properties=true', ['plan', 'price']],
    ['is_feature_flag=true', []],
  ])('?%s leaves %j', async (search, wanted) => {
    expect(await names(`property_definitions/?${encodeURI(search)}`)).toEqual(wanted)
  })

  test.each([
    ['?event_names=[3]', 'event_names'],
    ['?event_names=Seen', 'event_names'],
    ['?excluded_properties={}', 'excluded_properties'],
    ['?type=session', 'type'],
    ['?type=group', 'group_type_index'],
    ['?type=group&group_type_index=9', 'group_type_index'],
  ])('%s is refused', async (search, attr) => {
    const { status, body } = await manage(world, 'GET', `${ROOT}property_definitions/${search}`)
    expect([status, body]).toMatchObject([400, { code: 'invalid_input', attr }])
  })
})
