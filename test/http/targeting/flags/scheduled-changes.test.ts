/** Changes of flags at a time of their own: planned, held, done when their time has come, and told of. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { Refusal } from '../../../../src/errors.ts'
import { createApiKey } from '../../../../src/projects/keys/api-key.ts'
import { EVERYBODY, setAccessLevel } from '../../../../src/projects/rights/access-controls.ts'
import { MEMBER, memberships } from '../../../../src/projects/tables.ts'
import { createUser } from '../../../../src/projects/users/user.ts'
import { FlagSchedule } from '../../../../src/targeting/flags/flag-schedule.ts'
import { openWorld, type World } from '../../world.ts'
import { ask, manage, putFlag } from '../flag-world.ts'

const FLAGS = '/api/projects/1/feature_flags/'
const CHANGES = '/api/projects/1/scheduled_changes/'
const START = '2027-01-04T09:00:00Z'

let world: World

beforeAll(async () => {
  world = await openWorld()
})

beforeEach(() => {
  world.resetControl()
  world.needs.flags.expectChange()
})

afterAll(() => world.close())

const off = { operation: 'update_status', value: false }
const plan = (body: object) =>
  manage(world, 'POST', CHANGES, {
    model_name: 'FeatureFlag',
    payload: off,
    scheduled_at: START,
    ...body,
  })
const patch = (id: unknown, body: object) =>
  manage(world, 'PATCH', `${CHANGES}${String(id)}/`, body)
const readPlan = async (id: unknown) =>
  (await manage(world, 'GET', `${CHANGES}${String(id)}/`)).body
const readFlag = async (id: number) => (await manage(world, 'GET', `${FLAGS}${id}/`)).body

/** Looks for what is due, at some time. */
async function lookAt(time: string): Promise<void> {
  const schedule = new FlagSchedule({ ...world.needs, now: () => new Date(time) })
  await schedule.look()
  await schedule.close()
}

describe('a planned change', () => {
  test('does not happen when it is deleted while the flags are read', async () => {
    const id = putFlag(world, { key: 'kept' })
    const made = await plan({ record_id: id })
    const { flags } = world.needs
    const schedule = new FlagSchedule({
      ...world.needs,
      now: () => new Date(START),
      flags: {
        expectChange: () => flags.expectChange(),
        async readyFlagsOf(project_id) {
          await manage(world, 'DELETE', `${CHANGES}${String(made.body['id'])}/`)
          return flags.readyFlagsOf(project_id)
        },
      },
    })
    await schedule.look()
    await schedule.close()
    expect(await readFlag(id)).toMatchObject({ active: true })
  })

  test('that is corrected while it fails stays planned', async () => {
    const id = putFlag(world, { key: 'corrected' })
    const made = await plan({ record_id: id, payload: off })
    const { flags } = world.needs
    const schedule = new FlagSchedule({
      ...world.needs,
      now: () => new Date(START),
      flags: {
        expectChange: () => flags.expectChange(),
        async readyFlagsOf() {
          await patch(made.body['id'], { scheduled_at: '2027-01-05T09:00:00Z' })
          throw new Refusal('invalid_input', 'Not so.')
        },
      },
    })
    await schedule.look()
    await schedule.close()
    expect(await readPlan(made.body['id'])).toMatchObject({
      scheduled_at: '2027-01-05T09:00:00.000Z',
      executed_at: null,
      failure_reason: null,
    })
    await lookAt('2027-01-05T09:00:00Z')
    expect(await readFlag(id)).toMatchObject({ active: false })
  })

  test('happens when its time has come, once, and the log tells who planned it', async () => {
    const id = putFlag(world, { key: 'one' })
    const made = await plan({ record_id: id })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      team_id: 1,
      record_id: String(id),
      model_name: 'FeatureFlag',
      payload: off,
      scheduled_at: '2027-01-04T09:00:00.000Z',
      executed_at: null,
      last_executed_at: null,
      failure_reason: null,
      is_recurring: false,
      recurrence_interval: null,
      cron_expression: null,
      end_date: null,
      timezone: 'UTC',
      created_by: { first_name: 'Owner' },
    })
    await lookAt('2027-01-04T08:59:59Z')
    expect((await readFlag(id))['active']).toBe(true)
    await lookAt('2027-01-04T09:00:00Z')
    expect((await readFlag(id))['active']).toBe(false)
    expect(await readPlan(made.body['id'])).toMatchObject({
      executed_at: '2027-01-04T09:00:00.000Z',
      failure_reason: null,
    })
    const { body: flags } = await ask(world, '/flags/?v=2', { distinct_id: 'a' })
    expect(flags['flags']).toEqual({})
    await manage(world, 'PATCH', `${FLAGS}${id}/`, { active: true })
    await lookAt('2027-01-05T09:00:00Z')
    expect((await readFlag(id))['active']).toBe(true)
    const { body: log } = await manage(world, 'GET', `${FLAGS}${id}/activity/`)
    expect(log['results']).toMatchObject([
      { activity: 'updated' },
      {
        activity: 'updated',
        user: { first_name: 'Owner' },
        detail: { changes: [{ field: 'active' }] },
      },
    ])
    expect(await patch(made.body['id'], { scheduled_at: START })).toMatchObject({ status: 400 })
  })

  test('adds condition sets, and replaces variants', async () => {
    const id = putFlag(world, {
      key: 'one',
      filters: { groups: [{ rollout_percentage: 10 }], payloads: { true: '1' } },
    })
    const groups = [{ properties: [], rollout_percentage: 50 }]
    await plan({
      record_id: String(id),
      payload: {
        operation: 'add_release_condition',
        value: { groups, payloads: {}, multivariate: null },
      },
    })
    await lookAt(START)
    expect((await readFlag(id))['filters']).toEqual({
      groups: [{ rollout_percentage: 10 }, ...groups],
      payloads: { true: '1' },
    })
    const variants = ['control', 'test'].map((key) => ({ key, rollout_percentage: 50 }))
    await plan({
      record_id: id,
      payload: { operation: 'update_variants', value: { variants, payloads: { test: '"x"' } } },
    })
    await lookAt(START)
    expect((await readFlag(id))['filters']).toMatchObject({
      groups: [{ rollout_percentage: 10 }, ...groups],
      multivariate: { variants },
      payloads: { test: '"x"' },
    })
  })

  test('adds a condition set to a flag of the oldest form, whose one set stays', async () => {
    const properties = [{ key: 'plan', type: 'person', value: 'pro' }]
    const id = putFlag(world, { key: 'old', filters: { properties, rollout_percentage: 10 } })
    const groups = [{ properties: [], rollout_percentage: 50 }]
    await plan({
      record_id: id,
      payload: { operation: 'add_release_condition', value: { groups } },
    })
    await lookAt(START)
    expect((await readFlag(id))['filters']).toMatchObject({
      groups: [{ properties, rollout_percentage: 10 }, ...groups],
    })
  })

  test('that cannot be done says why, and others are done', async () => {
    const bad = putFlag(world, { key: 'bad' })
    const gone = putFlag(world, { key: 'gone' })
    const good = putFlag(world, { key: 'good' })
    const half = [{ key: 'control', rollout_percentage: 20 }]
    const failing = await plan({
      record_id: bad,
      payload: { operation: 'update_variants', value: { variants: half } },
    })
    const late = await plan({ record_id: gone })
    await plan({ record_id: good })
    await manage(world, 'PATCH', `${FLAGS}${gone}/`, { deleted: true })
    await lookAt(START)
    expect(await readPlan(failing.body['id'])).toMatchObject({
      executed_at: '2027-01-04T09:00:00.000Z',
      last_executed_at: null,
      failure_reason: 'Invalid variant definitions: Variant rollout percentages must sum to 100.',
    })
    expect((await readPlan(late.body['id']))['failure_reason']).toBe(
      'The feature flag has been deleted.',
    )
    expect((await readFlag(good))['active']).toBe(false)
  })

  test('needs the right of its author when its time comes, not only when it is planned', async () => {
    const { control: db } = world.needs
    const { organization_id, project_id } = world.first
    const now = new Date()
    const user = createUser(db, { email: 'planner@example.com', first_name: 'Planner' }, now)
    db.insert(memberships)
      .values({ organization_id, user_id: user.id, level: MEMBER, joined_at: now })
      .run()
    const wanted = { user_id: user.id, label: 'test', scopes: ['*'] }
    const key = createApiKey(db, { ...wanted, organization_id: null, project_id: null }, now).value
    const planAsMember = async (flag_id: number) => {
      const body = { model_name: 'FeatureFlag', payload: off, scheduled_at: START }
      const made = await world.send(CHANGES, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}` },
        body: JSON.stringify({ ...body, record_id: flag_id }),
      })
      expect(made.status).toBe(201)
      return (JSON.parse(await made.text()) as { id: number }).id
    }
    const [kept, demoted, removed] = ['kept', 'demoted', 'removed'].map((name) =>
      putFlag(world, { key: name }),
    ) as [number, number, number]
    const control = { resource: 'feature_flag', user_id: EVERYBODY, project_id }
    await planAsMember(kept)
    await lookAt(START)
    expect((await readFlag(kept))['active']).toBe(false)
    const as_viewer = await planAsMember(demoted)
    setAccessLevel(db, control, 'viewer', now)
    await lookAt(START)
    expect((await readFlag(demoted))['active']).toBe(true)
    expect(await readPlan(as_viewer)).toMatchObject({
      executed_at: '2027-01-04T09:00:00.000Z',
      last_executed_at: null,
      failure_reason: 'You do not have editor access to this resource.',
    })
    setAccessLevel(db, control, null, now)
    const as_nobody = await planAsMember(removed)
    db.delete(memberships).where(eq(memberships.user_id, user.id)).run()
    await lookAt(START)
    expect((await readFlag(removed))['active']).toBe(true)
    expect((await readPlan(as_nobody))['failure_reason']).toBe(
      'The user on whose behalf this runs no longer has access to the project.',
    )
  })

  test('comes back, is held and goes on, and ends', async () => {
    const id = putFlag(world, { key: 'one' })
    const { body } = await plan({
      record_id: id,
      is_recurring: true,
      recurrence_interval: 'daily',
      end_date: '2027-01-08T10:00:00Z',
    })
    const atOnce = async (time: string) => {
      await manage(world, 'PATCH', `${FLAGS}${id}/`, { active: true })
      await lookAt(time)
      const { scheduled_at, executed_at } = await readPlan(body['id'])
      return [(await readFlag(id))['active'], scheduled_at, executed_at]
    }
    expect(await atOnce('2027-01-04T09:00:10Z')).toEqual([false, '2027-01-05T09:00:00.000Z', null])
    expect(await atOnce('2027-01-05T08:00:00Z')).toEqual([true, '2027-01-05T09:00:00.000Z', null])
    // Nothing ran for a day: it happens once.
    expect(await atOnce('2027-01-06T12:00:00Z')).toEqual([false, '2027-01-07T09:00:00.000Z', null])
    expect((await patch(body['id'], { is_recurring: false })).status).toBe(200)
    expect(await atOnce('2027-01-07T12:00:00Z')).toEqual([true, '2027-01-07T09:00:00.000Z', null])
    expect((await patch(body['id'], { is_recurring: true })).status).toBe(200)
    expect(await atOnce('2027-01-08T09:00:00Z')).toEqual([
      false,
      '2027-01-07T09:00:00.000Z',
      '2027-01-08T09:00:00.000Z',
    ])
    expect((await readPlan(body['id']))['last_executed_at']).toBe('2027-01-08T09:00:00.000Z')
  })

  test("follows the project's clocks", async () => {
    await manage(world, 'PATCH', '/api/projects/1/', { timezone: 'Europe/Berlin' })
    const id = putFlag(world, { key: 'one' })
    const { body } = await plan({
      record_id: id,
      scheduled_at: '2027-03-27T08:00:00Z',
      is_recurring: true,
      cron_expression: '0 9 * * *',
    })
    await lookAt('2027-03-27T08:00:00Z')
    expect(await readPlan(body['id'])).toMatchObject({
      timezone: 'Europe/Berlin',
      scheduled_at: '2027-03-28T07:00:00.000Z',
    })
  })

  test.each<[object, string | null]>([
    [{ record_id: 999 }, 'record_id'],
    [{ record_id: 'x' }, 'record_id'],
    [{ model_name: 'Survey' }, 'model_name'],
    [{ payload: {} }, 'payload'],
    [{ payload: { operation: 'explode' } }, 'payload'],
    [{ payload: { operation: '__proto__', value: 1 } }, 'payload'],
    [{ payload: { operation: 'update_status', value: 'no' } }, 'payload'],
    [{ payload: { operation: 'add_release_condition', value: {} } }, 'payload'],
    [{ payload: { operation: 'update_variants', value: [] } }, 'payload'],
    [{ scheduled_at: 'tomorrow' }, 'scheduled_at'],
    [{ is_recurring: true }, 'recurrence_interval'],
    [{ is_recurring: true, recurrence_interval: 'hourly' }, 'recurrence_interval'],
    [{ recurrence_interval: 'daily' }, 'recurrence_interval'],
    [{ cron_expression: '0 9 * * *' }, 'cron_expression'],
    [{ is_recurring: true, cron_expression: '0 9 * *' }, 'cron_expression'],
    [{ is_recurring: true, cron_expression: '0 9 30 2 *' }, 'cron_expression'],
    [
      { is_recurring: true, cron_expression: '0 9 * * *', recurrence_interval: 'daily' },
      'cron_expression',
    ],
    [{ end_date: START }, 'end_date'],
    [
      {
        is_recurring: true,
        recurrence_interval: 'daily',
        payload: { operation: 'add_release_condition', value: { groups: [{}] } },
      },
      'payload',
    ],
  ])('is refused when it says %j', async (body, attr) => {
    const record_id = putFlag(world, { key: 'one' })
    expect(await plan({ record_id, ...body })).toMatchObject({ status: 400, body: { attr } })
    expect((await manage(world, 'GET', CHANGES)).body['count']).toBe(0)
  })

  test('is listed by flag, changed and called off; other projects do not see it', async () => {
    const one = putFlag(world, { key: 'one' })
    const two = putFlag(world, { key: 'two' })
    const first = await plan({ record_id: one })
    const second = await plan({ record_id: two })
    const idsOf = async (query: string) =>
      ((await manage(world, 'GET', `${CHANGES}${query}`)).body['results'] as { id: number }[]).map(
        ({ id }) => id,
      )
    const [first_id, second_id] = [Number(first.body['id']), Number(second.body['id'])]
    expect(await idsOf('')).toEqual([second_id, first_id])
    expect(await idsOf(`?record_id=${one}&model_name=FeatureFlag`)).toEqual([first_id])
    expect(await idsOf('?model_name=Other')).toEqual([])
    expect(await idsOf('?record_id=x')).toEqual([])
    const payload = { operation: 'update_status', value: true }
    expect((await patch(first_id, { payload, record_id: one })).body['payload']).toEqual(payload)
    expect(await patch(first_id, { record_id: two })).toMatchObject({
      status: 400,
      body: { attr: 'record_id' },
    })
    const { body: project } = await manage(world, 'POST', '/api/projects/', { name: 'other' })
    const theirs = `/api/projects/${String(project['id'])}/scheduled_changes/`
    expect((await manage(world, 'GET', theirs)).body['count']).toBe(0)
    for (const method of ['GET', 'DELETE']) {
      expect((await manage(world, method, `${theirs}${first_id}/`)).status).toBe(404)
    }
    expect((await manage(world, 'PATCH', `${theirs}${first_id}/`, {})).status).toBe(404)
    const foreign = { model_name: 'FeatureFlag', record_id: one, payload, scheduled_at: START }
    expect((await manage(world, 'POST', theirs, foreign)).body['attr']).toBe('record_id')
    expect((await manage(world, 'DELETE', `${CHANGES}${first_id}/`)).status).toBe(204)
    expect(await idsOf('')).toEqual([second_id])
    await lookAt(START)
    expect((await readFlag(one))['active']).toBe(true)
    expect((await readFlag(two))['active']).toBe(false)
  })

  test('goes along with a copy of its flag, which may be off', async () => {
    const id = putFlag(world, { key: 'one' })
    const { body: project } = await manage(world, 'POST', '/api/projects/', { name: 'other' })
    const held = { is_recurring: true, recurrence_interval: 'daily' }
    const { body } = await plan({ record_id: id, ...held })
    await patch(body['id'], { is_recurring: false })
    const cron = { is_recurring: true, cron_expression: '0 9 * * 1' }
    await plan({ record_id: id, ...cron })
    await plan({ record_id: id, scheduled_at: '2027-01-01T00:00:00Z' })
    await lookAt('2027-01-02T00:00:00Z')
    const { organization_id } = world.first
    const copied = await manage(
      world,
      'POST',
      `/api/organizations/${organization_id}/feature_flags/copy_flags/`,
      {
        feature_flag_key: 'one',
        from_project: 1,
        target_project_ids: [project['id']],
        copy_schedule: true,
        disable_copied_flag: true,
      },
    )
    expect(copied.body['success']).toMatchObject([{ key: 'one', active: false }])
    const theirs = `/api/projects/${String(project['id'])}/scheduled_changes/`
    const { body: list } = await manage(world, 'GET', theirs)
    expect(list).toMatchObject({ count: 1, results: [{ ...cron, executed_at: null }] })
  })

  test('counts against what a project may keep', async () => {
    const tight = await openWorld({ saved_max: 1 })
    const flag_id = putFlag(tight, { key: 'one' })
    const body = {
      model_name: 'FeatureFlag',
      record_id: flag_id,
      payload: off,
      scheduled_at: START,
    }
    expect((await manage(tight, 'POST', CHANGES, body)).status).toBe(201)
    expect((await manage(tight, 'POST', CHANGES, body)).status).toBe(400)
    expect((await manage(tight, 'GET', CHANGES)).body['count']).toBe(1)
    await tight.close()
  })
})
