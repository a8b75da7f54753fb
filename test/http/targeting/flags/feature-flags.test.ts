/** Feature flags through the management API: made, changed, found, judged, copied, and handed to clients. */
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

const create = async (body: object) => manage(world, 'POST', FLAGS, body)
const keysOf = async (query: string) => {
  const { body } = await manage(world, 'GET', `${FLAGS}${query}`)
  return (body['results'] as { key: string }[]).map(({ key }) => key)
}
const valueOf = async (key: string, distinct_id = 'pat') =>
  (
    (await ask(world, '/decide?v=3', { distinct_id })).body['featureFlags'] as Record<
      string,
      unknown
    >
  )[key]

describe('a flag', () => {
  test('is made, answered whole, and used by the next request', async () => {
    const filters = {
      groups: [{ properties: [], rollout_percentage: 100, variant: null }],
      payloads: { true: { a: 1 } },
    }
    const { status, body } = await create({ key: 'new-one', name: 'Ours', filters, tags: ['x'] })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      key: 'new-one',
      name: 'Ours',
      filters: { groups: filters.groups, payloads: { true: '{"a":1}' } },
      active: true,
      deleted: false,
      version: 1,
      is_simple_flag: true,
      rollout_percentage: 100,
      ensure_experience_continuity: false,
      experiment_set: [],
      surveys: [],
      features: [],
      rollback_conditions: null,
      performed_rollback: null,
      can_edit: true,
      tags: ['x'],
      usage_dashboard: null,
      analytics_dashboards: [],
      has_enriched_analytics: false,
      user_access_level: 'editor',
      status: 'ACTIVE',
      created_by: { first_name: 'Owner' },
      local_evaluation: { is_local: true, reasons: [] },
    })
    expect(await valueOf('new-one')).toBe(true)
    expect((await manage(world, 'GET', `${FLAGS}${String(body['id'])}`)).body).toEqual(body)
    expect((await manage(world, 'GET', `/api/environments/@current/feature_flags/`)).body).toEqual({
      count: 1,
      next: null,
      previous: null,
      results: [body],
    })
  })

  test('may be said in one number', async () => {
    const { body } = await create({ key: 'a', rollout_percentage: 0 })
    expect(body['filters']).toEqual({ groups: [{ properties: [], rollout_percentage: 0 }] })
    expect(await valueOf('a')).toBe(false)
  })

  test('is changed by PATCH member by member, counts its versions, and tells its history', async () => {
    const { body: made } = await create({ key: 'a', name: 'before' })
    const path = `${FLAGS}${String(made['id'])}/`
    const patched = await manage(world, 'PATCH', path, { name: 'after', active: false })
    expect(patched.status).toBe(200)
    expect(patched.body).toMatchObject({ name: 'after', active: false, key: 'a', version: 2 })
    expect(await valueOf('a')).toBeUndefined()
    const put = await manage(world, 'PUT', path, { key: 'b', active: true })
    expect(put.body).toMatchObject({ key: 'b', name: 'after', version: 3 })
    expect(await valueOf('b')).toBe(true)
    const history = await manage(world, 'GET', `${path}activity/`)
    expect(history.body).toMatchObject({ total_count: 3, next: null, previous: null })
    expect(history.body['results']).toMatchObject([
      {
        activity: 'updated',
        detail: {
          changes: [
            { field: 'key', before: 'a', after: 'b', action: 'changed' },
            { field: 'active', before: false, after: true },
          ],
        },
      },
      { activity: 'updated', user: { first_name: 'Owner' }, scope: 'FeatureFlag' },
      { activity: 'created', item_id: String(made['id']), detail: { name: 'a', changes: [] } },
    ])
    const all = await manage(world, 'GET', `${FLAGS}activity/?limit=2&page=2`)
    expect((all.body['results'] as unknown[]).length).toBe(1)
    expect(all.body['previous']).toContain('page=1')
  })

  test('is told as it was in each of its versions', async () => {
    const { body: made } = await create({ key: 'a', name: 'one', tags: ['x'] })
    const path = `${FLAGS}${String(made['id'])}/`
    const groups = [{ properties: [], rollout_percentage: 5 }]
    await manage(world, 'PATCH', path, { name: 'two', filters: { groups } })
    // What changes nothing is no version.
    expect((await manage(world, 'PATCH', path, { name: 'two' })).body['version']).toBe(2)
    await manage(world, 'PATCH', path, { key: 'b', active: false, tags: [] })
    const at = async (version: number) =>
      (await manage(world, 'GET', `${path}versions/${version}/`)).body
    expect(await at(1)).toMatchObject({
      key: 'a',
      name: 'one',
      active: true,
      filters: made['filters'],
      tags: ['x'],
      version: 1,
      is_historical: true,
      modified_by: 1,
      version_timestamp: made['created_at'],
    })
    expect(await at(2)).toMatchObject({ key: 'a', name: 'two', filters: { groups }, version: 2 })
    expect(await at(3)).toMatchObject({ key: 'b', active: false, tags: [], is_historical: false })
    for (const version of ['0', '4', 'x', '1.5', '99999999999']) {
      expect((await manage(world, 'GET', `${path}versions/${version}/`)).status).toBe(404)
    }
  })

  test.each([{ payloads: { true: '1' } }, { groups: null }, {}])(
    'keeps its filters when a change sends %j, which names no conditions',
    async (sent) => {
      const filters = { groups: [{ properties: [], rollout_percentage: 0 }] }
      const { body: made } = await create({ key: 'a', filters })
      const path = `${FLAGS}${String(made['id'])}/`
      for (const method of ['PATCH', 'PUT']) {
        const changed = await manage(world, method, path, { key: 'a', name: method, filters: sent })
        expect(changed.body).toMatchObject({ name: method, filters })
      }
      expect(await valueOf('a')).toBe(false)
    },
  )

  test('is deleted by PATCH alone; its key is free again and it can come back', async () => {
    const { body: made } = await create({ key: 'a' })
    const path = `${FLAGS}${String(made['id'])}/`
    const deleted = await manage(world, 'DELETE', path)
    expect(deleted.status).toBe(405)
    expect((await manage(world, 'PATCH', path, { deleted: true })).body['deleted']).toBe(true)
    expect(await keysOf('')).toEqual([])
    expect(await valueOf('a')).toBeUndefined()
    const { body: second } = await create({ key: 'a' })
    expect((await manage(world, 'PATCH', path, { deleted: false })).body).toMatchObject({
      code: 'unique',
    })
    await manage(world, 'PATCH', `${FLAGS}${String(second['id'])}`, { deleted: true })
    expect((await manage(world, 'PATCH', path, { deleted: false })).body['deleted']).toBe(false)
    expect(await valueOf('a')).toBe(true)
  })

  test('that others depend on is not deleted', async () => {
    const { body: base } = await create({ key: 'base' })
    const properties = [{ type: 'flag', key: 'base', operator: 'flag_evaluates_to', value: true }]
    expect((await create({ key: 'top', filters: { groups: [{ properties }] } })).status).toBe(201)
    const refused = await manage(world, 'PATCH', `${FLAGS}${String(base['id'])}`, { deleted: true })
    expect(refused.status).toBe(400)
    expect(refused.body['detail']).toContain('top (ID: 2)')
    const dependants = async (id: unknown): Promise<unknown> =>
      (await manage(world, 'GET', `${FLAGS}${String(id)}/dependent_flags/`)).body
    expect(await dependants(base['id'])).toEqual([{ id: 2, key: 'top', name: 'top' }])
    expect(await dependants(2)).toEqual([])
  })

  test('and other things of a family have a log together', async () => {
    const of = async (family: string) => {
      const { status, body } = await manage(world, 'GET', `/api/projects/1/${family}/activity/`)
      const results = body['results'] as { scope: string; detail: { name: string } }[]
      return [status, results.map(({ scope, detail }) => `${scope} ${detail.name}`)]
    }
    await create({ key: 'one' })
    await create({ key: 'two' })
    await manage(world, 'POST', '/api/projects/1/surveys/', { name: 'Ask', type: 'api' })
    await manage(world, 'POST', '/api/projects/1/actions/', { name: 'Acted' })
    expect(await of('surveys')).toEqual([200, ['Survey Ask']])
    expect(await of('actions')).toEqual([200, ['Action Acted']])
    expect(await of('cohorts')).toEqual([200, []])
    const [, flags] = await of('feature_flags')
    expect(flags).toContain('FeatureFlag one')
  })

  test.each<[object, string, string | null, string]>([
    [{}, 'required', 'key', 'This field is required.'],
    [{ key: '' }, 'blank', 'key', 'This field may not be blank.'],
    [{ key: 7 }, 'invalid_input', 'key', 'Not a valid string.'],
    [
      { key: 'with blank' },
      'invalid_key',
      'key',
      'Only letters, numbers, hyphens (-) & underscores (_) are allowed.',
    ],
    [{ key: 'taken' }, 'unique', 'key', 'There is already a feature flag with this key.'],
    [{ key: 'a', filters: [] }, 'invalid_input', 'filters', 'Expected an object.'],
    [{ key: 'a', active: 'perhaps' }, 'invalid_input', 'active', 'Must be a valid boolean.'],
    [
      {
        key: 'a',
        filters: { groups: [{ properties: [{ type: 'cohort', key: 'id', value: 9 }] }] },
      },
      'cohort_does_not_exist',
      'filters',
      'Cohort with id 9 does not exist',
    ],
    [
      {
        key: 'a',
        filters: {
          groups: [{}],
          multivariate: { variants: [{ key: 'x', rollout_percentage: 9 }] },
        },
      },
      'invalid_input',
      'filters',
      'Invalid variant definitions: Variant rollout percentages must sum to 100.',
    ],
    [
      {
        key: 'a',
        filters: {
          groups: [{ properties: [{ key: 'd', operator: 'is_date_after', value: 'soon' }] }],
        },
      },
      'invalid_date',
      'filters',
      'Invalid date value: soon',
    ],
    [
      {
        key: 'a',
        filters: { groups: [{ properties: [{ key: 'd', operator: 'regex', value: '(' }] }] },
      },
      'invalid_value',
      'filters',
      'Operator regex cannot use this value.',
    ],
    [
      { key: 'a', filters: { groups: [{}], payloads: { true: '{' } } },
      'invalid_input',
      'filters',
      'Payload value is not valid JSON',
    ],
  ])('%j is refused with %s', async (body, ...expected) => {
    const [code, attr, detail] = expected
    putFlag(world, { key: 'taken' })
    const { status, body: refusal } = await create(body)
    expect(status).toBe(400)
    expect(refusal).toEqual({ type: 'validation_error', code, attr, detail })
  })

  test('of another project does not exist', async () => {
    const other = createProject(
      world.needs.control,
      { organization_id: world.first.organization_id, name: 'Other' },
      new Date(),
    )
    const id = putFlag(world, { key: 'theirs', project_id: other.id })
    for (const path of [`${FLAGS}${id}/`, `${FLAGS}${id}/status/`, `${FLAGS}${id}/activity/`]) {
      expect((await manage(world, 'GET', path)).status).toBe(404)
    }
    expect((await manage(world, 'GET', `${FLAGS}one/`)).status).toBe(404)
  })
})

describe('a list of flags', () => {
  test('is narrowed by what is asked', async () => {
    putFlag(world, { key: 'plain', name: 'A Plain one' })
    putFlag(world, { key: 'off', active: false })
    putFlag(world, {
      key: 'many',
      filters: {
        groups: [{ rollout_percentage: 50 }],
        multivariate: { variants: [{ key: 'x', rollout_percentage: 100 }] },
      },
      created_by: null,
      tags: ['beta'],
    })
    await create({ key: 'fresh' })
    expect(await keysOf('')).toEqual(['fresh', 'many', 'off', 'plain'])
    expect(await keysOf('?active=true')).toEqual(['fresh', 'many', 'plain'])
    expect(await keysOf('?active=false')).toEqual(['off'])
    expect(await keysOf('?active=STALE')).toEqual(['many', 'plain'])
    expect(await keysOf('?search=PLAIN')).toEqual(['plain'])
    expect(await keysOf('?type=multivariant')).toEqual(['many'])
    expect(await keysOf('?type=boolean&active=true')).toEqual(['fresh', 'plain'])
    expect(await keysOf('?type=__proto__')).toEqual(await keysOf('?type=unknown'))
    expect(await keysOf('?created_by_id=1')).toEqual(['fresh'])
    expect(await keysOf('?tags=["beta"]')).toEqual(['many'])
    expect(await keysOf('?limit=2&offset=1')).toEqual(['many', 'off'])
    const { body } = await manage(world, 'GET', `${FLAGS}?limit=1&search=a`)
    expect(body).toMatchObject({
      count: 2,
      next: 'https://tidemark.example/api/projects/1/feature_flags/?limit=1&search=a&offset=1',
    })
  })
})

describe('about flags', () => {
  test('status says whether a flag still does something', async () => {
    const ids = [
      putFlag(world, { key: 'all' }),
      putFlag(world, { key: 'half', filters: { groups: [{ rollout_percentage: 50 }] } }),
      putFlag(world, { key: 'off', active: false }),
      putFlag(world, { key: 'gone', deleted: true }),
      putFlag(world, {
        key: 'choice',
        filters: { groups: [{ rollout_percentage: 100 }], feature_enrollment: true },
      }),
    ]
    for (const key of ['all', 'choice']) {
      await capture(world, {
        event: '$feature_flag_called',
        distinct_id: 'a',
        properties: { $feature_flag: key, $feature_flag_response: true },
      })
    }
    const states = await Promise.all(
      ids.map(async (id) => (await manage(world, 'GET', `${FLAGS}${id}/status/`)).body['status']),
    )
    // Nobody has asked for the half in a month.
    expect(states).toEqual(['stale', 'stale', 'inactive', 'deleted', 'active'])
    await capture(world, {
      event: '$feature_flag_called',
      distinct_id: 'a',
      properties: { $feature_flag: 'half', $feature_flag_response: true },
    })
    const used = await manage(world, 'GET', `${FLAGS}${ids[1]}/status/`)
    expect(used.body['status']).toBe('active')
    expect(await keysOf('?active=STALE')).toEqual(['all'])
  })

  test('my_flags and evaluation_reasons say what somebody gets and why', async () => {
    putFlag(world, flagOn('pro', { key: 'plan', value: 'pro' }))
    putFlag(world, { key: 'off', active: false })
    await capture(world, {
      event: 'seen',
      distinct_id: 'pat',
      properties: { $set: { plan: 'pro' } },
    })
    const reasons = await manage(world, 'GET', `${FLAGS}evaluation_reasons/?distinct_id=pat`)
    expect(reasons.body).toEqual({
      pro: {
        value: true,
        evaluation: {
          reason: 'condition_match',
          condition_index: 0,
          description: 'Matched condition set 1',
        },
      },
      off: { value: false, evaluation: { reason: 'disabled', condition_index: null } },
    })
    const missing = await manage(world, 'GET', `${FLAGS}evaluation_reasons/`)
    expect(missing).toMatchObject({ status: 400, body: { code: 'required', attr: 'distinct_id' } })
    const mine = await manage(world, 'GET', `${FLAGS}my_flags/`)
    expect(mine.body).toMatchObject([
      { feature_flag: { key: 'pro' }, value: false },
      { feature_flag: { key: 'off' }, value: false },
    ])
  })

  test('user_blast_radius counts the people and the groups a condition reaches', async () => {
    await using counted = await openWorld()
    const person = (number: number) => ({
      event: 'seen',
      distinct_id: `p${number}`,
      properties: { $set: { plan: number % 3 === 0 ? 'pro' : 'free' } },
    })
    const group = (key: string, size: string) => ({
      event: '$groupidentify',
      distinct_id: 'p0',
      properties: { $group_type: 'company', $group_key: key, $group_set: { size } },
    })
    await capture(counted, ...Array.from({ length: 1200 }, (_, number) => person(number)))
    await capture(counted, group('a', 'large'), group('b', 'small'), group('c', 'large'))
    const radius = (body: object) => manage(counted, 'POST', `${FLAGS}user_blast_radius/`, body)
    const properties = [{ key: 'plan', type: 'person', value: ['pro'], operator: 'exact' }]
    expect((await radius({ condition: { properties } })).body).toEqual({
      users_affected: 400,
      total_users: 1200,
      affected: 400,
      total: 1200,
    })
    expect((await radius({ condition: {} })).body).toMatchObject({
      users_affected: 1200,
      total_users: 1200,
    })
    const of_group = [{ key: 'size', type: 'group', group_type_index: 0, value: 'large' }]
    expect(
      (await radius({ condition: { properties: of_group }, group_type_index: 0 })).body,
    ).toMatchObject({ users_affected: 2, total_users: 3 })
    const elsewhere = [
      { condition: { properties: of_group }, group_type_index: 1 },
      {
        condition: { properties: [{ ...of_group[0], group_type_index: null }] },
        group_type_index: 0,
      },
      { condition: { properties }, group_type_index: 0 },
    ]
    for (const body of elsewhere) {
      expect(await radius(body)).toMatchObject({
        status: 400,
        body: {
          code: 'invalid_input',
          detail: 'Invalid group type index for feature flag condition.',
        },
      })
    }
    expect((await radius({ condition: {}, group_type_index: 1 })).body).toMatchObject({ total: 0 })
  })

  test('create_static_cohort_for_flag lists everybody who gets the flag now', async () => {
    const id = putFlag(world, flagOn('listed-people', { key: 'tier', value: 'gold' }))
    const seen = (distinct_id: string, tier: string) => ({
      event: 'seen',
      distinct_id,
      properties: { $set: { tier } },
    })
    await capture(world, seen('l1', 'gold'), seen('l2', 'tin'), seen('l3', 'gold'))
    const list = (flag_id: number) =>
      manage(
        world,
        'POST',
        `/api/projects/1/feature_flags/${flag_id}/create_static_cohort_for_flag/`,
      )
    const made = await list(id)
    const cohort = made.body['cohort'] as { readonly id: number; readonly count: number }
    expect(cohort).toMatchObject({ is_static: true, count: 2 })
    const members = await manage(world, 'GET', `/api/projects/1/cohorts/${cohort.id}/persons/`)
    const ids = (members.body['results'] as { distinct_ids: string[] }[]).flatMap(
      ({ distinct_ids }) => distinct_ids,
    )
    expect(ids.toSorted()).toEqual(['l1', 'l3'])
    const off = putFlag(world, { key: 'listed-off', active: false })
    expect((await list(off)).status).toBe(400)
  })

  test('copy_flags takes a flag into other projects of the organization, or says why not', async () => {
    const { control } = world.needs
    const { organization_id } = world.first
    const second = createProject(control, { organization_id, name: 'Second' }, new Date())
    const third = createProject(control, { organization_id, name: 'Third' }, new Date())
    putFlag(world, { ...flagOn('shared', { key: 'plan', value: 'pro' }), name: 'newer' })
    putFlag(world, { key: 'shared', name: 'older', project_id: third.id })
    const copied = await manage(
      world,
      'POST',
      `/api/organizations/${organization_id}/feature_flags/copy_flags/`,
      {
        feature_flag_key: 'shared',
        from_project: 1,
        target_project_ids: [second.id, third.id, 999],
      },
    )
    expect(copied.body).toMatchObject({
      success: [
        { key: 'shared', name: 'newer', team_id: second.id, version: 1 },
        { key: 'shared', name: 'newer', team_id: third.id, version: 2 },
      ],
      failed: [{ project_id: 999, error_message: 'Target project not found.' }],
    })
    const everywhere = await manage(
      world,
      'GET',
      `/api/organizations/${organization_id}/feature_flags/shared/`,
    )
    expect(everywhere.body).toMatchObject([
      { team_id: 1 },
      { team_id: second.id },
      { team_id: third.id },
    ])
  })

  test('copy_flags takes along the cohorts and flags that a flag asks about', async () => {
    const { control } = world.needs
    const { organization_id } = world.first
    const target = createProject(control, { organization_id, name: 'Target' }, new Date())
    const make = async (path: string, body: object, project_id = 1) =>
      Number((await manage(world, 'POST', `/api/projects/${project_id}/${path}/`, body)).body['id'])
    const cohort = (name: string, ...values: object[]) => ({
      name,
      filters: { properties: { type: 'AND', values } },
    })
    const inCohort = (id: number) => ({ key: 'id', type: 'cohort', value: id })
    const asking = (...properties: object[]) => ({ groups: [{ properties }] })
    const plan = { key: 'plan', type: 'person', value: 'pro' }
    const inner = await make('cohorts', cohort('Inner', plan))
    const outer = await make('cohorts', cohort('Outer', inCohort(inner)))
    // Made first over there, so that ids differ between the projects.
    await make('cohorts', cohort('Other', plan), target.id)
    const known = await make('cohorts', cohort('Inner', plan), target.id)
    await make('feature_flags', { key: 'base', filters: asking(inCohort(inner)) })
    const base = { key: 'base', type: 'flag', operator: 'flag_evaluates_to', value: true }
    await make('feature_flags', { key: 'top', filters: asking(inCohort(outer), base) })
    const copy = (feature_flag_key: string) =>
      manage(world, 'POST', `/api/organizations/${organization_id}/feature_flags/copy_flags/`, {
        feature_flag_key,
        from_project: 1,
        target_project_ids: [target.id],
      })
    const copied = await copy('top')
    expect(copied.body['failed']).toEqual([])
    const listed = async (path: string) =>
      (await manage(world, 'GET', `/api/projects/${target.id}/${path}/`)).body['results'] as {
        readonly id: number
        readonly name: string
        readonly key?: string
        readonly filters: unknown
      }[]
    const cohorts = await listed('cohorts')
    expect(cohorts.map(({ name }) => name).toSorted()).toEqual(['Inner', 'Other', 'Outer'])
    const copied_outer = cohorts.find(({ name }) => name === 'Outer')
    expect(copied_outer?.filters).toEqual(cohort('', inCohort(known)).filters)
    const flags = await listed('feature_flags')
    const flagOf = (key: string) => flags.find((flag) => flag.key === key)
    expect(flagOf('base')?.filters).toMatchObject(asking(inCohort(known)))
    expect(flagOf('top')?.filters).toMatchObject(
      asking(inCohort(copied_outer?.id ?? 0), { ...base, key: String(flagOf('base')?.id) }),
    )
    const list = await make('cohorts', { name: 'List', is_static: true })
    await make('feature_flags', { key: 'listed', filters: asking(inCohort(outer), inCohort(list)) })
    expect((await copy('listed')).body).toMatchObject({
      success: [],
      failed: [{ error_message: 'The list of people "List" cannot be copied.' }],
    })
    expect(await listed('feature_flags')).toHaveLength(2)
  })

  test('copy_flags looks once at each cohort, however often others ask about it', async () => {
    const { control } = world.needs
    const { organization_id } = world.first
    const target = createProject(control, { organization_id, name: 'Target' }, new Date())
    const make = async (path: string, body: object) =>
      Number((await manage(world, 'POST', `/api/projects/1/${path}/`, body)).body['id'])
    const plan = { key: 'plan', type: 'person', value: 'pro' }
    let id = 0
    // Without names, by which copies would be found again.
    for (let depth = 0; depth < 20; depth += 1) {
      const inner = { key: 'id', type: 'cohort', value: id }
      const values = depth === 0 ? [plan] : [inner, inner]
      id = await make('cohorts', { filters: { properties: { type: 'AND', values } } })
    }
    const properties = [{ key: 'id', type: 'cohort', value: id }]
    await make('feature_flags', { key: 'nested', filters: { groups: [{ properties }] } })
    const copied = await manage(
      world,
      'POST',
      `/api/organizations/${organization_id}/feature_flags/copy_flags/`,
      { feature_flag_key: 'nested', from_project: 1, target_project_ids: [target.id] },
    )
    expect(copied.body).toMatchObject({ success: [{ key: 'nested' }], failed: [] })
    const cohorts = await manage(world, 'GET', `/api/projects/${target.id}/cohorts/`)
    expect(cohorts.body['count']).toBe(20)
  })

  test('copy_flags leaves nothing of a copy that is refused in the end', async () => {
    const { control } = world.needs
    const { organization_id } = world.first
    const target = createProject(control, { organization_id, name: 'Target' }, new Date())
    const make = async (path: string, body: object, project_id = 1) =>
      Number((await manage(world, 'POST', `/api/projects/${project_id}/${path}/`, body)).body['id'])
    const plan = { key: 'plan', type: 'person', value: 'pro' }
    const filters = { properties: { type: 'AND', values: [plan] } }
    const id = await make('cohorts', { name: 'Left behind', filters })
    const properties = [{ key: 'id', type: 'cohort', value: id }]
    const variants = [{ key: 'a', rollout_percentage: 1 }]
    putFlag(world, {
      key: 'unsound',
      filters: { groups: [{ properties }], multivariate: { variants } },
    })
    const copy = async (feature_flag_key: string) =>
      (
        await manage(
          world,
          'POST',
          `/api/organizations/${organization_id}/feature_flags/copy_flags/`,
          {
            feature_flag_key,
            from_project: 1,
            target_project_ids: [target.id],
          },
        )
      ).body
    expect(await copy('unsound')).toMatchObject({
      success: [],
      failed: [{ error_message: expect.stringContaining('must sum to 100') }],
    })
    const cohorts = await manage(world, 'GET', `/api/projects/${target.id}/cohorts/`)
    expect(cohorts.body['count']).toBe(0)
    // Cohorts of other conditions get the ids that were rolled back.
    const values = [{ ...plan, value: 'free' }]
    const other = { name: 'Other', filters: { properties: { type: 'AND', values } } }
    const free = await make('cohorts', other, target.id)
    const asking = { groups: [{ properties: [{ key: 'id', type: 'cohort', value: free }] }] }
    await make('feature_flags', { key: 'free', filters: asking }, target.id)
    const answer = await ask(world, '/decide?v=3', {
      token: target.api_token,
      distinct_id: 'a',
      person_properties: { plan: 'free' },
    })
    expect(answer.body['featureFlags']).toEqual({ free: true })
  })

  test('copy_flags refuses to take hundreds of cohorts along', async () => {
    const { control } = world.needs
    const { organization_id } = world.first
    const target = createProject(control, { organization_id, name: 'Target' }, new Date())
    const make = async (path: string, body: object) =>
      Number((await manage(world, 'POST', `/api/projects/1/${path}/`, body)).body['id'])
    const plan = { key: 'plan', type: 'person', value: 'pro' }
    const properties = []
    for (let made = 0; made <= 100; made += 1) {
      const filters = { properties: { type: 'AND', values: [plan] } }
      properties.push({ key: 'id', type: 'cohort', value: await make('cohorts', { filters }) })
    }
    await make('feature_flags', { key: 'many', filters: { groups: [{ properties }] } })
    const copied = await manage(
      world,
      'POST',
      `/api/organizations/${organization_id}/feature_flags/copy_flags/`,
      { feature_flag_key: 'many', from_project: 1, target_project_ids: [target.id] },
    )
    const error_message = 'The flag depends on more than 100 cohorts and flags.'
    expect(copied.body).toEqual({ success: [], failed: [{ project_id: target.id, error_message }] })
  })
})

describe('clients that evaluate by themselves', () => {
  const DEFINITIONS = [
    '/flags/definitions',
    '/api/feature_flag/local_evaluation',
    '/api/projects/@current/feature_flags/local_evaluation/',
  ]

  test('get definitions, group types and cohorts, and 304 until something changes', async () => {
    putFlag(world, flagOn('pro', { key: 'plan', value: 'pro' }))
    putFlag(world, { key: 'off', active: false })
    await capture(world, {
      event: '$groupidentify',
      distinct_id: 'p',
      properties: { $group_type: 'company', $group_key: 'acme' },
    })
    for (const path of DEFINITIONS) {
      const query = `?token=${world.first.api_token}&send_cohorts`
      const got = await manage(world, 'GET', `${path}${query}`)
      expect(got.status).toBe(200)
      expect(got.body).toMatchObject({
        flags: [{ key: 'pro', team_id: 1, active: true, deleted: false }],
        group_type_mapping: { 0: 'company' },
        cohorts: {},
      })
      const etag = got.headers.get('etag') ?? ''
      const again = await world.send(`${path}${query}`, {
        headers: {
          Authorization: `Bearer ${world.first.personal_api_key}`,
          'If-None-Match': `W/${etag}`,
        },
      })
      expect([again.status, await again.text()]).toEqual([304, ''])
      const id = putFlag(world, { key: 'later' })
      expect((await manage(world, 'GET', `${path}${query}`)).headers.get('etag')).not.toBe(etag)
      await manage(world, 'PATCH', `${FLAGS}${id}`, { deleted: true })
    }
  })

  test('need a key, and the token of a project they may see', async () => {
    for (const path of DEFINITIONS.slice(0, 2)) {
      const anonymous = await world.send(`${path}?token=${world.first.api_token}`)
      expect(anonymous.status).toBe(401)
      const unknown = await manage(world, 'GET', `${path}?token=phc_unknown`)
      expect(unknown).toMatchObject({ status: 401, body: { code: 'invalid_api_key' } })
      expect((await manage(world, 'GET', path)).status).toBe(200)
    }
  })

  test('get payloads of settings by key, as JSON text in JSON', async () => {
    putFlag(world, { key: 'settings', filters: { groups: [{}], payloads: { true: '{"a":1}' } } })
    putFlag(world, { key: 'none' })
    const payload = async (key: string) =>
      world.send(
        `/api/projects/@current/feature_flags/${key}/remote_config?token=${world.first.api_token}`,
        { headers: { Authorization: `Bearer ${world.first.personal_api_key}` } },
      )
    expect(JSON.parse(String(await (await payload('settings')).json()))).toEqual({ a: 1 })
    expect(await (await payload('1')).json()).toBe('{"a":1}')
    expect(await (await payload('none')).text()).toBe('null')
    expect((await payload('unknown')).status).toBe(404)
  })
})
