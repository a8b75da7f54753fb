/** Flags and requests that nobody sends by accident: all are answered, and the others with them. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { feature_flags } from '../../../src/targeting/tables.ts'
import { fewOrMany } from '../../random-runs.ts'
import { ask, capture, flagOn, manage, putFlag } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

const FLAGS = '/api/projects/1/feature_flags/'
const SLOW_MS = 120_000
/** With `plain`, as many as a request evaluates at most. */
const FLAGS_MANY = fewOrMany(1000, 9999)

let world: World

beforeAll(async () => {
  world = await openWorld()
})
beforeEach(() => {
  world.resetControl()
  putFlag(world, flagOn('plain', { key: 'plan', value: 'pro' }))
})
afterAll(() => world.close())

const decide = async (body: Readonly<Record<string, unknown>>) =>
  (await ask(world, '/decide?v=3', { distinct_id: 'a', ...body })).body

test(
  'thousands of flags are all answered, listed by pages, and handed out as definitions',
  async () => {
    const now = new Date()
    world.needs.control.transaction((tx) => {
      for (let number = 0; number < FLAGS_MANY; number += 1) {
        const flag = flagOn(`flag-${number}`, { key: 'plan', value: ['pro', `plan-${number}`] })
        const row = { ...flag, project_id: 1, created_at: now, updated_at: now }
        tx.insert(feature_flags).values(row).run()
      }
    })
    world.needs.flags.expectChange()
    const { featureFlags } = await decide({ person_properties: { plan: 'plan-77' } })
    const flags = featureFlags as Record<string, boolean>
    expect(Object.keys(flags)).toHaveLength(FLAGS_MANY + 1)
    expect(Object.keys(flags).filter((key) => flags[key])).toEqual(['flag-77'])
    const { body } = await manage(world, 'GET', `${FLAGS}?limit=10`)
    expect([body['count'], (body['results'] as object[]).length]).toEqual([FLAGS_MANY + 1, 10])
    const definitions = await manage(world, 'GET', `/flags/definitions?send_cohorts`)
    expect(definitions.body['flags']).toHaveLength(FLAGS_MANY + 1)
  },
  SLOW_MS,
)

test('a filter of two hundred kilobytes is stored and asked', async () => {
  const value = Array.from({ length: 1000 }, (_, index) => `${index}-${'x'.repeat(200)}`)
  const made = await manage(world, 'POST', FLAGS, { ...flagOn('huge', { key: 'name', value }) })
  expect(made.status).toBe(201)
  expect((await decide({ person_properties: { name: value[999] } }))['featureFlags']).toEqual({
    plain: false,
    huge: true,
  })
})

test('a pattern that explodes elsewhere is answered like any other', async () => {
  const filter = { key: 'name', operator: 'regex', value: '^(a+)+$' }
  expect((await manage(world, 'POST', FLAGS, flagOn('explosive', filter))).status).toBe(201)
  const person_properties = { plan: 'pro', name: `${'a'.repeat(8000)}!` }
  expect(await decide({ person_properties })).toMatchObject({
    featureFlags: { plain: true, explosive: false },
    errorsWhileComputingFlags: false,
  })
})

test('flags in a circle are left out, and the others are answered', async () => {
  const asks = (key: string) => ({
    groups: [{ properties: [{ type: 'flag', key, operator: 'flag_evaluates_to', value: true }] }],
  })
  putFlag(world, { key: 'one', filters: asks('two') })
  putFlag(world, { key: 'two', filters: asks('three') })
  putFlag(world, { key: 'three', filters: asks('one') })
  expect(await decide({ person_properties: { plan: 'pro' } })).toMatchObject({
    featureFlags: { plain: true },
    errorsWhileComputingFlags: true,
  })
  const { body } = await ask(world, '/flags?v=2', { distinct_id: 'a' })
  expect(body['flags']).toMatchObject({
    one: { enabled: false, reason: { code: 'dependency_cycle' } },
    plain: { enabled: false },
  })
  const refused = await manage(world, 'POST', FLAGS, { key: 'self', filters: asks('self') })
  expect(refused.status).toBe(400)
})

test('names of what every object has are names like any other', async () => {
  for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const made = await manage(world, 'POST', FLAGS, {
      ...flagOn(key, { key, value: 'mine' }),
    })
    expect(made.status).toBe(201)
  }
  const body = `{"token":"${world.first.api_token}","distinct_id":"a",
    "person_properties":{"__proto__":"mine","constructor":"mine"},
    "groups":{"__proto__":"x"},"group_properties":{"__proto__":{"polluted":true}}}`
  for (const path of ['/decide?v=3', '/decide?v=4', '/flags?v=2']) {
    const answer = await world.send(path, { method: 'POST', body })
    const text = await answer.text()
    expect(answer.status).toBe(200)
    expect(text).toContain('"__proto__":')
  }
  const answer = await world.send('/decide?v=3', { method: 'POST', body })
  expect(await answer.text()).toContain(
    '"__proto__":true,"constructor":true,"toString":false,"hasOwnProperty":false',
  )
  expect({}).not.toHaveProperty('polluted')
})

test('properties of the wrong kind change nothing', async () => {
  await capture(world, { event: 'seen', distinct_id: 'a', properties: { $set: { plan: 'pro' } } })
  for (const wrong of [null, 7, 'text', true, ['plan'], []]) {
    const asked = { person_properties: wrong, group_properties: wrong, groups: wrong }
    const { body, status } = await ask(world, '/flags?v=1', { distinct_id: 'a', ...asked })
    expect(status).toBe(200)
    expect(body['featureFlags']).toEqual({ plain: true })
    const odd = { flag_keys_to_evaluate: wrong, $anon_distinct_id: wrong, $device_id: wrong }
    expect((await ask(world, '/decide?v=3', { distinct_id: 'a', ...odd })).status).toBe(200)
  }
})

test('ten thousand properties in one request are read', async () => {
  const many = Array.from({ length: 10_000 }, (_, index) => [`p${index}`, index] as const)
  const person_properties = { ...Object.fromEntries(many), plan: 'pro' }
  expect((await decide({ person_properties }))['featureFlags']).toEqual({ plain: true })
})

test('a long body without a known token is refused unread', async () => {
  const person_properties = { text: 'x'.repeat(100_000) }
  // Only what is parsed is found not to be JSON.
  const cut = (body: object) => JSON.stringify({ ...body, person_properties }).slice(0, -1)
  const codeOf = async (body: string) => {
    const answer = await world.send('/flags?v=2', { method: 'POST', body })
    return [answer.status, JSON.parse(await answer.text()).code]
  }
  expect(await codeOf(cut({}))).toEqual([401, 'no_api_key'])
  expect(await codeOf(cut({ token: 'phc_none' }))).toEqual([401, 'invalid_api_key'])
  expect(await codeOf(cut({ token: 'phx_personal' }))).toEqual([401, 'invalid_api_key'])
  const known = { token: world.first.api_token }
  expect(await codeOf(cut(known))).toEqual([400, 'malformed_data'])
  expect(await codeOf(`${cut({ ...known, distinct_id: 'a' })},"n":NaN}`)).toEqual([200, undefined])
})

test('a body that takes long to be read is refused, however small it was sent', async () => {
  const text = JSON.stringify({
    api_key: world.first.api_token,
    distinct_id: 'a',
    person_properties: { text: 'x'.repeat(256 * 1024) },
  })
  for (const path of ['/decide?v=3', '/flags?v=2']) {
    for (const body of [text, Bun.gzipSync(text), Buffer.from(text).toString('base64')]) {
      const answer = await world.send(path, { method: 'POST', body })
      const { code } = JSON.parse(await answer.text())
      expect([answer.status, code]).toEqual([413, 'request_too_large'])
    }
  }
})

test('a pattern that takes long over any text is refused when it is saved', async () => {
  const filter = { key: 'name', operator: 'regex', value: '(?i)(?:a|b)*a(?:a|b){990}c' }
  const refused = await manage(world, 'POST', FLAGS, flagOn('slow', filter))
  const detail = 'The regular expression is too large: it repeats too much, or too long a part.'
  expect(refused).toMatchObject({ status: 400, body: { attr: 'filters', detail } })
})

test('hundreds of flags are compiled in slices, once for all who ask meanwhile, and are as they were saved', async () => {
  for (let number = 0; number < 300; number += 1) {
    putFlag(world, flagOn(`flag-${number}`, { key: 'plan', value: `plan-${number}` }))
  }
  const asked = { person_properties: { plan: 'plan-7' } }
  const answers = await Promise.all([decide(asked), decide(asked), decide(asked)])
  for (const { featureFlags } of answers) {
    const values = Object.entries(featureFlags as Record<string, boolean>)
    expect(values).toHaveLength(301)
    expect(values.filter(([, value]) => value)).toEqual([['flag-7', true]])
  }
  putFlag(world, flagOn('late', { key: 'plan', value: 'plan-7' }))
  expect((await decide(asked))['featureFlags']).toMatchObject({ 'flag-7': true, late: true })
})
