/** What people say of names of events and properties, through the management API. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createProject } from '../../../src/projects/settings/project.ts'
import { manage } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

setDefaultTimeout(60_000)

const ROOT = '/api/projects/1/'
const HOUR_MS = 3_600_000

let world: World
/** Milliseconds since 1970. */
let clock = Date.parse('2026-03-01T10:00:00Z')

beforeAll(async () => {
  world = await openWorld({ now: () => new Date(clock) })
  await send()
})
afterAll(() => world.close())

/** One event that comes in now, by our clock. */
async function send(
  properties: object = { price: 3 },
  event = 'bought',
  distinct_id = 'a',
): Promise<void> {
  const sent = { event, distinct_id, properties }
  const answer = await world.capture.send({
    path: '/capture',
    query: '',
    content_type: 'application/json',
    content_encoding: '',
    client_ip: '',
    received_at_ms: clock,
    body: new TextEncoder().encode(JSON.stringify({ api_key: world.first.api_token, ...sent })),
  })
  expect(answer.kind).not.toBe('refused')
}

type Shown = Readonly<Record<string, unknown>>

const listed = async (path: string): Promise<readonly Shown[]> => {
  const { status, body } = await manage(world, 'GET', ROOT + path)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body['results'] as Shown[]
}
const idOf = async (family: string, name: string): Promise<string> => {
  const found = (await listed(`${family}/?type=event`)).find((one) => one['name'] === name)
  return String(found?.['id'])
}

describe.each([
  ['event_definitions', 'bought', 'EventDefinition'],
  ['property_definitions', 'price', 'PropertyDefinition'],
])('a name in %s', (family, name, scope) => {
  test('is described, and says by whom', async () => {
    const path = `${ROOT}${family}/${await idOf(family, name)}/`
    const fields = { description: 'What it means', tags: ['money'], verified: true }
    const changed = await manage(world, 'PATCH', path, fields)
    expect([changed.status, changed.body['detail']]).toEqual([200, undefined])
    expect(changed.body).toMatchObject({
      ...fields,
      name,
      hidden: false,
      verified_at: new Date(clock).toISOString(),
      verified_by: { first_name: 'Owner' },
      updated_by: { first_name: 'Owner' },
      updated_at: new Date(clock).toISOString(),
    })
    expect((await manage(world, 'GET', path)).body).toEqual(changed.body)
    expect(await listed(`${family}/?tags=["money"]&verified=true`)).toEqual([changed.body])
    const hidden = await manage(world, 'PATCH', path, { hidden: true })
    expect(hidden.body).toMatchObject({
      description: 'What it means',
      hidden: true,
      verified: false,
      verified_at: null,
      verified_by: null,
    })
    const names = (await listed(`${family}/?exclude_hidden=true`)).map((one) => one['name'])
    expect(names).not.toContain(name)
    const shown = await manage(world, 'PATCH', path, { verified: true })
    expect(shown.body).toMatchObject({ hidden: false, verified: true })
    await manage(world, 'PATCH', path, { hidden: true })
  })

  test('refuses what cannot be said of it', async () => {
    const path = `${ROOT}${family}/${await idOf(family, name)}/`
    const refused = async (body: object) => {
      const answer = await manage(world, 'PATCH', path, body)
      return [answer.status, answer.body['attr']]
    }
    expect(await refused({ verified: true, hidden: true })).toEqual([400, 'verified'])
    expect(await refused({ tags: 'money' })).toEqual([400, 'tags'])
    expect(await refused({ description: 3 })).toEqual([400, 'description'])
    const nowhere = `${ROOT}${family}/00000000-0000-8000-a000-000000000000/`
    expect((await manage(world, 'PATCH', nowhere, {})).status).toBe(404)
    expect((await manage(world, 'DELETE', nowhere)).status).toBe(404)
  })

  test('is deleted until it is seen again, with all that was said of it', async () => {
    const id = await idOf(family, name)
    clock += 2 * HOUR_MS
    const gone = await manage(world, 'DELETE', `${ROOT}${family}/${id}/`)
    expect(gone.status).toBe(204)
    expect(await idOf(family, name)).toBe('undefined')
    expect((await manage(world, 'GET', `${ROOT}${family}/${id}/`)).status).toBe(404)
    // Definitions note what they have seen about once an hour.
    clock += 2 * HOUR_MS
    await send()
    expect(await idOf(family, name)).toBe(id)
    const back = (await manage(world, 'GET', `${ROOT}${family}/${id}/`)).body
    expect(back).toMatchObject({ description: null, tags: [], hidden: false, verified: false })
  })

  test('has its changes in the log', async () => {
    const log = await listed(`${family}/activity/`)
    const activities = log.map(({ activity }) => activity)
    expect(activities).toEqual(['deleted', ...Array(4).fill('updated')])
    expect(log.at(-1)).toMatchObject({
      scope,
      detail: {
        name,
        changes: [
          { field: 'description', action: 'created', after: 'What it means' },
          { field: 'tags', action: 'changed', before: [], after: ['money'] },
          { field: 'verified', action: 'changed', before: false, after: true },
        ],
      },
    })
  })
})

test('an event belongs to a member, and to nobody else', async () => {
  const path = `${ROOT}event_definitions/${await idOf('event_definitions', 'bought')}/`
  const owned = await manage(world, 'PATCH', path, { owner: 1 })
  expect(owned.body['owner']).toMatchObject({ id: 1, first_name: 'Owner' })
  const refused = await manage(world, 'PATCH', path, { owner: 77 })
  expect([refused.status, refused.body['attr']]).toEqual([400, 'owner'])
  expect((await manage(world, 'PATCH', path, { owner: null })).body['owner']).toBeNull()
})

describe('the type of a property', () => {
  const values = ['n/a', 7, '12', true, { deep: 1 }, null, '2026-02-01']
  const ask = async (query: string): Promise<unknown> => {
    // Without `refresh` a cached answer would be returned.
    const { body } = await manage(world, 'POST', `${ROOT}query/`, {
      query: { kind: 'HogQLQuery', query },
    })
    return body['results']
  }

  test('is that of its first value; values it cannot hold are counted, and found after a change', async () => {
    for (const amount of [3, ...values]) await send({ amount }, 'paid')
    const id = await idOf('property_definitions', 'amount')
    const path = `${ROOT}property_definitions/${id}/`
    expect((await manage(world, 'GET', path)).body).toMatchObject({
      property_type: 'Numeric',
      type_check: null,
    })
    const type_check = {
      value_count: 7,
      unreadable_count: 4,
      examples: ['2026-02-01', '{"deep":1}'],
      suggested_type: 'String',
    }
    const checked = await manage(world, 'GET', `${path}?check_types=true`)
    expect(checked.body['type_check']).toEqual(type_check)
    const found = await listed('property_definitions/?check_types=true')
    expect(found.map(({ name, type_check: shown }) => [name, shown])).toEqual([
      ['amount', type_check],
      ['price', { value_count: 3, unreadable_count: 0, examples: [], suggested_type: 'Numeric' }],
    ])

    const read =
      "select properties.amount from events where event = 'paid' order by toString(properties.amount)"
    expect(await ask(read)).toEqual([[12], [3], [7], [null], [null], [null], [null], [null]])
    const changed = await manage(world, 'PATCH', path, { property_type: 'String' })
    expect([changed.status, changed.body['property_type']]).toEqual([200, 'String'])
    expect(await ask(read)).toEqual([
      ['12'],
      ['2026-02-01'],
      ['3'],
      ['7'],
      ['n/a'],
      ['true'],
      ['{"deep":1}'],
      [null],
    ])
    const { results } = (
      await manage(world, 'GET', `${ROOT}activity_log/?scope=PropertyDefinition&item_id=${id}`)
    ).body
    expect(results).toMatchObject([
      {
        activity: 'updated',
        detail: { changes: [{ field: 'property_type', before: 'Numeric', after: 'String' }] },
      },
    ])
  })

  test('stays as chosen whatever comes in, and is detected again where it is taken back', async () => {
    const path = `${ROOT}property_definitions/${await idOf('property_definitions', 'amount')}/`
    const typeNow = async () => (await manage(world, 'GET', path)).body['property_type']
    await send({ amount: 8 })
    expect(await typeNow()).toBe('String')
    const taken = await manage(world, 'PATCH', path, { property_type: null })
    expect([taken.status, taken.body['property_type']]).toEqual([200, null])
    expect(await ask('select toTypeName(properties.amount) from events limit 1')).toEqual([
      ['Nullable(String)'],
    ])
    clock += HOUR_MS
    await send({ amount: 9 })
    expect(await typeNow()).toBe('Numeric')
  })

  test('of persons and groups is changed too', async () => {
    await send({ $set: { level: '7' } }, '$set', 'b')
    await send(
      { $group_type: 'team', $group_key: 'red', $group_set: { level: 'x' } },
      '$groupidentify',
    )
    world.needs.persons.refresh()
    for (const owner of ['type=person', 'type=group&group_type_index=0']) {
      const [level] = await listed(`property_definitions/?${owner}&search=level`)
      const path = `${ROOT}property_definitions/${String(level?.['id'])}/`
      expect(level?.['property_type']).toBe('String')
      const changed = await manage(world, 'PATCH', path, { property_type: 'Numeric' })
      expect(changed.body).toMatchObject({ property_type: 'Numeric', is_numerical: true })
      const [checked] = await listed(`property_definitions/?${owner}&search=level&check_types=true`)
      expect(checked?.['type_check']).toMatchObject({
        value_count: 1,
        unreadable_count: owner === 'type=person' ? 0 : 1,
        suggested_type: owner === 'type=person' ? 'Numeric' : 'String',
      })
    }
    expect(
      await ask('select properties.level + 1 from persons where properties.level > 0'),
    ).toEqual([[8]])
  })

  test.each(['Duration', 7])('%p is refused', async (property_type) => {
    const path = `${ROOT}property_definitions/${await idOf('property_definitions', 'price')}/`
    const refused = await manage(world, 'PATCH', path, { property_type })
    expect([refused.status, refused.body['attr']]).toEqual([400, 'property_type'])
  })

  test('is checked for at most twenty properties at once', async () => {
    await send(Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`many ${index}`, 1])))
    const path = `${ROOT}property_definitions/?search=many&check_types=true&limit=21`
    const refused = await manage(world, 'GET', path)
    expect([refused.status, refused.body['attr']]).toEqual([400, 'limit'])
    const checked = await listed('property_definitions/?search=many&check_types=true&limit=20')
    expect(checked.filter(({ type_check }) => type_check !== null)).toHaveLength(20)
  })
})

test('what is said in one project is not heard in another', async () => {
  const { organization_id } = world.first
  const other = createProject(
    world.needs.control,
    { organization_id, name: 'other' },
    new Date(clock),
  )
  const id = await idOf('event_definitions', 'bought')
  const path = `/api/projects/${other.id}/event_definitions/${id}/`
  expect((await manage(world, 'PATCH', path, { description: 'x' })).status).toBe(404)
  expect((await manage(world, 'DELETE', path)).status).toBe(404)
})
