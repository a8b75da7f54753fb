/** What surveys ask as it is kept, and what comes back of them: figures, answers, archives, copies. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { joinWorld } from '../../shared-world.ts'
import { capture, manage } from '../flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

setDefaultTimeout(60_000)

const PROJECT = `/api/projects/${project_id}/`
const SURVEYS = `${PROJECT}surveys/`
const QUESTION = { type: 'open', question: 'How was it?' }
const DAY = '2026-05-0'

let made = 0
const create = async (body: object = {}) => {
  made += 1
  const survey = { type: 'popover', name: `Survey ${made}`, questions: [QUESTION], ...body }
  return manage(world, 'POST', SURVEYS, survey)
}
const read = async (path: string) => (await manage(world, 'GET', `${SURVEYS}${path}`)).body
const patch = (id: string, body: object) => manage(world, 'PATCH', `${SURVEYS}${id}/`, body)
const post = (path: string, body?: object) => manage(world, 'POST', `${SURVEYS}${path}`, body)

type Sent = {
  readonly name: string
  readonly who: string
  readonly day: number
  readonly more?: object
}
const told = (id: string, { name, who, day, more = {} }: Sent) => ({
  event: `survey ${name}`,
  distinct_id: who,
  timestamp: `${DAY}${day}T12:00:00Z`,
  properties: { $survey_id: id, ...more },
})

describe('what a survey asks', () => {
  test('has an id per question, which stays', async () => {
    const { body } = await create({ questions: [QUESTION, { ...QUESTION, id: 'mine' }] })
    const questions = body['questions'] as { id: string }[]
    expect(questions.map(({ id }) => id)).toEqual([
      expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown as string,
      'mine',
    ])
    const changed = [...questions, { ...QUESTION, question: 'Why?' }]
    const { body: after } = await patch(String(body['id']), { questions: changed })
    expect((after['questions'] as { id: string }[]).slice(0, 2)).toEqual(questions)
  })

  test('is cleaned of markup that acts, in every language', async () => {
    const { body } = await create({
      questions: [
        {
          ...QUESTION,
          question: '<b>How</b><script>x</script>?',
          description: '<p onclick="x">why</p>',
          descriptionContentType: 'html',
          buttonText: 'Send<script>x</script>',
          lowerBoundLabel: 'Bad<script>x</script>',
          upperBoundLabel: 'Good<script>x</script>',
          choices: ['a', 'b'],
          translations: {
            fr: {
              question: '<i onload=x>Comment</i>',
              buttonText: 'Envoyer<script>x</script>',
              choices: ['<b>un</b>', 'deux<script>x</script>'],
            },
          },
        },
        { ...QUESTION, translations: { fr: { question: 'Quoi', choices: ['without any'] } } },
      ],
      appearance: { thankYouMessageHeader: '<h1>Thanks<iframe></iframe></h1>', color: '<b>' },
      translations: {
        fr: {
          name: 'Enquête<script>x</script>',
          thankYouMessageDescription: '<script>x</script>Merci',
          thankYouMessageCloseButtonText: 'Fermer<script>x</script>',
        },
      },
    })
    expect(body).toMatchObject({
      questions: [
        {
          question: '<b>How</b>?',
          description: '<p>why</p>',
          buttonText: 'Send',
          lowerBoundLabel: 'Bad',
          upperBoundLabel: 'Good',
          translations: {
            fr: {
              question: '<i>Comment</i>',
              buttonText: 'Envoyer',
              choices: ['<b>un</b>', 'deux'],
            },
          },
        },
        { translations: { fr: { question: 'Quoi' } } },
      ],
      appearance: { thankYouMessageHeader: '<h1>Thanks</h1>', color: '<b>' },
      translations: {
        fr: {
          name: 'Enquête',
          thankYouMessageDescription: 'Merci',
          thankYouMessageCloseButtonText: 'Fermer',
        },
      },
    })
    const [, second] = body['questions'] as { translations: object }[]
    expect(second?.translations).toEqual({ fr: { question: 'Quoi' } })
  })

  test('and everything else that is said of it is kept and told to pages', async () => {
    const fields = {
      enable_partial_responses: true,
      enable_iframe_embedding: false,
      form_content: { title: 'x' },
      translations: { fr: { name: 'Enquête' } },
      response_sampling_start_date: '2026-05-01T00:00:00Z',
      response_sampling_interval_type: 'week',
      response_sampling_interval: 2,
      response_sampling_limit: 100,
      response_sampling_daily_limits: [{ date: '2026-05-01', daily_response_limit: 5 }],
    }
    const { body } = await create(fields)
    expect(body).toMatchObject({
      ...fields,
      user_access_level: 'editor',
      feature_flag_keys: [
        { key: 'linked_flag_key', value: null },
        { key: 'targeting_flag_key', value: null },
        {
          key: 'internal_targeting_flag_key',
          value: expect.stringContaining('survey-targeting-') as string,
        },
      ],
    })
    const answer = await world.send(`/api/surveys/?token=${world.first.api_token}`)
    const { surveys } = (await answer.json()) as { surveys: { id: string }[] }
    expect(surveys.find(({ id }) => id === body['id'])).toMatchObject({
      enable_partial_responses: true,
      translations: { fr: { name: 'Enquête' } },
    })
  })

  const asked = (member: object) => ({ questions: [{ ...QUESTION, ...member }] })
  test.each<[object, string]>([
    [asked({ link: 'javascript:alert(1)' }), 'questions__0__link'],
    [asked({ link: 'http://plain.example' }), 'questions__0__link'],
    [asked({ link: 'mailto:nobody' }), 'questions__0__link'],
    [asked({ choices: ['a', ' '] }), 'questions__0__choices'],
    [
      asked({ translations: { fr: { link: 'javascript:alert(1)' } } }),
      'questions__0__translations__link',
    ],
    [
      asked({ choices: ['a', 'b'], translations: { fr: { choices: ['un'] } } }),
      'questions__0__translations__choices',
    ],
    [asked({ descriptionContentType: 'pdf' }), 'questions__0__descriptionContentType'],
    [{ appearance: { surveyPopupDelaySeconds: -1 } }, 'appearance__surveyPopupDelaySeconds'],
    [{ appearance: { whiteLabel: 'yes' } }, 'appearance__whiteLabel'],
    [{ enable_partial_responses: 'perhaps' }, 'enable_partial_responses'],
  ])('%j is refused for its %s', async (body, attr) => {
    expect(await create(body)).toMatchObject({ status: 400, body: { attr } })
  })

  test('is not both shuffled and branching, which clients cannot do', async () => {
    const branching = asked({ branching: { type: 'end' } })
    const shuffled = { appearance: { shuffleQuestions: true } }
    const cannot = { status: 400, body: { code: 'invalid_input' } }
    expect(await create({ ...branching, ...shuffled })).toMatchObject(cannot)
    const { body: one } = await create(branching)
    expect(await patch(String(one['id']), shuffled)).toMatchObject(cannot)
    const { body: other } = await create(shuffled)
    expect(await patch(String(other['id']), branching)).toMatchObject(cannot)
    expect((await patch(String(other['id']), asked({ branching: null }))).status).toBe(200)
  })

  test('is for a variant of its linked flag only, nobody would be asked for another', async () => {
    const variants = ['control', 'new'].map((key) => ({ key, rollout_percentage: 50 }))
    const flag = { key: 'asked', filters: { groups: [], multivariate: { variants } } }
    const { body: linked } = await manage(world, 'POST', `${PROJECT}feature_flags/`, flag)
    const { body: bare } = await manage(world, 'POST', `${PROJECT}feature_flags/`, { key: 'bare' })
    const to = (linkedFlagVariant: string, linked_flag_id: unknown) =>
      create({ conditions: { linkedFlagVariant }, linked_flag_id })
    const cannot = { status: 400, body: { attr: 'conditions' } }
    expect(await to('old', linked['id'])).toMatchObject(cannot)
    expect(await to('old', bare['id'])).toMatchObject(cannot)
    expect(await to('new', null)).toMatchObject(cannot)
    expect((await to('any', bare['id'])).status).toBe(201)
    const { body } = await to('new', linked['id'])
    const turn = (linkedFlagVariant: string) =>
      patch(String(body['id']), { conditions: { linkedFlagVariant } })
    expect(await turn('old')).toMatchObject(cannot)
    expect((await turn('control')).status).toBe(200)
  })

  test.each(['https://a.example/x', 'mailto:me@a.example', ''])('may link to %j', async (link) => {
    expect((await create(asked({ link }))).status).toBe(201)
  })
})

describe('a survey', () => {
  test('is launched and stopped in one word', async () => {
    const { body } = await create()
    const id = String(body['id'])
    expect((await post(`${id}/stop/`)).status).toBe(400)
    const { body: launched } = await post(`${id}/launch/`)
    expect(launched).toMatchObject({ end_date: null, internal_targeting_flag: { active: true } })
    expect(launched['start_date']).not.toBeNull()
    expect((await post(`${id}/launch/`)).body['start_date']).toBe(launched['start_date'])
    const { body: stopped } = await post(`${id}/stop/`)
    expect(stopped['internal_targeting_flag']).toMatchObject({ active: false })
    expect((await post(`${id}/stop/`)).body['end_date']).toBe(stopped['end_date'])
    expect((await post(`${id}/launch/`)).body['end_date']).toBeNull()
    await patch(id, { archived: true })
    expect((await post(`${id}/launch/`)).status).toBe(400)
  })

  test('is found by type, ids and what it is about', async () => {
    const one = await create({ type: 'api', description: 'About Onboarding' })
    const two = await create({ type: 'api' })
    const idsOf = async (query: string) =>
      ((await read(query))['results'] as { id: string }[]).map(({ id }) => id)
    const [first, second] = [String(one.body['id']), String(two.body['id'])]
    expect(await idsOf('?type=api')).toEqual([second, first])
    expect(await idsOf(`?ids=${first},x`)).toEqual([first])
    expect(await idsOf('?search=onboard')).toEqual([first])
  })

  test('is copied into other projects, all or none', async () => {
    const { body: project } = await manage(world, 'POST', '/api/projects/', { name: 'other' })
    const { body: third } = await manage(world, 'POST', '/api/projects/', { name: 'third' })
    const { body } = await create({
      start_date: '2026-01-01T00:00:00Z',
      conditions: { url: 'x', actions: { values: [{ id: 1 }] } },
    })
    const id = String(body['id'])
    const theirs = `/api/projects/${String(project['id'])}/surveys/`
    const copy = (target_team_ids: unknown) =>
      post(`${id}/duplicate_to_projects/`, { target_team_ids })
    for (const wrong of [[project['id'], 9999], [], 'all']) {
      expect(await copy(wrong)).toMatchObject({ status: 400, body: { attr: 'target_team_ids' } })
    }
    expect((await manage(world, 'GET', theirs)).body['count']).toBe(0)
    const copied = await copy([project['id'], third['id']])
    expect(copied).toMatchObject({
      status: 201,
      body: { count: 2, created_surveys: [{ team_id: project['id'] }, { team_id: third['id'] }] },
    })
    const { body: list } = await manage(world, 'GET', theirs)
    expect(list['results']).toMatchObject([{ start_date: null, conditions: { url: 'x' } }])
    const [survey] = list['results'] as { questions: { id: string }[]; conditions: object }[]
    expect(survey?.conditions).toEqual({ url: 'x' })
    expect(survey?.questions[0]?.id).not.toBe((body['questions'] as { id: string }[])[0]?.id)
  })
})

describe('what came back', () => {
  test('is counted by who, in a span of time, once per submission', async () => {
    const { body } = await create()
    const id = String(body['id'])
    const submission = (text: string) => ({ $survey_submission_id: 's1', $survey_response: text })
    await capture(
      world,
      told(id, { name: 'shown', who: 'a', day: 1 }),
      told(id, { name: 'shown', who: 'b', day: 1 }),
      told(id, { name: 'shown', who: 'c', day: 2 }),
      told(id, { name: 'shown', who: 'd', day: 2 }),
      told(id, { name: 'sent', who: 'a', day: 1, more: submission('half') }),
      told(id, { name: 'sent', who: 'a', day: 2, more: submission('whole') }),
      told(id, { name: 'dismissed', who: 'b', day: 1 }),
      told(id, { name: 'sent', who: 'b', day: 2 }),
      told(id, {
        name: 'dismissed',
        who: 'c',
        day: 2,
        more: { $survey_partially_completed: true },
      }),
      told(id, { name: 'dismissed', who: 'd', day: 2 }),
    )
    expect(await read(`${id}/stats/`)).toMatchObject({
      survey_id: id,
      start_date: null,
      end_date: null,
      stats: {
        'survey shown': {
          total_count: 4,
          unique_persons: 4,
          total_count_only_seen: 0,
          unique_persons_only_seen: 1,
        },
        'survey dismissed': { total_count: 2, unique_persons: 1 },
        'survey sent': { total_count: 2, unique_persons: 2 },
      },
      rates: {
        response_rate: 50,
        dismissal_rate: 50,
        unique_users_response_rate: 50,
        unique_users_dismissal_rate: 25,
      },
    })
    const first_day = await read(
      `${id}/stats/?date_from=${DAY}1T00:00:00Z&date_to=${DAY}1T23:59:59Z`,
    )
    expect(first_day['stats']).toMatchObject({
      'survey shown': { total_count: 2 },
      'survey dismissed': { total_count: 1, unique_persons: 1 },
      'survey sent': { total_count: 0 },
    })
    expect((await read('responses_count/'))[id]).toBe(2)
    const everything = (await read('stats/'))['stats'] as Record<string, { total_count: number }>
    await patch(id, { archived: true })
    const others = (await read('stats/'))['stats'] as Record<string, { total_count: number }>
    const shown = [everything, others].map((stats) => stats['survey shown']?.total_count ?? 0)
    expect((shown[0] ?? 0) - (shown[1] ?? 0)).toBe(4)
  })

  test('is counted for each survey, also where several have answers of one submission', async () => {
    const ids = [await create(), await create()].map(({ body }) => String(body['id']))
    const more = { $survey_submission_id: 'of two surveys' }
    const sent = ids.map((id, at) => told(id, { name: 'sent', who: 'twice', day: at + 1, more }))
    await capture(world, ...sent)
    const counts = await read('responses_count/')
    for (const id of ids) {
      expect((await read(`${id}/stats/`))['stats']).toMatchObject({
        'survey sent': { total_count: 1, unique_persons: 1 },
      })
      expect(await read(`${id}/responses/`)).toMatchObject({ results: { length: 1 } })
      expect(counts[id]).toBe(1)
    }
  })

  test('is nothing at first', async () => {
    const { body } = await create()
    const none = { total_count: 0, unique_persons: 0, first_seen: null, last_seen: null }
    expect(await read(`${String(body['id'])}/stats/`)).toMatchObject({
      stats: { 'survey shown': none, 'survey dismissed': none, 'survey sent': none },
      rates: {
        response_rate: 0,
        dismissal_rate: 0,
        unique_users_response_rate: 0,
        unique_users_dismissal_rate: 0,
      },
    })
    expect((await read(`${String(body['id'])}/responses/`))['results']).toEqual([])
  })

  test.each([
    ['stats/?date_from=soon', 'date_from'],
    [`stats/?date_from=${DAY}2&date_to=${DAY}1`, 'date_from'],
    ['stats/?date_to=2026-13-01', 'date_to'],
  ])('of %s is refused for its %s', async (path, attr) => {
    expect(await manage(world, 'GET', `${SURVEYS}${path}`)).toMatchObject({
      status: 400,
      body: { attr },
    })
  })

  test('is listed answer by answer, and put away', async () => {
    const { body } = await create({
      questions: [
        { ...QUESTION, id: 'q1' },
        { ...QUESTION, id: 'q2' },
      ],
    })
    const id = String(body['id'])
    await capture(
      world,
      told(id, {
        name: 'sent',
        who: 'old',
        day: 1,
        more: { $survey_response: 'good', $survey_response_1: 5 },
      }),
      told(id, { name: 'sent', who: 'new', day: 2, more: { $survey_response_q2: ['a', 'b'] } }),
      told('other', { name: 'sent', who: 'new', day: 2 }),
    )
    const list = async (query = '') => {
      const { results } = await read(`${id}/responses/${query}`)
      return results as { uuid: string; distinct_id: string; archived: boolean; answers: object }[]
    }
    const [latest, first] = await list()
    expect(latest).toMatchObject({
      distinct_id: 'new',
      archived: false,
      answers: { q1: null, q2: ['a', 'b'] },
    })
    expect(first).toMatchObject({ distinct_id: 'old', answers: { q1: 'good', q2: 5 } })
    expect(await list('?limit=1&offset=1')).toEqual([first as never])
    expect((await read(`${id}/responses/?limit=1`))['next']).toContain('offset=1')
    expect(await list(`?since=${DAY}2`)).toHaveLength(1)
    const uuid = first?.uuid ?? ''
    expect((await post(`${id}/responses/${uuid}/archive/`)).status).toBe(204)
    await post(`${id}/responses/${uuid}/archive/`)
    expect(await read(`${id}/archived-response-uuids/`)).toEqual([uuid] as never)
    expect((await list()).map(({ archived }) => archived)).toEqual([false, true])
    expect(await list('?exclude_archived=true')).toHaveLength(1)
    const stats = await read(`${id}/stats/?exclude_archived=true`)
    expect(stats['stats']).toMatchObject({ 'survey sent': { total_count: 1 } })
    const counts = (query: string) => read(`responses_count/?survey_ids=${query}`)
    expect(await counts(`x,%20${id}%20`)).toEqual({ [id]: 2 })
    expect(await counts(`${id}&exclude_archived=true`)).toEqual({ [id]: 1 })
    expect(await counts('x')).toEqual({})
    expect((await post(`${id}/responses/${uuid}/unarchive/`)).status).toBe(204)
    expect(await read(`${id}/archived-response-uuids/`)).toEqual([] as never)
    expect((await post(`${id}/responses/x/archive/`)).status).toBe(404)
    expect((await read(`${id}/activity/`))['total_count']).toBe(3)
  })
})
