/** Surveys through the management API: whom they ask is decided by their flags, what came back by events. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { backgroundQueryEvents } from '../../../../src/http/analytics/queries/event-queries.ts'
import type { QueryEvents } from '../../../../src/targeting/cohorts/behavioral-cohort.ts'
import { SurveyLifecycle } from '../../../../src/targeting/surveys/survey-lifecycle.ts'
import { openWorld, type World } from '../../world.ts'
import { ask, capture, flagOn, manage, putFlag } from '../flag-world.ts'

const SURVEYS = '/api/projects/1/surveys/'
const QUESTIONS = [{ type: 'open', question: 'How was it?' }]

let world: World

beforeAll(async () => {
  world = await openWorld()
})

afterAll(() => world.close())

const create = (body: object) => manage(world, 'POST', SURVEYS, { type: 'popover', ...body })
const flagValues = async (distinct_id: string) =>
  (await ask(world, '/decide?v=3', { distinct_id })).body['featureFlags'] as Record<string, unknown>

/** What the running server does every minute. */
const lookAfter = (now: () => Date) =>
  new SurveyLifecycle({
    ...world.needs,
    queryEvents: backgroundQueryEvents(world.needs),
    now,
  }).look()

describe('a survey', () => {
  test('asks nobody twice: its own flag leaves out who has answered', async () => {
    const linked = putFlag(world, flagOn('linked', { key: 'plan', value: 'pro' }))
    const made = await create({
      name: 'First impressions',
      questions: QUESTIONS,
      linked_flag_id: linked,
      start_date: '2026-01-01T00:00:00Z',
      conditions: { url: 'https://shop.example' },
      targeting_flag_filters: { groups: [{ properties: [{ key: 'age', value: '40' }] }] },
    })
    expect(made.status).toBe(201)
    const id = String(made.body['id'])
    expect(made.body).toMatchObject({
      // Terraform compares it with the text that it sent.
      start_date: '2026-01-01T00:00:00Z',
      linked_flag: { key: 'linked' },
      targeting_flag: { key: 'survey-targeting-first-impressions-custom', active: true },
      internal_targeting_flag: {
        key: 'survey-targeting-first-impressions',
        active: true,
        filters: {
          groups: [
            {
              rollout_percentage: 100,
              properties: [
                { key: `$survey_dismissed/${id}`, operator: 'is_not_set', type: 'person' },
                { key: `$survey_responded/${id}`, operator: 'is_not_set', type: 'person' },
              ],
            },
          ],
        },
      },
      archived: false,
      created_by: { first_name: 'Owner' },
    })
    await capture(world, {
      event: 'survey sent',
      distinct_id: 'answered',
      properties: { $survey_id: id, $set: { [`$survey_responded/${id}`]: true } },
    })
    expect((await flagValues('answered'))['survey-targeting-first-impressions']).toBe(false)
    expect((await flagValues('other'))['survey-targeting-first-impressions']).toBe(true)
    const listed = await world.send(`/api/surveys/?token=${world.first.api_token}`)
    expect(await listed.json()).toMatchObject({
      surveys: [
        {
          id,
          name: 'First impressions',
          type: 'popover',
          linked_flag_key: 'linked',
          targeting_flag_key: 'survey-targeting-first-impressions-custom',
          internal_targeting_flag_key: 'survey-targeting-first-impressions',
          questions: QUESTIONS,
          conditions: { url: 'https://shop.example' },
          start_date: '2026-01-01T00:00:00.000Z',
          end_date: null,
        },
      ],
    })
    const flags = await manage(world, 'GET', '/api/projects/1/feature_flags/')
    expect(flags.body['results']).toMatchObject([{ key: 'linked', surveys: [{ id }] }])
  })

  test('that comes back asks again each time', async () => {
    const start = new Date(Date.now() - 10 * 86_400_000).toISOString()
    const { body } = await create({
      name: 'Weekly',
      questions: QUESTIONS,
      start_date: start,
      iteration_count: 3,
      iteration_frequency_days: 7,
    })
    expect(body).toMatchObject({ current_iteration: 2 })
    expect(body['iteration_start_dates']).toHaveLength(3)
    expect(JSON.stringify(body['internal_targeting_flag'])).toContain(
      `$survey_responded/${String(body['id'])}/2`,
    )
  })

  test('begins its next turn by itself, and asks those again who have answered before', async () => {
    const day_ms = 86_400_000
    const begun = Date.now()
    const { body } = await create({
      name: 'Monthly',
      questions: QUESTIONS,
      start_date: new Date(begun).toISOString(),
      iteration_count: 2,
      iteration_frequency_days: 30,
    })
    const path = `${SURVEYS}${String(body['id'])}/`
    const lookAt = (days: number) => lookAfter(() => new Date(begun + days * day_ms))
    const turn = async () => {
      const { body: survey } = await manage(world, 'GET', path)
      const asked = JSON.stringify(survey['internal_targeting_flag'])
      const [, number] = /survey_responded\/[^"]+\/(\d+)"/.exec(asked) ?? []
      return [survey['current_iteration'], Number(number)]
    }
    await lookAt(29)
    expect(await turn()).toEqual([1, 1])
    await capture(world, {
      event: 'survey sent',
      distinct_id: 'again',
      properties: { $set: { [`$survey_responded/${String(body['id'])}/1`]: true } },
    })
    expect((await flagValues('again'))['survey-targeting-monthly']).toBe(false)
    await lookAt(31)
    expect(await turn()).toEqual([2, 2])
    expect((await flagValues('again'))['survey-targeting-monthly']).toBe(true)
    await lookAt(90)
    expect(await turn()).toEqual([2, 2])
    const { body: log } = await manage(world, 'GET', `${path}activity/`)
    expect(log).toMatchObject({ total_count: 2, results: [{ activity: 'updated' }, {}] })
    await manage(world, 'PATCH', path, { end_date: new Date().toISOString() })
  })

  test('waits for the days after the last survey that a person was shown, on whatever device', async () => {
    const { body } = await create({
      name: 'Patient',
      questions: QUESTIONS,
      start_date: new Date(Date.now() - 60_000).toISOString(),
      conditions: { seenSurveyWaitPeriodInDays: 30 },
    })
    const day_ms = 86_400_000
    const shown = (distinct_id: string, days: number) => ({
      event: 'survey shown',
      distinct_id,
      timestamp: new Date(Date.now() - days * day_ms).toISOString(),
    })
    await capture(world, shown('lately', 29), shown('before', 31))
    const isAsked = async (id: string) => (await flagValues(id))['survey-targeting-patient']
    expect([await isAsked('lately'), await isAsked('before'), await isAsked('never')]).toEqual([
      false,
      true,
      true,
    ])
    const path = `${SURVEYS}${String(body['id'])}/`
    for (const [wait, is_asked] of [
      [1e12, false],
      [0, true],
      ['x', true],
      [-1, true],
    ]) {
      const change = { conditions: { seenSurveyWaitPeriodInDays: wait } }
      expect((await manage(world, 'PATCH', path, change)).status).toBe(200)
      expect(await isAsked('lately')).toBe(is_asked)
    }
    await manage(world, 'PATCH', path, { end_date: new Date().toISOString() })
  })

  test('ends when it has as many answers as it was to get', async () => {
    const { body } = await create({
      name: 'Three are enough',
      questions: QUESTIONS,
      start_date: new Date(Date.now() - 3_600_000).toISOString(),
      responses_limit: 3,
    })
    const id = String(body['id'])
    const answer = { event: 'survey sent', properties: { $survey_id: id } }
    const isOver = async () => {
      await lookAfter(() => new Date())
      const { body: survey } = await manage(world, 'GET', `${SURVEYS}${id}/`)
      const flag = survey['internal_targeting_flag'] as { readonly active: boolean }
      return [survey['end_date'] !== null, flag.active]
    }
    await capture(world, { ...answer, distinct_id: 'a' }, { ...answer, distinct_id: 'b' })
    expect(await isOver()).toEqual([false, true])
    await capture(world, { ...answer, distinct_id: 'c' })
    expect(await isOver()).toEqual([true, false])
  })

  test('keeps a change that comes while its next turn is prepared', async () => {
    const begun = Date.now()
    const now = () => new Date(begun + 31 * 86_400_000)
    // The turns of all other surveys.
    await lookAfter(now)
    const { body } = await create({
      name: 'Often',
      questions: QUESTIONS,
      start_date: new Date(begun).toISOString(),
      iteration_count: 2,
      iteration_frequency_days: 30,
    })
    const path = `${SURVEYS}${String(body['id'])}/`
    const { flags } = world.needs
    const turns = new SurveyLifecycle({
      ...world.needs,
      queryEvents: backgroundQueryEvents(world.needs),
      now,
      flags: {
        expectChange: () => flags.expectChange(),
        async readyFlagsOf(project_id) {
          await manage(world, 'PATCH', path, { name: 'Seldom' })
          return flags.readyFlagsOf(project_id)
        },
      },
    })
    await turns.look()
    expect((await manage(world, 'GET', path)).body).toMatchObject({
      name: 'Seldom',
      current_iteration: 2,
    })
    await manage(world, 'DELETE', path)
  })

  test('goes on when its limit is raised while its responses are counted', async () => {
    const start_date = '2026-01-01T00:00:00Z'
    const { body } = await create({ name: 'Asked more', questions: QUESTIONS, start_date })
    const path = `${SURVEYS}${String(body['id'])}/`
    await manage(world, 'PATCH', path, { responses_limit: 1 })
    const look = async (queryEvents: QueryEvents) => {
      const now = () => new Date()
      const lifecycle = new SurveyLifecycle({ ...world.needs, queryEvents, now })
      await lifecycle.look()
      return (await manage(world, 'GET', path)).body['end_date']
    }
    const raiseMeanwhile: QueryEvents = async (_project, _text, values) => {
      if (values['survey'] !== body['id']) return []
      await manage(world, 'PATCH', path, { responses_limit: 5 })
      return [[1]]
    }
    expect(await look(raiseMeanwhile)).toBe(null)
    const enough: QueryEvents = async (_project, _text, values) => [
      [values['survey'] === body['id'] ? 5 : 0],
    ]
    expect(await look(enough)).not.toBe(null)
    await manage(world, 'DELETE', path)
  })

  test('is looked after again when surveys could not be read for a while', async () => {
    const { control } = world.needs
    const turns = new SurveyLifecycle({
      ...world.needs,
      queryEvents: backgroundQueryEvents(world.needs),
      now: () => new Date(),
    })
    const warnings = () =>
      world.log_lines.filter((line) => line.includes('surveys cannot be')).length
    control.run(sql`alter table surveys rename to surveys_away`)
    await turns.look()
    expect(warnings()).toBe(1)
    control.run(sql`alter table surveys_away rename to surveys`)
    await turns.look()
    expect(warnings()).toBe(1)
  })

  test('begins, ends and goes with its flags', async () => {
    const { body: draft } = await create({ name: 'Draft', questions: QUESTIONS })
    expect(draft['internal_targeting_flag']).toMatchObject({ active: false })
    const path = `${SURVEYS}${String(draft['id'])}/`
    const begun = await manage(world, 'PATCH', path, { start_date: '2026-05-01' })
    expect(begun.body['internal_targeting_flag']).toMatchObject({ active: true })
    const ended = await manage(world, 'PATCH', path, { end_date: '2026-06-01T12:00:00' })
    expect(ended.body).toMatchObject({
      end_date: '2026-06-01T12:00:00Z',
      internal_targeting_flag: { active: false },
    })
    expect((await manage(world, 'DELETE', path)).status).toBe(204)
    expect((await manage(world, 'GET', path)).status).toBe(404)
    expect(await flagValues('anybody')).not.toHaveProperty('survey-targeting-draft')
  })

  test.each<[object, string]>([
    [{ questions: QUESTIONS }, 'name'],
    [{ name: 'First impressions' }, 'name'],
    [{ name: 'a', type: 'telepathy' }, 'type'],
    [{ name: 'a', questions: [{ type: 'open' }] }, 'questions__0__question'],
    [{ name: 'a', linked_flag_id: 999 }, 'linked_flag_id'],
    [{ name: 'a', start_date: 'tomorrow' }, 'start_date'],
  ])('%j is refused for its %s', async (body, attr) => {
    expect(await create(body)).toMatchObject({ status: 400, body: { attr } })
  })

  test('has its answers counted', async () => {
    const { body } = await create({ name: 'Counted', questions: QUESTIONS })
    const id = String(body['id'])
    const event = (name: string, distinct_id: string) => ({
      event: name,
      distinct_id,
      properties: { $survey_id: id },
    })
    await capture(
      world,
      event('survey shown', 'a'),
      event('survey shown', 'b'),
      event('survey shown', 'b'),
      event('survey sent', 'a'),
    )
    const { body: counts } = await manage(world, 'GET', `${SURVEYS}responses_count/`)
    expect(counts[id]).toBe(1)
    const { body: stats } = await manage(world, 'GET', `${SURVEYS}${id}/stats/`)
    expect(stats['stats']).toMatchObject({
      'survey shown': { total_count: 3, unique_persons: 2 },
      'survey dismissed': { total_count: 0, unique_persons: 0, first_seen: null },
      'survey sent': { total_count: 1, unique_persons: 1 },
    })
  })
})

describe('the flag that targets a survey', () => {
  const CITY = { groups: [{ properties: [{ key: 'city', value: 'Ulm', type: 'person' }] }] }
  const flagOf = async (id: unknown) =>
    manage(world, 'GET', `/api/projects/1/feature_flags/${String(id)}/`)
  const isOn = async (id: unknown) => (await flagOf(id)).body['active']
  const patch = (id: unknown, body: object) =>
    manage(world, 'PATCH', `${SURVEYS}${String(id)}/`, body)
  const targeted = async (name: string) => {
    const { body } = await create({ name, questions: QUESTIONS, targeting_flag_filters: CITY })
    return { id: body['id'], flag: (body['targeting_flag'] as { id: number }).id }
  }

  test('stays as it is when filters without conditions are sent, which would be everybody', async () => {
    const { id, flag } = await targeted('Kept')
    for (const sent of [{}, { payloads: {} }, { groups: null }]) {
      expect((await patch(id, { targeting_flag_filters: sent })).status).toBe(200)
      expect((await flagOf(flag)).body['filters']).toEqual(CITY)
    }
    const plain = { name: 'Nobody in particular', questions: QUESTIONS, targeting_flag_filters: {} }
    expect((await create(plain)).body['targeting_flag']).toBeNull()
  })

  test('is switched on by its launch, off by its end, and on again', async () => {
    const { id, flag } = await targeted('Launched')
    expect(await isOn(flag)).toBe(false)
    await patch(id, { start_date: '2026-01-01T00:00:00Z' })
    expect(await isOn(flag)).toBe(true)
    const key = 'survey-targeting-launched-custom'
    const asked = { distinct_id: 'u', person_properties: { city: 'Ulm' } }
    expect((await ask(world, '/decide?v=3', asked)).body['featureFlags']).toMatchObject({
      [key]: true,
    })
    await patch(id, { end_date: '2026-02-01T00:00:00Z' })
    expect(await isOn(flag)).toBe(false)
    await patch(id, { end_date: null })
    expect(await isOn(flag)).toBe(true)
    await patch(id, { archived: true })
    expect(await isOn(flag)).toBe(false)
  })

  test('goes with the survey, or when its targeting is taken away', async () => {
    const gone = await targeted('Gone')
    const internal = (await manage(world, 'GET', `${SURVEYS}${String(gone.id)}/`)).body
    expect((await manage(world, 'DELETE', `${SURVEYS}${String(gone.id)}/`)).status).toBe(204)
    expect((await flagOf(gone.flag)).status).toBe(404)
    const own = (internal['internal_targeting_flag'] as { id: number }).id
    expect((await flagOf(own)).status).toBe(404)
    const open = await targeted('Open')
    const after = await patch(open.id, { remove_targeting_flag: true })
    expect(after.body).toMatchObject({ targeting_flag: null, targeting_flag_id: null })
    expect((await flagOf(open.flag)).status).toBe(404)
  })

  test('has a key of its own where the name fills the keys of both flags', async () => {
    const name = 'A long name '.repeat(20)
    const { status, body } = await create({ name, targeting_flag_filters: CITY })
    expect(status).toBe(201)
    const keys = ['targeting_flag', 'internal_targeting_flag'].map(
      (flag) => (body[flag] as { readonly key: string }).key,
    )
    expect(new Set(keys).size).toBe(2)
  })

  test('is left alone where another made it', async () => {
    const targeting_flag_id = putFlag(world, { key: 'by-hand', active: false })
    const { body } = await create({ name: 'By hand', questions: QUESTIONS, targeting_flag_id })
    await patch(body['id'], { start_date: '2026-01-01T00:00:00Z' })
    expect(await isOn(targeting_flag_id)).toBe(false)
    await manage(world, 'DELETE', `${SURVEYS}${String(body['id'])}/`)
    expect((await flagOf(targeting_flag_id)).status).toBe(200)
  })

  test.each([[{}], [{ rollout_percentage: 100, properties: [] }], [{ rollout_percentage: null }]])(
    'does not stand for everybody: %j',
    async (group) => {
      const filters = { groups: [CITY.groups[0], group] }
      const body = { name: `All ${JSON.stringify(group)}`, questions: QUESTIONS }
      expect(await create({ ...body, targeting_flag_filters: filters })).toMatchObject({
        status: 400,
        body: { code: 'invalid_input', attr: 'targeting_flag_filters' },
      })
    },
  )
})

test('surveys are switched on in the project with the first that runs, and off with the last', async () => {
  const optIn = async () => (await manage(world, 'GET', '/api/projects/1/')).body['surveys_opt_in']
  const listed = (await manage(world, 'GET', `${SURVEYS}?limit=1000`)).body['results'] as {
    id: string
  }[]
  for (const { id } of listed) await manage(world, 'DELETE', `${SURVEYS}${id}/`)
  const make = async (name: string, type: string) => {
    const start_date = '2026-01-01T00:00:00Z'
    return (await create({ name, type, questions: QUESTIONS, start_date })).body['id']
  }
  expect(await optIn()).toBe(false)
  await make('By api', 'api')
  expect(await optIn()).toBe(false)
  const id = await make('Shown', 'popover')
  expect(await optIn()).toBe(true)
  const config = await ask(world, '/decide?v=3', { distinct_id: 'u' })
  expect(config.body['surveys']).toBe(true)
  // Mobile SDKs take surveys from the remote configuration only.
  const inRemoteConfig = async () => {
    const got = await world.send(`/array/${world.first.api_token}/config`)
    return ((await got.json()) as { surveys: unknown }).surveys
  }
  const of_pages = await world.send(`/api/surveys/?token=${world.first.api_token}`)
  const { surveys } = (await of_pages.json()) as { surveys: readonly { id: unknown }[] }
  expect(surveys.map((survey) => survey.id)).toContain(id)
  expect(await inRemoteConfig()).toEqual(surveys)
  await manage(world, 'PATCH', `${SURVEYS}${String(id)}/`, { end_date: '2026-02-01T00:00:00Z' })
  expect(await optIn()).toBe(false)
  expect(await inRemoteConfig()).toBe(false)
})

test('surveys in the remote configuration have a megabyte together, the newest ones', async () => {
  const { api_token } = world.first
  const inRemoteConfig = async (): Promise<readonly string[]> => {
    const got = await world.send(`/array/${api_token}/config`)
    const { surveys } = (await got.json()) as { surveys: readonly { name: string }[] }
    return surveys.map(({ name }) => name)
  }
  const question = { type: 'open', question: 'q', description: 'x'.repeat(240_000) }
  const names = Array.from({ length: 6 }, (_, at) => `long ${at}`)
  for (const name of names) {
    const body = {
      name,
      type: 'popover',
      start_date: '2026-01-01T00:00:00Z',
      questions: [question],
    }
    expect((await manage(world, 'POST', SURVEYS, body)).status).toBe(201)
  }
  for (let times = 0; times < 2; times += 1) {
    expect(await inRemoteConfig()).toEqual(names.toReversed().slice(0, 4))
  }
  expect(world.log_lines.filter((line) => line.includes('are left out'))).toHaveLength(1)
})
