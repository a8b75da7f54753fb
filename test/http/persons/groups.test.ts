/** Groups through the management API: their types, lists of them page by page, one of them. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { joinWorld } from '../shared-world.ts'
import { capture, manage } from '../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

const ROOT = `/api/environments/${project_id}/`

beforeAll(async () => {
  const identify = (type: string, key: string, timestamp: string, set: object) => ({
    event: '$groupidentify',
    distinct_id: 'ann',
    timestamp,
    properties: { $group_type: type, $group_key: key, $group_set: set },
  })
  await capture(
    world,
    identify('company', 'acme', '2026-01-01T00:00:00Z', { name: 'Acme 100%', seats: 3 }),
    identify('company', 'b_corp', '2026-01-02T00:00:00Z', { name: 'B' }),
    identify('team', 'red', '2026-01-03T00:00:00Z', {}),
  )
})

const ask = async (path: string) => {
  const { status, body } = await manage(world, 'GET', ROOT + path)
  return { status, body: body as unknown }
}
const keys = async (search: string) => {
  const { body } = await manage(world, 'GET', `${ROOT}groups/?group_type_index=0${search}`)
  return (body['results'] as { group_key: string }[]).map(({ group_key }) => group_key)
}

const ACME = {
  group_type_index: 0,
  group_key: 'acme',
  group_properties: { name: 'Acme 100%', seats: 3 },
  created_at: expect.stringMatching(/^2026-/),
}

describe('groups', () => {
  test('have types in the order of their numbers', async () => {
    const names = { name_singular: null, name_plural: null }
    expect(await ask('groups_types/')).toEqual({
      status: 200,
      body: [
        { group_type: 'company', group_type_index: 0, ...names },
        { group_type: 'team', group_type_index: 1, ...names },
      ],
    })
  })

  test('have events, found by their key as a property of the event or of the group', async () => {
    const opened = (name: string, $groups: object) => ({
      event: name,
      distinct_id: 'ann',
      properties: { $groups },
    })
    await capture(
      world,
      opened('at acme', { company: 'acme', team: 'red' }),
      opened('at nobody', { company: 'no profile' }),
      opened('alone', {}),
    )
    const named = async (filter: object) => {
      const filters = encodeURIComponent(JSON.stringify([filter]))
      const { body } = (await ask(`events/?properties=${filters}&after=-1d`)) as {
        readonly body: { readonly results: readonly { readonly event: string }[] }
      }
      return body.results.map(({ event }) => event).filter((event) => !event.startsWith('$'))
    }
    const key = { key: '$group_0', type: 'event' }
    expect(await named({ ...key, operator: 'exact', value: ['acme'] })).toEqual(['at acme'])
    expect(await named({ ...key, operator: 'is_not_set', value: '' })).toEqual(['alone'])
    expect(await named({ ...key, operator: 'icontains', value: 'NO' })).toEqual(['at nobody'])
    const own = { key: '$group_key', type: 'group', group_type_index: 0 }
    expect(await named({ ...own, operator: 'exact', value: 'no profile' })).toEqual(['at nobody'])
    const other = { ...own, group_type_index: 1, operator: 'exact', value: 'red' }
    expect(await named(other)).toEqual(['at acme'])
  })

  test('are filtered by their properties and by expressions; other filters are refused', async () => {
    const filtered = (...filters: readonly unknown[]) =>
      keys(`&properties=${encodeURIComponent(JSON.stringify(filters))}`)
    const seats = { key: 'seats', type: 'group', group_type_index: 0 }
    expect(await filtered({ ...seats, operator: 'gt', value: '2' })).toEqual(['acme'])
    expect(await filtered({ ...seats, operator: 'is_not_set', value: '' })).toEqual(['b_corp'])
    expect(await filtered({ key: "key = 'b_corp'", type: 'hogql' })).toEqual(['b_corp'])
    expect(
      await filtered(
        { ...seats, operator: 'exact', value: [3] },
        { key: 'name', type: 'group', group_type_index: 0, operator: 'exact', value: 'B' },
      ),
    ).toEqual([])
    for (const properties of ['[', '3', '[{"type":"person","key":"a","value":1}]']) {
      const text = encodeURIComponent(properties)
      expect(await ask(`groups/?group_type_index=0&properties=${text}`)).toMatchObject({
        status: 400,
        body: { attr: 'properties' },
      })
    }
  })

  test('have types that are named, by their name or by their number', async () => {
    const name = (body: unknown) =>
      world.send(`/api/projects/${project_id}/groups_types/update_metadata/`, {
        method: 'PATCH',
        headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
        body: JSON.stringify(body),
      })
    const unnamed = { name_singular: null, name_plural: null }
    const named = { name_singular: 'Firm', name_plural: 'Firms' }
    const company = { group_type: 'company', group_type_index: 0 }
    const team = { group_type: 'team', group_type_index: 1 }
    const first = await name([{ ...company, ...named, default_columns: ['name'] }])
    expect([first.status, await first.json()]).toEqual([
      200,
      [
        { ...company, ...named },
        { ...team, ...unnamed },
      ],
    ])
    await name([{ group_type_index: 0, name_plural: null }])
    expect((await ask('groups_types/')).body).toEqual([
      { ...company, ...named, name_plural: null },
      { ...team, ...unnamed },
    ])
    for (const body of [[{ group_type: 'nation' }], [{}], [{ group_type: '__proto__' }]]) {
      const refused = await name(body)
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { code: 'does_not_exist', attr: '0__group_type' },
      ])
    }
    expect((await name([{ ...team, name_singular: 'x'.repeat(401) }])).status).toBe(400)
    expect((await name({})).status).toBe(400)
    await name([{ ...company, name_singular: null }])
  })

  test('have properties, told by type', async () => {
    expect(await ask('groups/property_definitions/')).toEqual({
      status: 200,
      body: {
        '0': [
          { name: 'name', count: 2 },
          { name: 'seats', count: 1 },
        ],
      },
    })
  })

  test('offer the values of their properties, each type its own', async () => {
    const values = (query: string) => ask(`groups/property_values/?${query}`)
    expect(await values('group_type_index=0&key=name')).toEqual({
      status: 200,
      body: [
        { name: 'Acme 100%', count: 1 },
        { name: 'B', count: 1 },
      ],
    })
    expect((await values('group_type_index=0&key=name&value=acme')).body).toEqual([
      { name: 'Acme 100%', count: 1 },
    ])
    expect((await values('group_type_index=0&key=seats')).body).toEqual([{ name: 3, count: 1 }])
    expect((await values('group_type_index=1&key=name')).body).toEqual([])
    for (const [query, attr] of [
      ['key=name', 'group_type_index'],
      ['group_type_index=9&key=name', 'group_type_index'],
      ['group_type_index=0', 'key'],
    ] as const) {
      expect(await values(query)).toMatchObject({ status: 400, body: { attr } })
    }
  })

  test('are listed by type, page by page', async () => {
    const { body } = await ask('groups/?group_type_index=0')
    expect(body).toEqual({
      next: null,
      previous: null,
      results: expect.arrayContaining([ACME, expect.objectContaining({ group_key: 'b_corp' })]),
    })
    const pages = [await keys('&limit=1'), await keys('&limit=1&offset=1')].flat()
    expect(pages.toSorted()).toEqual(['acme', 'b_corp'])
    expect(await keys('&offset=2')).toEqual([])
    const first = await ask('groups/?group_type_index=0&limit=1')
    expect(first.body).toMatchObject({
      next: `https://tidemark.example${ROOT}groups/?group_type_index=0&limit=1&offset=1`,
    })
  })

  test('are searched by key and properties, where no sign is a wildcard', async () => {
    expect(await keys('&search=ACM')).toEqual(['acme'])
    expect(await keys('&search=100%25')).toEqual(['acme'])
    expect(await keys('&search=_')).toEqual(['b_corp'])
    expect(await keys('&search=nobody')).toEqual([])
  })

  test('are found by type and key', async () => {
    const found = await ask('groups/find/?group_type_index=0&group_key=acme')
    expect(found).toEqual({ status: 200, body: ACME })
    expect((await ask('groups/find/?group_type_index=1&group_key=acme')).status).toBe(404)
  })

  test.each([
    ['groups/', 'group_type_index', 'required'],
    ['groups/?group_type_index=5', 'group_type_index', 'invalid_input'],
    ['groups/find/?group_key=acme', 'group_type_index', 'required'],
    ['groups/find/?group_type_index=0', 'group_key', 'required'],
  ])('%s is refused for its %s', async (path, attr, code) => {
    expect(await ask(path)).toMatchObject({ status: 400, body: { code, attr } })
  })

  test('are rows of events by the name of their type, behind the fields that events have', async () => {
    await capture(world, {
      event: 'bought',
      distinct_id: 'ann',
      timestamp: '2026-01-04T00:00:00Z',
      properties: { $groups: { company: 'acme', event: 'a type named like a field' } },
    })
    const query = `select company.key, e.company.properties.name, company.properties.seats + 1, event, group_2.key
      from events e where event = 'bought' and company.properties.seats > 2`
    const rows = async (text: string) => {
      const body = { query: { kind: 'HogQLQuery', query: text } }
      return (await manage(world, 'POST', `${ROOT}query/`, body)).body
    }
    expect((await rows(query))['results']).toEqual([['acme', 'Acme 100%', 4, 'bought', null]])
    expect(await rows('select planet.key from events')).toMatchObject({
      detail: 'Unable to resolve field: planet.key',
    })
    // A type that comes later is found by a text that was refused before.
    await capture(world, {
      event: '$groupidentify',
      distinct_id: 'ann',
      timestamp: '2026-01-05T00:00:00Z',
      properties: { $group_type: 'planet', $group_key: 'mars', $group_set: {} },
    })
    expect((await rows("select count() from events where planet.key = ''"))['results']).toEqual([
      [0],
    ])
  })
})
