/** Early access through the management API: people say yes or no themselves, and their flag follows. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { openWorld, type World } from '../world.ts'
import { ask, capture, manage, putFlag } from './flag-world.ts'

const FEATURES = '/api/projects/1/early_access_feature/'

let world: World

beforeAll(async () => {
  world = await openWorld()
})
beforeEach(() => {
  world.resetControl()
  world.needs.flags.expectChange()
})
afterAll(() => world.close())

const create = (body: object) => manage(world, 'POST', FEATURES, body)
const enroll = (distinct_id: string, key: string, is_in: boolean) =>
  capture(world, {
    event: '$feature_enrollment_update',
    distinct_id,
    properties: {
      $feature_flag: key,
      $feature_enrollment: is_in,
      $set: { [`$feature_enrollment/${key}`]: is_in },
    },
  })
const valueOf = async (key: string, distinct_id: string) =>
  (
    (await ask(world, '/decide?v=3', { distinct_id })).body['featureFlags'] as Record<
      string,
      unknown
    >
  )[key]
const listed = async (query = '') => {
  const answer = await world.send(
    `/api/early_access_features/?token=${world.first.api_token}${query}`,
    { headers: { Origin: 'https://shop.example' } },
  )
  expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example')
  return (await answer.json()) as { earlyAccessFeatures: object[] }
}

describe('an early access feature', () => {
  test('whose name makes the key of another flag is refused', async () => {
    putFlag(world, { key: 'taken-name' })
    const refused = await create({ name: 'Taken, name', stage: 'beta' })
    expect(refused).toMatchObject({
      status: 400,
      body: {
        code: 'unique',
        attr: 'key',
        detail: 'There is already a feature flag with this key.',
      },
    })
  })

  test('whose flag gets another key asks for the enrollment under that key', async () => {
    const { body } = await create({ name: 'Renamed', stage: 'beta' })
    const flag_id = (body['feature_flag'] as { readonly id: number }).id
    const path = `/api/projects/1/feature_flags/${flag_id}/`
    await manage(world, 'PATCH', path, { key: 'called-so-now' })
    await enroll('eve', 'called-so-now', true)
    expect(await valueOf('called-so-now', 'eve')).toBe(true)
    expect(await valueOf('called-so-now', 'nobody')).toBe(false)
  })

  test('makes its flag; who says yes has it, who says no has not', async () => {
    const made = await create({ name: 'New Dashboard', stage: 'beta', description: 'Faster.' })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      name: 'New Dashboard',
      stage: 'beta',
      documentation_url: '',
      feature_flag: { key: 'new-dashboard', active: true },
    })
    expect(await listed()).toEqual({
      earlyAccessFeatures: [
        {
          id: String(made.body['id']),
          name: 'New Dashboard',
          description: 'Faster.',
          stage: 'beta',
          documentationUrl: '',
          payload: {},
          flagKey: 'new-dashboard',
        },
      ],
    })
    await enroll('yes', 'new-dashboard', true)
    await enroll('no', 'new-dashboard', false)
    expect(await valueOf('new-dashboard', 'yes')).toBe(true)
    expect(await valueOf('new-dashboard', 'no')).toBe(false)
    expect(await valueOf('new-dashboard', 'unasked')).toBe(false)
  })

  test('on a flag that is there wins over what the flag asks, while its stage is open', async () => {
    const id = putFlag(world, { key: 'open' })
    const made = await create({ name: 'Open', stage: 'beta', feature_flag_id: id })
    await enroll('no', 'open', false)
    expect(await valueOf('open', 'no')).toBe(false)
    expect(await valueOf('open', 'unasked')).toBe(true)
    const path = `${FEATURES}${String(made.body['id'])}/`
    expect((await manage(world, 'PATCH', path, { stage: 'archived' })).status).toBe(200)
    expect(await valueOf('open', 'no')).toBe(true)
    expect((await listed()).earlyAccessFeatures).toEqual([])
    expect((await listed('&stage=archived&stage=beta')).earlyAccessFeatures).toHaveLength(1)
    await manage(world, 'PATCH', path, { stage: 'alpha' })
    expect(await valueOf('open', 'no')).toBe(false)
    expect((await manage(world, 'DELETE', path)).status).toBe(204)
    expect(await valueOf('open', 'no')).toBe(true)
    expect((await manage(world, 'GET', path)).status).toBe(404)
  })

  test('that becomes generally available is for all if so wanted: who said no has it too', async () => {
    const { body } = await create({ name: 'Ready', stage: 'beta' })
    const path = `${FEATURES}${String(body['id'])}/`
    await enroll('no', 'ready', false)
    await manage(world, 'PATCH', path, { stage: 'general-availability' })
    expect(await valueOf('ready', 'unasked')).toBe(false)
    await manage(world, 'PATCH', path, { stage: 'general-availability', rollout_to_all: true })
    expect(await valueOf('ready', 'unasked')).toBe(true)
    expect(await valueOf('ready', 'no')).toBe(true)
    await manage(world, 'PATCH', path, { stage: 'general-availability', description: 'For all.' })
    expect(await valueOf('ready', 'no')).toBe(true)
  })

  test('takes the newer form of its condition from the flag when it closes', async () => {
    const filters = { groups: [{ rollout_percentage: 100 }], feature_enrollment: true }
    const id = putFlag(world, { key: 'newer', filters })
    const made = await create({ name: 'Newer', stage: 'beta', feature_flag_id: id })
    await enroll('no', 'newer', false)
    expect(await valueOf('newer', 'no')).toBe(false)
    await manage(world, 'DELETE', `${FEATURES}${String(made.body['id'])}/`)
    expect(await valueOf('newer', 'no')).toBe(true)
  })

  test('keeps its flag from being deleted, and shares it with no other', async () => {
    const id = putFlag(world, { key: 'one' })
    await create({ name: 'First', stage: 'beta', feature_flag_id: id })
    const second = await create({ name: 'Second', stage: 'beta', feature_flag_id: id })
    expect(second).toMatchObject({ status: 400, body: { attr: 'feature_flag_id' } })
    const deleted = await manage(world, 'PATCH', `/api/projects/1/feature_flags/${id}/`, {
      deleted: true,
    })
    expect(deleted.status).toBe(400)
  })

  test('takes no deleted flag', async () => {
    const id = putFlag(world, { key: 'gone', deleted: true })
    const made = await create({ name: 'Gone', stage: 'beta', feature_flag_id: id })
    expect(made).toMatchObject({ status: 400, body: { attr: 'feature_flag_id' } })
  })

  test.each<[object, string]>([
    [{ stage: 'beta' }, 'name'],
    [{ name: 'a' }, 'stage'],
    [{ name: 'a', stage: 'gamma' }, 'stage'],
  ])('%j is refused for its %s', async (body, attr) => {
    expect(await create(body)).toMatchObject({ status: 400, body: { attr } })
  })
})

describe('public lists', () => {
  test.each(['surveys', 'early_access_features', 'web_experiments'])(
    '%s need a token, and answer preflights',
    async (name) => {
      const path = `/api/${name}/`
      const origin = { headers: { Origin: 'https://shop.example' } }
      const missing = await world.send(path, origin)
      expect([missing.status, ((await missing.json()) as { code: string }).code]).toEqual([
        401,
        'missing_api_key',
      ])
      const unknown = await world.send(`${path}?token=phc_no`, origin)
      expect([unknown.status, ((await unknown.json()) as { code: string }).code]).toEqual([
        401,
        'invalid_api_key',
      ])
      expect(unknown.headers.get('access-control-allow-origin')).toBe('https://shop.example')
      const preflight = await world.send(path, { ...origin, method: 'OPTIONS' })
      expect(preflight.status).toBe(204)
      const got = await world.send(`${path.slice(0, -1)}?token=${world.first.api_token}`, origin)
      expect(got.status).toBe(200)
    },
  )
})
