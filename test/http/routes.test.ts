/** The management API: every route asks who, what, whether, in that order; answers and refusals are JSON. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createApp, ROUTES } from '../../src/app.ts'
import { createApiKey } from '../../src/projects/keys/api-key.ts'
import { createOrganization, getOrganizationOwner } from '../../src/projects/organization.ts'
import { createProject } from '../../src/projects/settings/project.ts'
import { diskReader } from '../../src/serve/disk-space.ts'
import { openWorld, type World } from './world.ts'

let world: World
let other_id = ''
/** Keys by what they may do; each belongs to the owner of everything. */
let keys: Readonly<Record<'all' | 'none' | 'own' | 'other' | 'project_1', string>>

beforeAll(async () => {
  world = await openWorld()
  const now = new Date()
  const db = world.needs.control
  const own_id = world.first.organization_id
  other_id = createOrganization(db, { name: 'Other' }, now).id
  createProject(db, { organization_id: other_id, name: 'other' }, now)
  createProject(db, { organization_id: own_id, name: 'sibling' }, now)
  const key = (scopes: readonly string[], organization_id: string | null, project_id?: number) =>
    createApiKey(
      db,
      {
        user_id: getOrganizationOwner(db, own_id),
        label: 'test',
        scopes,
        organization_id,
        project_id: project_id ?? null,
      },
      now,
    ).value
  keys = {
    all: world.first.personal_api_key,
    none: key(['notebook:read'], null),
    own: key(['*'], own_id),
    other: key(['*'], other_id),
    project_1: key(['*'], own_id, 1),
  }
})
afterAll(() => world.close())

const pathOf = (path: string, organization_id: string, project_id: string): string =>
  path.replace(':organization_id', organization_id).replace(':project_id', project_id)

type Body = {
  readonly [name: string]: unknown
  readonly results: readonly Readonly<Record<string, unknown>>[]
}

const bodyOf = async (answer: Response): Promise<Body> => JSON.parse(await answer.text())

const ask = (method: string, path: string, key: string | null, init: RequestInit = {}) =>
  world.send(path, {
    ...init,
    method,
    headers: key === null ? {} : { Authorization: `Bearer ${key}` },
  })

/** Every route under every name it has. */
const EVERY = ROUTES.flatMap(({ method, paths, scope }) =>
  paths.map((path) => ({ method, path, scope })),
)

/** A method that nothing under the path answers to. */
const strangeMethod = (path: string): string =>
  ['PUT', 'DELETE', 'PATCH', 'POST'].find(
    (method) => !EVERY.some((route) => route.path === path && route.method === method),
  ) ?? 'OPTIONS'

describe('every route of the management API', () => {
  test.each(EVERY)('$method $path demands a key', async ({ method, path }) => {
    // Neither the object nor the body matters before that.
    for (const project_id of ['1', '99']) {
      const target = pathOf(path, world.first.organization_id, project_id)
      for (const key of [null, 'phx_nobody', `${keys.all}x`]) {
        const answer = await ask(method, target, key, method === 'GET' ? {} : { body: '{' })
        expect(answer.status).toBe(401)
        expect(answer.headers.get('www-authenticate')).toBe('Bearer')
        expect(await answer.json()).toEqual({
          type: 'authentication_error',
          code: key === null ? 'not_authenticated' : 'authentication_failed',
          detail:
            key === null
              ? 'Authentication credentials were not provided.'
              : 'Personal API key found in request Authorization header is invalid.',
          attr: null,
        })
      }
    }
  })

  test.each(EVERY)(
    '$method $path takes the key from the Bearer header only',
    async ({ method, path }) => {
      const target = pathOf(path, world.first.organization_id, '1')
      const body = JSON.stringify({ personal_api_key: keys.all, api_key: keys.all })
      const answer = await world.send(`${target}?personal_api_key=${keys.all}`, {
        method,
        headers: {
          Cookie: `key=${keys.all}`,
          'X-Api-Key': keys.all,
          Authorization: `Basic ${keys.all}`,
        },
        ...(method === 'GET' ? {} : { body }),
      })
      expect(answer.status).toBe(401)
    },
  )

  test.each(EVERY)('$method $path demands its scope, $scope', async ({ method, path, scope }) => {
    const target = pathOf(path, world.first.organization_id, '1')
    const answer = await ask(method, target, keys.none, method === 'GET' ? {} : { body: '{' })
    expect(answer.status).toBe(403)
    expect(await answer.json()).toEqual({
      type: 'authentication_error',
      code: 'permission_denied',
      detail: `API key missing required scope '${scope}'`,
      attr: null,
    })
  })

  const nested = EVERY.filter(({ path }) => /:(organization|project)_id/.test(path))
  test.each(nested)(
    "$method $path hides other organizations' objects",
    async ({ method, path }) => {
      const detail = expect.stringMatching(/^(Project|Organization) not found\.$/)
      const targets = [
        pathOf(path, other_id, '2'),
        pathOf(path, other_id.toUpperCase(), '2'),
        pathOf(path, crypto.randomUUID(), '99'),
        pathOf(path, '1', '2.0'),
        pathOf(path, "' or 1=1 --", '%32%00'),
      ]
      for (const target of targets) {
        const answer = await ask(method, target, keys.own)
        expect(answer.status).toBe(404)
        expect(await answer.json()).toEqual({
          type: 'invalid_request',
          code: 'not_found',
          detail,
          attr: null,
        })
      }
    },
  )

  test.each(EVERY)(
    '$method $path is the same without its final slash',
    async ({ method, path }) => {
      const target = pathOf(path, world.first.organization_id, '1').replace(/\/$/, '')
      const answer = await ask(method, target, keys.none)
      expect(answer.status).toBe(403)
    },
  )

  test('with parameters is found again as it was found first', async () => {
    const asked = [
      ['GET', '/api/projects/1/'],
      ['GET', '/api/projects/1'],
      ['GET', '/api/projects/%31/'],
      ['GET', '/api/projects/99/'],
      ['GET', '/api/projects/1%2F/'],
      ['HEAD', '/api/projects/1/'],
      ['POST', '/api/projects/1/'],
      ['GET', `/api/projects/1/?${'a'.repeat(400)}`],
    ] as const
    const findAll = async (): Promise<readonly unknown[][]> => {
      const found: unknown[][] = []
      for (const [method, path] of asked) {
        const answer = await ask(method, path, keys.all)
        found.push([answer.status, answer.headers.get('allow'), await answer.text()])
      }
      return found
    }
    const first = await findAll()
    expect(first.map(([status]) => status)).toEqual([200, 200, 200, 404, 404, 200, 405, 200])
    expect(await findAll()).toEqual(first)
  })

  test.each(EVERY)('$path answers other methods 405 with what is allowed', async (route) => {
    const { method, path } = route
    const strange = strangeMethod(path)
    const answer = await ask(strange, pathOf(path, world.first.organization_id, '1'), keys.all)
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')?.split(', ')).toContain(method)
    expect(await answer.json()).toMatchObject({
      type: 'invalid_request',
      code: 'method_not_allowed',
      detail: `Method "${strange}" not allowed.`,
    })
  })

  test.each(EVERY)(
    '$method $path is not for web pages of other origins',
    async ({ method, path }) => {
      const answer = await world.send(pathOf(path, '@current', '@current'), {
        method,
        headers: { Authorization: `Bearer ${keys.none}`, Origin: 'https://evil.example' },
      })
      expect(answer.headers.has('access-control-allow-origin')).toBe(false)
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect(answer.headers.get('content-type')).toBe('application/json')
    },
  )
})

describe('a key limited to a project', () => {
  test('reads that project, under every name', async () => {
    const paths = [
      '/api/projects/1/',
      '/api/environments/1/',
      '/api/projects/@current',
      `/api/organizations/${world.first.organization_id}/projects/1/`,
    ]
    for (const path of paths) {
      const answer = await ask('GET', path, keys.project_1)
      expect([answer.status, (await bodyOf(answer))['id']]).toEqual([200, 1])
    }
  })

  test.each([
    ['a sibling', '/api/projects/3/', 403],
    ['the organization', '/api/organizations/@current/', 403],
    ["the organization's list of projects", '/api/organizations/@current/projects/', 403],
    ["another organization's project", '/api/projects/2/', 404],
  ])('does not read %s', async (_what, path, status) => {
    expect((await ask('GET', path, keys.project_1)).status).toBe(status)
  })
})

describe('reading', () => {
  test('a project answers every field of the interface', async () => {
    const answer = await ask('GET', '/api/projects/1/', keys.all)
    const body = await bodyOf(answer)
    // Terraform sends and reads one more.
    const fields = [...PROJECT_FIELDS, 'cookieless_server_hash_mode']
    expect(Object.keys(body).toSorted()).toEqual(fields.toSorted())
    expect(body).toMatchObject({
      id: 1,
      organization: world.first.organization_id,
      api_token: world.first.api_token,
      name: 'Default project',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      effective_membership_level: 15,
      has_group_types: false,
      timezone: 'UTC',
    })
  })

  test('a project tells whether it has groups', async () => {
    const event = {
      api_key: world.first.api_token,
      event: '$groupidentify',
      distinct_id: 'g',
      properties: { $group_type: 'company', $group_key: 'acme' },
    }
    await world.send('/capture/', { method: 'POST', body: JSON.stringify(event) })
    const answer = await ask('GET', '/api/projects/1/', keys.all)
    expect(await answer.json()).toMatchObject({ has_group_types: true })
  })

  test('lists of projects hold reduced items, a page at a time', async () => {
    const path = `/api/organizations/${world.first.organization_id}/projects/`
    const page = async (query: string) => bodyOf(await ask('GET', path + query, keys.all))
    const all = await page('')
    expect(all).toMatchObject({ count: 2, next: null, previous: null })
    expect(all.results.map((item) => item['id'])).toEqual([1, 3])
    expect(Object.keys(all.results[0] ?? {})).toEqual([
      'id',
      'uuid',
      'organization',
      'api_token',
      'name',
      'completed_snippet_onboarding',
      'has_completed_onboarding_for',
      'ingested_event',
      'is_demo',
      'timezone',
      'access_control',
    ])
    const address = `https://tidemark.example${path}`
    expect(await page('?limit=1&search=a%26b')).toMatchObject({
      count: 2,
      next: `${address}?limit=1&search=a%26b&offset=1`,
      previous: null,
      results: [{ id: 1 }],
    })
    expect(await page('?limit=1&offset=1')).toMatchObject({
      next: null,
      previous: `${address}?limit=1`,
      results: [{ id: 3 }],
    })
    for (const odd of ['?limit=0', '?limit=-1', '?limit=x&offset=y', '?offset=-3']) {
      expect((await page(odd)).results).toHaveLength(2)
    }
    expect(await page('?offset=9')).toMatchObject({ count: 2, results: [] })
  })

  test('organizations and the user behind the key', async () => {
    const organization = await (await ask('GET', '/api/organizations/@current/', keys.all)).json()
    expect(organization).toMatchObject({
      id: world.first.organization_id,
      name: 'Default organization',
      membership_level: 15,
      member_count: 1,
      projects: [{ id: 1 }, { id: 3 }],
    })
    const list = await bodyOf(await ask('GET', '/api/organizations/', keys.all))
    expect(list.results.map((item) => item['id'])).toEqual([world.first.organization_id, other_id])
    const user = await (await ask('GET', '/api/users/@me/', keys.other)).json()
    expect(user).toMatchObject({
      first_name: 'Owner',
      organization: { id: other_id },
      organizations: [{ id: other_id, name: 'Other' }],
      team: { id: 2 },
    })
    expect(JSON.stringify(user)).not.toContain('key_hash')
  })
})

describe('what is nowhere', () => {
  test.each([
    '/index.html',
    '/api/',
    '/api/nothing/',
    '/api/projects/1/nothing/',
    '/capture/x',
    '/API/projects/1/',
  ])('GET %s answers 404', async (path) => {
    const answer = await ask('GET', path, keys.all)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toEqual({
      type: 'invalid_request',
      code: 'not_found',
      detail: 'Endpoint not found.',
      attr: null,
    })
  })
})

describe('health', () => {
  test.each(['/_health', '/_readiness', '/_readyz', '/_liveness', '/_livez'])(
    '%s answers 200',
    async (path) => {
      const answer = await world.send(path)
      expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }])
    },
  )

  test('answers 503 as soon as the server is told to stop, while liveness goes on', async () => {
    const stopping = await openWorld({ isStopping: () => true })
    expect((await stopping.send('/_readiness')).status).toBe(503)
    expect((await stopping.send('/_health')).status).toBe(503)
    expect((await stopping.send('/_liveness')).status).toBe(200)
    expect((await stopping.send('/_livez')).status).toBe(200)
    const answer = await stopping.send('/_readyz')
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        status: 'unavailable',
        reasons: [
          { check: 'stop', detail: 'The server is stopping: it answers what it has received.' },
        ],
      },
    ])
    await stopping.close()
  })

  test('is not ready while the disk has less room than the setting asks for', async () => {
    const MIB = 1024 * 1024
    const disk = {
      requireWritable() {},
      read: () => ({ bytes: 900 * MIB, free_bytes: 99 * MIB, free_bytes_min: 100 * MIB }),
    }
    const full = await openWorld({ disk })
    const answer = await full.send('/_readyz')
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        status: 'unavailable',
        reasons: [
          {
            check: 'disk',
            detail:
              'The disk of the data folder has 99 MiB left; at least 100 are needed (TIDEMARK_DISK_FREE_MIN_MB).',
          },
        ],
      },
    ])
    expect((await full.send('/_readiness')).status).toBe(200)
    await full.close()
  })

  test('is not ready while the data folder is gone', async () => {
    const gone = await openWorld({ disk: diskReader('/nowhere', 0) })
    const answer = await gone.send('/_readyz')
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        status: 'unavailable',
        reasons: [{ check: 'disk', detail: 'The data folder cannot be written (ENOENT).' }],
      },
    ])
    await gone.close()
  })

  test('says that queries cannot be answered, and why, while liveness and events go on', async () => {
    const broken = await openWorld()
    while (broken.engine.state.pid === null) await Bun.sleep(5)
    const folder = join(broken.data_dir, 'tmp')
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'in the way')
    process.kill(broken.engine.state.pid, 'SIGKILL')
    while (broken.engine.state.unready === null) await Bun.sleep(5)
    const answer = await broken.send('/_readiness')
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { status: 'unavailable', reason: 'The query engine does not start.' },
    ])
    const with_reasons = await broken.send('/_readyz')
    expect([with_reasons.status, await with_reasons.json()]).toEqual([
      503,
      {
        status: 'unavailable',
        reasons: [{ check: 'queries', detail: 'The query engine does not start.' }],
      },
    ])
    expect((await broken.send('/_health')).status).toBe(200)
    expect((await broken.send('/_liveness')).status).toBe(200)
    await broken.close()
  })
})

/** interface.md §2.2. */
const PROJECT_FIELDS =
  `id uuid organization api_token name product_description created_at updated_at
effective_membership_level has_group_types live_events_token app_urls slack_incoming_webhook anonymize_ips
completed_snippet_onboarding ingested_event test_account_filters test_account_filters_default_checked
path_cleaning_filters is_demo timezone data_attributes person_display_name_properties correlation_config
autocapture_opt_out autocapture_exceptions_opt_in autocapture_web_vitals_opt_in
autocapture_web_vitals_allowed_metrics autocapture_exceptions_errors_to_ignore capture_console_log_opt_in
capture_performance_opt_in session_recording_opt_in session_recording_sample_rate
session_recording_minimum_duration_milliseconds session_recording_linked_flag
session_recording_network_payload_capture_config session_replay_config survey_config access_control
week_start_day primary_dashboard live_events_columns recording_domains person_on_events_querying_enabled
inject_web_apps extra_settings modifiers default_modifiers has_completed_onboarding_for surveys_opt_in
heatmaps_opt_in product_intents flags_persistence_default`.split(/\s+/)

test('every answer waits until the disk has the change, except of calls that may only read', async () => {
  let waits = 0
  const settleControl = (): null => {
    waits += 1
    return null
  }
  const app = createApp({ ...world.needs, settleControl })
  const found: unknown[] = []
  for (const { method, paths, scope } of ROUTES.flat()) {
    waits = 0
    // Without a key, which a route finds out after it is called.
    await app.handle(new Request(`http://host${paths[0] ?? ''}`, { method }))
    const may_change = method !== 'GET' || scope.endsWith(':write')
    if (waits !== (may_change ? 1 : 0)) found.push([method, paths[0], waits])
  }
  expect(found).toEqual([])
})
