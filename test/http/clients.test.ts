/**
 * The calls of clients that others wrote, in their order: the agent toolkit (and the MCP tools made of it), the Terraform
 * provider, Zapier, Python scripts, curl. Each looks at what that client reads.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { capture, manage } from './targeting/flag-world.ts'
import { openWorld, type World } from './world.ts'

const PROJECT = '/api/projects/1/'
const TRENDS = {
  kind: 'InsightVizNode',
  source: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] },
}

let world: World
beforeAll(async () => {
  world = await openWorld()
  await capture(world, { event: 'paid', distinct_id: 'a' })
})
afterAll(() => world.close())

const call = (method: string, path: string, body?: object) => manage(world, method, path, body)

type Made = Awaited<ReturnType<typeof call>>['body']

async function make(path: string, body: object): Promise<Made> {
  const made = await call('POST', `${PROJECT}${path}`, body)
  expect([path, made.status]).toEqual([path, 201])
  return made.body
}

async function read(path: string): Promise<Made> {
  const answer = await call('GET', path)
  expect([path, answer.status]).toEqual([path, 200])
  return answer.body
}

describe('the agent toolkit', () => {
  test('finds its key, projects and organizations before it loads any tool', async () => {
    expect(await read('/api/personal_api_keys/@current/')).toMatchObject({
      scopes: ['*'],
      scoped_teams: [],
      scoped_organizations: [],
    })
    const made = await call('POST', '/api/personal_api_keys/', {
      label: 'toolkit',
      scopes: ['*'],
      scoped_teams: [],
      scoped_organizations: [],
    })
    expect(made).toMatchObject({
      status: 201,
      body: { scoped_teams: [], scoped_organizations: [] },
    })
    expect(await read('/api/organizations/')).toMatchObject({
      results: [{ name: expect.any(String) }],
    })
    expect(await read('/api/organizations/@current/projects/')).toMatchObject({
      results: [{ id: 1 }],
    })
  })

  test('makes, starts and ends an experiment', async () => {
    const experiment = await make('experiments/', {
      name: 'Prices',
      feature_flag_key: 'prices',
      metrics: [],
      metrics_secondary: [],
      saved_metrics_ids: null,
      parameters: {
        feature_flag_variants: [
          { key: 'control', rollout_percentage: 50 },
          { key: 'test', rollout_percentage: 50 },
        ],
      },
    })
    expect(experiment).toHaveProperty('saved_metrics_ids')
    const path = `${PROJECT}experiments/${String(experiment['id'])}/`
    const started = await call('PATCH', path, { start_date: '2024-01-01T00:00:00Z' })
    expect(started).toMatchObject({ status: 200, body: { status: 'running' } })
    expect((await call('PATCH', path, { deleted: true })).status).toBe(200)
  })

  test('saves a query, puts it on a dashboard, asks it and removes both', async () => {
    const insight = await make('insights/', { name: 'Paid', query: TRENDS, saved: true })
    const dashboard = await make('dashboards/', { name: 'Money', pinned: false, tags: [] })
    const paths = {
      insight: `${PROJECT}insights/${String(insight['id'])}/`,
      dashboard: `${PROJECT}dashboards/${String(dashboard['id'])}/`,
    }
    await call('PATCH', paths.insight, { dashboards: [dashboard['id']] })
    expect(await read(paths.dashboard)).toMatchObject({
      tiles: [{ insight: { short_id: insight['short_id'] } }],
    })
    const asked = await call('POST', `${PROJECT}query/`, { query: TRENDS, name: 'toolkit' })
    expect(asked).toMatchObject({ status: 200, body: { results: [{ count: 1 }] } })
    for (const path of Object.values(paths)) {
      expect((await call('PATCH', path, { deleted: true })).status).toBe(200)
      expect((await call('GET', path)).status).toBe(404)
    }
  })

  test('writes a survey, reads its figures and archives it', async () => {
    const questions = [{ type: 'open', question: 'Why?' }]
    const survey = await make('surveys/', { name: 'Why', type: 'popover', questions })
    expect(await read(`${PROJECT}surveys/stats/`)).toHaveProperty('stats')
    const path = `${PROJECT}surveys/${String(survey['id'])}/`
    expect(await read(`${path}stats/`)).toHaveProperty('stats')
    expect((await call('PATCH', path, { archived: true })).status).toBe(200)
  })
})

describe('the Terraform provider', () => {
  test.each([
    ['insights/', { name: 'Paid', query: TRENDS, tags: ['terraform'] }],
    ['dashboards/', { name: 'Money', tags: ['terraform'] }],
    ['annotations/', { content: 'x', date_marker: '2024-01-01T00:00:00Z' }],
  ])('does not find what it destroyed in %s', async (path, body) => {
    const made = await make(path, body)
    const address = `${PROJECT}${path}${String(made['id'])}/`
    expect(await read(address)).toMatchObject({ id: made['id'] })
    expect((await call('PATCH', address, { deleted: true })).status).toBe(200)
    expect((await call('GET', address)).status).toBe(404)
  })

  test('reads the members of an organization', async () => {
    expect(await read('/api/organizations/@current/members/')).toMatchObject({
      results: [
        {
          updated_at: expect.any(String),
          is_2fa_enabled: false,
          has_social_auth: false,
          last_login: null,
        },
      ],
    })
  })
})

describe('Zapier', () => {
  test('subscribes to an action, and ends it', async () => {
    const action = await make('actions/', { name: 'Zap', steps: [{ event: 'paid' }] })
    const target = 'https://hooks.zapier.com/hooks/standard/1/'
    const hook = await make('hooks/', {
      target,
      event: 'action_performed',
      resource_id: action['id'],
    })
    expect(hook).toMatchObject({ target, event: 'action_performed', resource_id: action['id'] })
    const path = `${PROJECT}hooks/${String(hook['id'])}/`
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('DELETE', path)).status).toBe(404)
  })
})

describe('a Python script', () => {
  test('writes True and False into query strings', async () => {
    const saved = await make('insights/', { name: 'Kept', query: TRENDS, saved: true })
    expect(
      await read(`${PROJECT}insights/?saved=True&short_id=${String(saved['short_id'])}`),
    ).toMatchObject({
      count: 1,
    })
    for (const refresh of ['True', 'False', 'async_except_on_cache_miss']) {
      const path = `${PROJECT}insights/${String(saved['id'])}/?refresh=${refresh}`
      expect(await read(path)).toMatchObject({ id: saved['id'] })
    }
  })

  test('deletes persons in bulk and reads the answer as JSON', async () => {
    const answer = await call('POST', `${PROJECT}persons/bulk_delete/`, {
      distinct_ids: ['nobody'],
    })
    expect(answer).toMatchObject({ status: 202, body: { persons_found: 0 } })
  })

  test('asks at addresses from before there were projects', async () => {
    const events = encodeURIComponent('[{"id":"paid"}]')
    for (const path of [
      'person/',
      'event/',
      'cohort/',
      'annotation/',
      'action/',
      'element/',
      'insight/',
      'dashboard/',
      'feature_flag/',
      `insight/trend/?events=${events}`,
      `insight/funnel/correlation/?events=${events}`,
      'person/trends/?entity_id=paid&entity_type=events',
      `person/funnel/?funnel_step=1&events=${events}`,
    ]) {
      const headers = { Authorization: `Bearer ${world.first.personal_api_key}` }
      expect([path, (await world.send(`/api/${path}`, { headers })).status]).toEqual([path, 200])
    }
  })
})

describe('curl', () => {
  async function send(headers: Readonly<Record<string, string>>, body: FormData | string) {
    const key = { Authorization: `Bearer ${world.first.personal_api_key}` }
    const init = { method: 'PATCH', body, headers: { ...key, ...headers } }
    const answer = await world.send(PROJECT, init)
    return { status: answer.status, body: await answer.json() }
  }

  test('changes a project by a form, -d or -F', async () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
    expect(await send(form, 'name=By+form')).toMatchObject({
      status: 200,
      body: { name: 'By form' },
    })
    const parts = new FormData()
    parts.set('name', 'In parts')
    expect(await send({}, parts)).toMatchObject({ status: 200, body: { name: 'In parts' } })
  })

  test('with a key in the address is told where it belongs', async () => {
    const path = `/api/users/@me/?personal_api_key=${world.first.personal_api_key}`
    const answer = await world.send(path)
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('Authorization') })
  })
})
