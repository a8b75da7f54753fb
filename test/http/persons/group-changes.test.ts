/** Groups changed and deleted through the management API, and the log of such changes. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { joinWorld } from '../shared-world.ts'
import { ask, capture, manage, putFlag } from '../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

const GROUPS = `/api/environments/${project_id}/groups/`
const KEY = 'acme/north & co'
const ACME = `?group_type_index=0&group_key=${encodeURIComponent(KEY)}`

beforeAll(async () => {
  await capture(world, {
    event: '$groupidentify',
    distinct_id: 'ann',
    timestamp: '2026-01-01T00:00:00Z',
    properties: {
      $group_type: 'company',
      $group_key: KEY,
      $group_set: { name: 'Acme', seats: 3, city: 'Rome' },
    },
  })
})

const change = (what: string, query: string, body: object) =>
  manage(world, 'POST', `${GROUPS}${what}${query}`, body)
const rows = async (query: string) => {
  const body = { query: { kind: 'HogQLQuery', query }, refresh: 'force_blocking' }
  return (await manage(world, 'POST', `/api/environments/${project_id}/query/`, body)).body[
    'results'
  ]
}
const changes = async (query = ACME) => {
  const { body } = await manage(world, 'GET', `${GROUPS}activity/${query}`)
  return body['results']
}

describe('properties of a group', () => {
  test('are set one by one and taken away, which events and the activity log tell', async () => {
    const set = await change('update_property/', ACME, { key: 'seats', value: { max: null } })
    expect(set).toMatchObject({
      status: 200,
      body: {
        group_type_index: 0,
        group_key: KEY,
        group_properties: { name: 'Acme', seats: { max: null }, city: 'Rome' },
      },
    })
    const taken = await change('delete_property/', ACME, { $unset: 'city' })
    expect([taken.status, taken.body['group_properties']]).toEqual([
      200,
      { name: 'Acme', seats: { max: null } },
    ])
    expect(await rows('select properties from groups where index = 0')).toEqual([
      ['{"name":"Acme","seats":{"max":null}}'],
    ])
    const found = await manage(world, 'GET', `${GROUPS}find/${ACME}`)
    expect(found.body['created_at']).toMatch(/^2026-01-01/)
    const told = `select event, properties.$group_type, properties.$group_key,
        JSONExtractRaw(properties, '$group_set'), JSONExtractRaw(properties, '$group_unset')
      from events where distinct_id != 'ann' order by timestamp, event desc`
    expect(await rows(told)).toEqual([
      ['$groupidentify', 'company', KEY, '{"seats":{"max":null}}', ''],
      ['$delete_group_property', 'company', KEY, '', '["city"]'],
    ])
    const noted = { type: 'Group', before: 'Rome', after: null }
    expect(await changes()).toMatchObject([
      {
        scope: 'Group',
        item_id: `0:${KEY}`,
        activity: 'updated',
        user: { email: expect.any(String) },
        detail: { name: 'Acme', changes: [{ ...noted, action: 'deleted', field: 'city' }] },
      },
      { detail: { changes: [{ action: 'changed', field: 'seats', before: 3 }] } },
    ])
    expect(await changes('?group_type_index=0&group_key=other')).toEqual([])
  })

  test('may be called like what every object has', async () => {
    for (const key of ['hasOwnProperty', 'constructor', '__proto__', 'toString']) {
      const never = await change('delete_property/', ACME, { $unset: key })
      expect([key, never.status]).toEqual([key, 400])
      const set = await change('update_property/', ACME, { key, value: 1 })
      expect([key, set.status]).toEqual([key, 200])
      const taken = await change('delete_property/', ACME, { $unset: [key] })
      expect([key, taken.status]).toEqual([key, 200])
    }
  })

  test.each([
    ['update_property/', ACME, { value: 1 }, 'key', 'required'],
    ['update_property/', ACME, { key: '', value: 1 }, 'key', 'blank'],
    ['update_property/', ACME, { key: 'a' }, 'value', 'required'],
    ['update_property/', '?group_key=a', { key: 'a', value: 1 }, 'group_type_index', 'required'],
    ['update_property/', '?group_type_index=0', { key: 'a', value: 1 }, 'group_key', 'required'],
    ['delete_property/', ACME, {}, '$unset', 'required'],
    ['delete_property/', ACME, { $unset: 3 }, '$unset', 'invalid_input'],
    ['delete_property/', ACME, { $unset: ['name', 'nothing'] }, '$unset', 'invalid_input'],
  ] as const)('%s%s %j names what is wrong', async (what, query, body, attr, code) => {
    const before = await manage(world, 'GET', `${GROUPS}find/${ACME}`)
    const { status, body: answer } = await change(what, query, body)
    expect([status, answer['attr'], answer['code']]).toEqual([400, attr, code])
    expect(await manage(world, 'GET', `${GROUPS}find/${ACME}`)).toEqual(before)
  })

  test('have no more room than ingestion gives them', async () => {
    const value = 'x'.repeat(400_000)
    expect((await change('update_property/', ACME, { key: 'a', value })).status).toBe(200)
    const second = await change('update_property/', ACME, { key: 'b', value })
    expect([second.status, second.body['attr']]).toEqual([400, 'value'])
    expect((await change('delete_property/', ACME, { $unset: 'a' })).status).toBe(200)
  })

  test.each(['?group_type_index=0&group_key=nobody', '?group_type_index=4&group_key=acme'])(
    'are not found of %s',
    async (query) => {
      const answers = [
        await change('update_property/', query, { key: 'a', value: 1 }),
        await change('delete_property/', query, { $unset: 'a' }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([404, 404])
    },
  )

  test('are changed by a key that may do nothing else, and by none that only reads', async () => {
    const keyWith = async (scopes: readonly string[]) => {
      const label = scopes.join()
      const { body } = await manage(world, 'POST', '/api/personal_api_keys/', { label, scopes })
      return `Bearer ${String(body['value'])}`
    }
    const send = async (Authorization: string, value: number) => {
      const body = JSON.stringify({ key: 'level', value })
      const path = `${GROUPS}update_property/${ACME}`
      return (await world.send(path, { method: 'POST', headers: { Authorization }, body })).status
    }
    expect(await send(await keyWith(['group:read', 'person:write']), 1)).toBe(403)
    expect(await send(await keyWith(['group:write']), 2)).toBe(200)
    const { body } = await manage(world, 'GET', `${GROUPS}find/${ACME}`)
    expect(body['group_properties']).toMatchObject({ level: 2 })
    const narrow = { headers: { Authorization: await keyWith(['activity_log:read']) } }
    const log = await world.send(`${GROUPS}activity/${ACME}`, narrow)
    const text = await log.text()
    expect([log.status, /Rome|"Acme"/.test(text), text.includes('level')]).toEqual([
      200,
      false,
      true,
    ])
  })
})

describe('a deleted group', () => {
  const FIND = `${GROUPS}find/?group_type_index=0&group_key=gone`
  const identify = ($group_set: object, timestamp: string) =>
    capture(world, {
      event: '$groupidentify',
      distinct_id: 'ann',
      timestamp,
      properties: { $group_type: 'company', $group_key: 'gone', $group_set },
    })
  const keys = async () => {
    const { body } = await manage(world, 'GET', `${GROUPS}?group_type_index=0&search=gone`)
    return (body['results'] as { group_key: string }[]).map(({ group_key }) => group_key)
  }
  const flag = async () => {
    const answer = await ask(world, '/flags/?v=2', {
      distinct_id: 'ann',
      groups: { company: 'gone' },
    })
    const flags = answer.body['flags'] as Readonly<Record<string, { readonly enabled: boolean }>>
    return flags['large-company']?.enabled
  }
  const GROUP_ROWS = "select key, properties from groups where key = 'gone'"
  const EVENT_ROWS =
    "select event, $group_0, group_0.properties.size from events where event = 'opened'"

  test('leaves lists, HogQL, events and flags; events keep its key; it comes back without its past', async () => {
    await identify({ size: 'large' }, '2026-01-01T00:00:00Z')
    await capture(world, {
      event: 'opened',
      distinct_id: 'ann',
      properties: { $groups: { company: 'gone' } },
    })
    const size = { key: 'size', type: 'group', group_type_index: 0, value: 'large' }
    putFlag(world, {
      key: 'large-company',
      filters: {
        aggregation_group_type_index: 0,
        groups: [{ properties: [{ ...size, operator: 'exact' }], rollout_percentage: 100 }],
      },
    })
    expect([await flag(), await keys(), await rows(GROUP_ROWS), await rows(EVENT_ROWS)]).toEqual([
      true,
      ['gone'],
      [['gone', '{"size":"large"}']],
      [['opened', 'gone', 'large']],
    ])
    expect((await manage(world, 'DELETE', FIND)).status).toBe(204)
    expect((await manage(world, 'DELETE', FIND)).status).toBe(404)
    expect((await manage(world, 'GET', FIND)).status).toBe(404)
    expect([await flag(), await keys(), await rows(GROUP_ROWS), await rows(EVENT_ROWS)]).toEqual([
      false,
      [],
      [],
      [['opened', 'gone', null]],
    ])
    expect(await changes('?group_type_index=0&group_key=gone')).toMatchObject([
      { scope: 'Group', item_id: '0:gone', activity: 'deleted', detail: { name: 'gone' } },
    ])
    await identify({ seats: 3 }, '2026-02-01T00:00:00Z')
    const again = await manage(world, 'GET', FIND)
    expect(again.body).toMatchObject({
      group_properties: { seats: 3 },
      created_at: expect.stringMatching(/^2026-02-01/),
    })
    expect([await flag(), await keys(), await rows(EVENT_ROWS)]).toEqual([
      false,
      ['gone'],
      [['opened', 'gone', null]],
    ])
  })

  test.each([
    ['?group_key=a', 'group_type_index', 'required'],
    ['?group_type_index=0', 'group_key', 'required'],
    ['?group_type_index=5&group_key=a', 'group_type_index', 'invalid_input'],
    ['?group_type_index=x&group_key=a', 'group_type_index', 'invalid_input'],
  ])('is not named by %s', async (query, attr, code) => {
    const { status, body } = await manage(world, 'DELETE', `${GROUPS}find/${query}`)
    expect([status, body['attr'], body['code']]).toEqual([400, attr, code])
  })

  test('is of this project, stored, and deleted by a key that may write groups', async () => {
    const { body: project } = await manage(world, 'POST', '/api/organizations/@current/projects/', {
      name: 'other',
    })
    const other = `/api/projects/${String(project['id'])}/groups/find/${ACME}`
    expect((await manage(world, 'DELETE', other)).status).toBe(404)
    for (const query of [
      '?group_type_index=0&group_key=nobody',
      '?group_type_index=4&group_key=gone',
    ]) {
      expect((await manage(world, 'DELETE', `${GROUPS}find/${query}`)).status).toBe(404)
    }
    const scopes = ['group:read', 'person:write']
    const { body } = await manage(world, 'POST', '/api/personal_api_keys/', { label: 'r', scopes })
    const headers = { Authorization: `Bearer ${String(body['value'])}` }
    const refused = await world.send(`${GROUPS}find/${ACME}`, { method: 'DELETE', headers })
    expect(refused.status).toBe(403)
    expect((await manage(world, 'GET', `${GROUPS}find/${ACME}`)).status).toBe(200)
  })
})
