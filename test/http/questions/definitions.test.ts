/** Definitions of events and properties through the management API. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { capture, manage } from '../flag-world.ts'
import { openWorld, type World } from '../world.ts'

const ROOT = '/api/environments/1/'
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/

let world: World
beforeAll(async () => {
  world = await openWorld()
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
afterAll(() => world.close())

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
      description: null,
      created_at: expect.stringMatching(/^\d{4}-/),
      updated_at: expect.stringMatching(/^\d{4}-/),
      last_seen_at: expect.stringMatching(/^\d{4}-/),
      tags: [],
      verified: false,
    })
    expect(new Set(results.map(({ id }) => id)).size).toBe(3)
  })

  test('are searched and come page by page', async () => {
    expect(await names('event_definitions/?search=SEE')).toEqual(['Seen'])
    expect(await names('event_definitions/?limit=1&offset=1')).toEqual(['Seen'])
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
        is_numerical: false,
        property_type: 'String',
        tags: [],
        is_seen_on_filtered_events: null,
      },
      {
        id: expect.stringMatching(UUID),
        name: 'price',
        is_numerical: true,
        property_type: 'Numeric',
        tags: [],
        is_seen_on_filtered_events: null,
      },
    ])
    expect(await names('property_definitions/?search=PRI')).toEqual(['price'])
    expect(await names('property_definitions/?type=person')).toContain('age')
    expect(await names('property_definitions/?type=person')).not.toContain('price')
    expect(await names('property_definitions/?type=group&group_type_index=0')).toEqual(['seats'])
    expect(await names('property_definitions/?type=group&group_type_index=1')).toEqual([])
  })

  test.each([
    ['?type=session', 'type'],
    ['?type=group', 'group_type_index'],
    ['?type=group&group_type_index=9', 'group_type_index'],
  ])('%s is refused', async (search, attr) => {
    const { status, body } = await manage(world, 'GET', `${ROOT}property_definitions/${search}`)
    expect([status, body]).toMatchObject([400, { code: 'invalid_input', attr }])
  })
})
