/** Many flags at once, and one flag in one word: found, named, deleted, tagged, switched, archived, tried out. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createProject } from '../../../../src/projects/settings/project.ts'
import { openWorld, type World } from '../../world.ts'
import { ask, capture, flagOn, manage, putFlag } from '../flag-world.ts'

const FLAGS = '/api/projects/1/feature_flags/'

let world: World

beforeAll(async () => {
  world = await openWorld()
})

beforeEach(() => {
  world.resetControl()
  world.needs.flags.expectChange()
})

afterAll(() => world.close())

const call = (path: string, body?: unknown) => manage(world, 'POST', `${FLAGS}${path}`, body)
const read = async (path: string) => (await manage(world, 'GET', `${FLAGS}${path}`)).body
const keysOf = async (query: string) =>
  ((await read(query))['results'] as { key: string }[]).map(({ key }) => key)

/** Five flags that differ in what lists are narrowed by. */
function putFive(): Record<string, number> {
  const variants = ['control', 'test'].map((key) => ({ key, rollout_percentage: 50 }))
  return {
    plain: putFlag(world, { key: 'plain', name: 'New  check-out', tags: ['a', 'b'] }),
    tested: putFlag(world, {
      key: 'tested',
      filters: { groups: [], multivariate: { variants } },
      tags: ['b'],
    }),
    server: putFlag(world, {
      key: 'server',
      evaluation_runtime: 'server',
      evaluation_contexts: ['backend'],
      created_by: 1,
    }),
    old: putFlag(world, { key: 'old', archived: true, active: false }),
    setting: putFlag(world, { key: 'setting', is_remote_configuration: true }),
  }
}

describe('a list of flags', () => {
  test.each<[string, string[]]>([
    ['', ['setting', 'server', 'tested', 'plain']],
    ['?archived=true', ['old']],
    ['?archived=false', ['setting', 'server', 'tested', 'plain']],
    ['?archived=false&active=false', []],
    ['?key=PLAIN', ['plain']],
    ['?key=plai', []],
    ['?search=new%20check%20out', ['plain']],
    ['?search=check%20new', []],
    ['?search=a%2Bb', []],
    ['?tags=a', ['plain']],
    ['?tags=["a","b"]', ['tested', 'plain']],
    ['?excluded_tags=["a"]', ['setting', 'server', 'tested']],
    ['?has_evaluation_contexts=true', ['server']],
    ['?has_evaluation_tags=false', ['setting', 'tested', 'plain']],
    ['?excluded_properties=["plain","server"]', ['setting', 'tested']],
    ['?eligible_for_experiment=true', ['tested']],
    ['?type=remote_config', ['setting']],
    ['?evaluation_runtime=server', ['server']],
    ['?created_by_id=[1,7]', ['server']],
    ['?created_by_id=7', []],
    ['?order=key', ['plain', 'server', 'setting', 'tested']],
    ['?order=-key', ['tested', 'setting', 'server', 'plain']],
    ['?order=-created_at&limit=1', ['setting']],
  ])('is narrowed and sorted by %s', async (query, keys) => {
    putFive()
    expect(await keysOf(query)).toEqual(keys)
  })

  test.each([
    ['?order=secret', 'order'],
    [`?search=${'a'.repeat(201)}`, 'search'],
  ])('refuses %s', async (query, attr) => {
    expect(await manage(world, 'GET', `${FLAGS}${query}`)).toMatchObject({
      status: 400,
      body: { attr },
    })
  })

  test('looks into the names of experiments', async () => {
    const made = await manage(world, 'POST', '/api/projects/1/experiments/', {
      name: 'Shorter form',
      feature_flag_key: 'f-1',
    })
    expect(made.status).toBe(201)
    expect(await keysOf('?search=shorter')).toEqual(['f-1'])
    expect(await keysOf('?search=longer')).toEqual([])
  })

  test('gives its ids, and keys by ids', async () => {
    const ids = putFive()
    expect(await read('matching_ids/?tags=b')).toEqual({
      ids: [ids['tested'], ids['plain']],
      total: 2,
    })
    const wanted = [ids['plain'], String(ids['old']), 999, 'x', [1], null]
    expect((await call('bulk_keys/', { ids: wanted })).body).toEqual({
      keys: { [String(ids['plain'])]: 'plain', [String(ids['old'])]: 'old' },
      warning: 'Invalid flag IDs ignored: "x", [1], null',
    })
    expect((await call('bulk_keys/', {})).body).toEqual({ keys: {} })
    // An object that cannot be written as a text.
    const strange = { toString: 1, valueOf: 1 }
    expect(await call('bulk_keys/', { ids: [strange] })).toMatchObject({ status: 400 })
    expect(await call('bulk_keys/', { ids: ['x'] })).toMatchObject({
      status: 400,
      body: { attr: 'ids' },
    })
  })
})

describe('deleting many flags', () => {
  test('deletes those that can be, says why others cannot, and tells of each', async () => {
    const ids = putFive()
    const id = Number(ids['plain'])
    const property = { key: String(id), type: 'flag', value: true, operator: 'flag_evaluates_to' }
    putFlag(world, { key: 'child', filters: { groups: [{ properties: [property] }] } })
    const elsewhere = createProject(
      world.needs.control,
      { name: 'other', organization_id: world.first.organization_id },
      new Date(),
    )
    const foreign = putFlag(world, { key: 'foreign', project_id: elsewhere.id })
    const { body } = await call('bulk_delete/', {
      ids: [id, ids['tested'], foreign, 'x', ids['tested']],
    })
    expect(body).toEqual({
      deleted: [
        { id: ids['tested'], key: 'tested', rollout_state: 'not_rolled_out', active_variant: null },
      ],
      errors: [
        { id: 'x', reason: 'Invalid flag ID format' },
        { id: foreign, reason: 'Flag not found' },
        {
          id,
          key: 'plain',
          reason: expect.stringContaining('because other flags depend on it: child') as string,
        },
      ],
    })
    expect(await keysOf('')).toEqual(['child', 'setting', 'server', 'plain'])
    const log = (await read(`${ids['tested']}/activity/`))['results']
    expect(log).toMatchObject([{ activity: 'deleted', item_id: String(ids['tested']) }])
  })

  test('takes what narrows a list, and leaves archived ones', async () => {
    putFive()
    const { body } = await call('bulk_delete/', { filters: { tags: ['b'], active: 'true' } })
    expect((body['deleted'] as { key: string }[]).map(({ key }) => key)).toEqual([
      'tested',
      'plain',
    ])
    expect(await keysOf('')).toEqual(['setting', 'server'])
    expect(await keysOf('?archived=true')).toEqual(['old'])
  })

  test.each<[object, string]>([
    [{}, 'ids'],
    [{ ids: [], filters: {} }, 'ids'],
    [{ ids: [1], filters: { active: 'true' } }, 'filters'],
    [{ filters: { aktive: 'true' } }, 'filters'],
    [{ filters: { tags: [] } }, 'filters'],
    [{ filters: { search: '' } }, 'filters'],
    [{ filters: { search: ' ' } }, 'filters'],
    [{ filters: { search: {} } }, 'filters'],
    [{ filters: { tags: '[ ]' } }, 'filters'],
    [{ filters: { tags: ' , ' } }, 'filters'],
    [{ filters: { excluded_tags: [{}] } }, 'filters'],
    [{ filters: { excluded_properties: [''] } }, 'filters'],
    [{ filters: { type: 'banana' } }, 'filters'],
    [{ filters: { eligible_for_experiment: false } }, 'filters'],
    [{ filters: { active: 'maybe' } }, 'filters'],
    [{ filters: { active: null } }, 'filters'],
    [{ ids: 'all' }, 'ids'],
  ])('does nothing when it is told %j', async (body, attr) => {
    putFive()
    expect(await call('bulk_delete/', body)).toMatchObject({ status: 400, body: { attr } })
    expect(await keysOf('')).toEqual(['setting', 'server', 'tested', 'plain'])
  })
})

test('tags of many flags are added, taken away and replaced', async () => {
  const ids = putFive()
  const wanted = [ids['plain'], ids['tested'], 999]
  const change = async (action: string, tags: string[]) =>
    (await call('bulk_update_tags/', { ids: wanted, action, tags })).body
  expect(await change('add', ['c', 'a'])).toEqual({
    updated: [
      { id: ids['plain'], tags: ['a', 'b', 'c'] },
      { id: ids['tested'], tags: ['b', 'c', 'a'] },
    ],
    skipped: [{ id: 999, reason: 'Not found' }],
  })
  await change('remove', ['a', 'c'])
  expect(await keysOf('?tags=a')).toEqual([])
  await change('set', ['z'])
  expect((await read(`${ids['plain']}/`))['tags']).toEqual(['z'])
  expect(await call('bulk_update_tags/', { ids: wanted, action: 'spill', tags: [] })).toMatchObject(
    {
      status: 400,
      body: { attr: 'action' },
    },
  )
})

describe('a flag', () => {
  test('is switched and archived in one word, and the next request knows', async () => {
    const id = putFlag(world, { key: 'one' })
    const isOn = async () => {
      const { body } = await ask(world, '/flags/?v=2', { distinct_id: 'a' })
      return 'one' in (body['flags'] as object)
    }
    expect((await call(`${id}/disable/`)).body).toMatchObject({ active: false, version: 2 })
    expect(await isOn()).toBe(false)
    expect((await call(`${id}/disable/`)).body).toMatchObject({ active: false, version: 2 })
    expect((await call(`${id}/enable/`)).body).toMatchObject({ active: true })
    expect(await isOn()).toBe(true)
    expect((await call(`${id}/archive/`)).body).toMatchObject({
      archived: true,
      active: false,
      status: 'ARCHIVED',
    })
    expect(await isOn()).toBe(false)
    expect(await call(`${id}/enable/`)).toMatchObject({ status: 400, body: { attr: 'active' } })
    expect(await manage(world, 'PATCH', `${FLAGS}${id}/`, { active: true })).toMatchObject({
      status: 400,
      body: { attr: 'active' },
    })
    expect((await call(`${id}/unarchive/`)).body).toMatchObject({ archived: false, active: false })
    await call(`${id}/enable/`)
    await manage(world, 'PATCH', `${FLAGS}${id}/`, { deleted: true })
    expect((await call(`${id}/enable/`)).status).toBe(400)
  })

  test('says which others ask for it', async () => {
    const id = putFlag(world, { key: 'parent' })
    expect((await call(`${id}/has_active_dependents/`)).body).toEqual({
      has_active_dependents: false,
      dependent_flags: [],
    })
    const property = { key: String(id), type: 'flag', value: true, operator: 'flag_evaluates_to' }
    const child = putFlag(world, {
      key: 'child',
      filters: { groups: [{ properties: [property] }] },
    })
    expect((await call(`${id}/has_active_dependents/`)).body).toMatchObject({
      has_active_dependents: true,
      dependent_flags: [{ id: child, key: 'child', name: 'child' }],
      warning: expect.stringContaining('1 other active flag') as string,
    })
  })

  test('does not take dashboards of other projects', async () => {
    const other = await manage(world, 'POST', '/api/projects/', { name: 'other' })
    const board = await manage(
      world,
      'POST',
      `/api/projects/${String(other.body['id'])}/dashboards/`,
      {
        name: 'theirs',
      },
    )
    const id = putFlag(world, { key: 'one' })
    const patch = (body: object) => manage(world, 'PATCH', `${FLAGS}${id}/`, body)
    expect(await patch({ analytics_dashboards: [board.body['id']] })).toMatchObject({
      status: 400,
      body: { code: 'does_not_exist', attr: 'analytics_dashboards' },
    })
    // What only we set is not set by sending it.
    expect((await patch({ usage_dashboard: board.body['id'] })).body['usage_dashboard']).toBeNull()
    const own = await manage(world, 'POST', '/api/projects/1/dashboards/', { name: 'ours' })
    const kept = await patch({ analytics_dashboards: [own.body['id']] })
    expect(kept.body['analytics_dashboards']).toEqual([own.body['id']])
  })

  test('says how far it is rolled out', async () => {
    const variants = ['control', 'test'].map((key) => ({ key, rollout_percentage: 50 }))
    const property = { key: 'plan', value: 'pro', type: 'person' }
    const id = putFlag(world, {
      key: 'one',
      filters: {
        groups: [{ properties: [property], rollout_percentage: 30 }, { variant: 'test' }],
        multivariate: { variants },
      },
    })
    const full = putFlag(world, {
      key: 'two',
      filters: {
        groups: [{ variant: 'test' }, { variant: 'control' }],
        multivariate: { variants },
      },
    })
    expect((await read(`${id}/status/`))['rollout']).toEqual({
      is_fully_rolled_out: false,
      has_targeting_conditions: true,
      max_rollout_percentage: 100,
      is_multivariate: true,
    })
    expect(await read(`${full}/status/`)).toMatchObject({
      status: 'stale',
      reason: 'This flag will always use the variant "test"',
      reason_states_rollout: true,
      rollout: { is_fully_rolled_out: true, has_targeting_conditions: false },
    })
    // The oldest form of filters, which is one set.
    const old = putFlag(world, {
      key: 'three',
      filters: { properties: [property], rollout_percentage: 40 },
    })
    expect((await read(`${old}/status/`))['rollout']).toMatchObject({
      has_targeting_conditions: true,
      max_rollout_percentage: 40,
    })
    const whole = putFlag(world, { key: 'four', filters: { properties: [] } })
    expect(await read(`${whole}/status/`)).toMatchObject({ status: 'stale' })
    expect(await read(`${whole}/`)).toMatchObject({
      is_simple_flag: true,
      rollout_percentage: null,
    })
  })
})

describe('trying a flag out', () => {
  test('tells what came of each condition', async () => {
    const parent = putFlag(world, flagOn('parent', { key: 'plan', value: 'pro' }))
    const id = putFlag(world, {
      key: 'tried',
      filters: {
        groups: [
          { properties: [{ key: 'plan', value: 'free', type: 'person' }], variant: '' },
          { properties: [{ key: 'plan', value: ['pro'], type: 'person' }], rollout_percentage: 0 },
          {
            properties: [
              { key: String(parent), value: true, type: 'flag', operator: 'flag_evaluates_to' },
            ],
          },
          { properties: [] },
        ],
        payloads: { true: '"hello"' },
      },
    })
    await capture(world, {
      event: 'seen',
      distinct_id: 'tester',
      properties: { $set: { plan: 'pro', secret: 'kept' } },
    })
    const { body } = await call(`${id}/test_evaluation/`, { distinct_id: 'tester' })
    expect(body).toMatchObject({
      flag_key: 'tried',
      result: true,
      reason: 'condition_match',
      reason_description: 'Matched condition set 3',
      condition_index: 2,
      payload: '"hello"',
      person_properties: { plan: 'pro' },
      evaluation_distinct_id: 'tester',
    })
    expect(body['person_properties']).toEqual({ plan: 'pro' })
    expect(body['conditions']).toMatchObject([
      {
        index: 0,
        matched: false,
        properties_matched: false,
        rollout_excluded: false,
        variant: null,
        properties: [{ key: 'plan', value: 'free', actual_value: 'pro', matched: false }],
      },
      { matched: false, properties_matched: true, rollout_excluded: true, rollout_percentage: 0 },
      { matched: true, properties: [{ type: 'flag', actual_value: true, matched: true }] },
      { matched: false, properties_matched: true, rollout_excluded: false },
    ])
    const persons = await manage(world, 'GET', '/api/projects/1/persons/?distinct_id=tester')
    const [{ id: person_id } = { id: '' }] = persons.body['results'] as { id: string }[]
    const by_person = await call(`${id}/test_evaluation/`, { person_id })
    expect(by_person.body).toMatchObject({ result: true, evaluation_distinct_id: null })
    const stranger = await call(`${id}/test_evaluation/`, { distinct_id: 'nobody' })
    expect(stranger.body).toMatchObject({ result: true, condition_index: 3 })
  })

  test('says that a flag is off, and refuses two people or none', async () => {
    const id = putFlag(world, { key: 'off', active: false })
    expect((await call(`${id}/test_evaluation/`, { distinct_id: 'a' })).body).toMatchObject({
      result: false,
      reason: 'flag_disabled',
    })
    const nobody = '00000000-0000-4000-8000-000000000000'
    const refuse = async (body: object) => {
      const { status, body: answer } = await call(`${id}/test_evaluation/`, body)
      return [status, answer['attr']]
    }
    expect(await refuse({})).toEqual([400, 'distinct_id'])
    expect(await refuse({ distinct_id: 'a', person_id: nobody })).toEqual([400, 'person_id'])
    expect(await refuse({ person_id: nobody })).toEqual([404, null])
    expect(await refuse({ distinct_id: 'a', timestamp: '2026-01-01' })).toEqual([400, 'timestamp'])
  })
})

test('my_flags and evaluation_reasons may be about named flags', async () => {
  putFive()
  await manage(world, 'POST', '/api/projects/1/surveys/', {
    name: 'Asked',
    type: 'popover',
    queries: [{ type: 'open', query: 'How?' }],
  })
  const mine = await manage(world, 'GET', `${FLAGS}my_flags/?flag_keys=plain&flag_keys=server`)
  const keys = (mine.body as unknown as { feature_flag: { key: string } }[]).map(
    ({ feature_flag }) => feature_flag.key,
  )
  expect(keys).toEqual(['plain', 'server'])
  const reasons = await read('evaluation_reasons/?distinct_id=a&flag_keys=plain,old')
  expect(Object.keys(reasons)).toEqual(['plain', 'old'])
  const all = (await manage(world, 'GET', `${FLAGS}my_flags/`)).body as unknown as object[]
  expect(all).toHaveLength(5)
})

test('many deletions see each other: a flag goes after the flags that depend on it', async () => {
  const on = (key: string) => ({
    groups: [{ properties: [{ type: 'flag', key, operator: 'flag_evaluates_to', value: true }] }],
  })
  const putPair = (name: string): readonly [number, number] => [
    putFlag(world, { key: name }),
    putFlag(world, { key: `on-${name}`, filters: on(name) }),
  ]
  const [first, on_first] = putPair('first')
  const [second, on_second] = putPair('second')
  const { body } = await call('bulk_delete/', { ids: [on_first, first, second, on_second] })
  expect(body).toMatchObject({
    deleted: [{ id: on_first }, { id: first }, { id: on_second }],
    errors: [
      { id: second, reason: expect.stringContaining('other flags depend on it: on-second') },
    ],
  })
})
