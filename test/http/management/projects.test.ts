/** Projects over the wire: every operation of interface §4.4 and every field of §2.2. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { users } from '../../../src/projects/tables.ts'
import { openWorld, type World } from '../world.ts'

/** These wait for what other threads do, which a busy machine takes its time for. */
setDefaultTimeout(60_000)
/** Less than that, so that what is left is told. */
const ROWS_GONE_MS = 50_000

let world: World
let root = ''
beforeAll(async () => {
  world = await openWorld()
  root = `/api/organizations/${world.first.organization_id}/projects/`
})
afterAll(() => world.close())

type Json = Readonly<Record<string, unknown>>

async function ask(method: string, path: string, body?: unknown, key?: string) {
  const answer = await world.send(path, {
    method,
    headers: { Authorization: `Bearer ${key ?? world.first.personal_api_key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const json: Json = text === '' ? {} : JSON.parse(text)
  return { status: answer.status, json, text }
}

async function createProject(fields: Json = {}): Promise<Json> {
  const { status, json } = await ask('POST', root, fields)
  expect([status, json['code']]).toEqual([201, undefined])
  return json
}

const capture = (api_key: unknown) =>
  world.send('/capture/', {
    method: 'POST',
    body: JSON.stringify({ api_key, event: 'e', distinct_id: 'd' }),
  })

/** Field, default, values that are taken, values that are refused with their code. */
const FIELDS: readonly (readonly [
  field: string,
  fallback: unknown,
  taken: readonly unknown[],
  refused: readonly (readonly [value: unknown, code: string])[],
])[] = [
  [
    'name',
    'Default project',
    ['x', 'x'.repeat(200)],
    [
      ['', 'blank'],
      ['  ', 'blank'],
      [null, 'null'],
      ['x'.repeat(201), 'max_length'],
      [5, 'invalid_input'],
      [{ a: 1 }, 'invalid_input'],
    ],
  ],
  [
    'product_description',
    null,
    ['A shop', '', null],
    [
      [['x'], 'invalid_input'],
      ['x'.repeat(1001), 'max_length'],
    ],
  ],
  [
    'app_urls',
    [],
    [['https://a.example'], []],
    [
      ['https://a.example', 'invalid_input'],
      [[1], 'invalid_input'],
      [null, 'null'],
    ],
  ],
  [
    'slack_incoming_webhook',
    null,
    ['https://hooks.example/x', null],
    [
      [1, 'invalid_input'],
      ['x'.repeat(501), 'max_length'],
    ],
  ],
  [
    'anonymize_ips',
    false,
    [true, false],
    [
      ['perhaps', 'invalid_input'],
      [null, 'null'],
      [1, 'invalid_input'],
    ],
  ],
  ['completed_snippet_onboarding', false, [true], [['truth', 'invalid_input']]],
  [
    'test_account_filters',
    [
      {
        key: '$host',
        operator: 'not_regex',
        value: String.raw`^(localhost|127\.0\.0\.1)($|:)`,
        type: 'event',
      },
    ],
    [[], [{ key: 'a' }], { any: 1 }],
    [],
  ],
  [
    'test_account_filters_default_checked',
    null,
    [true, false, null],
    [['none of it', 'invalid_input']],
  ],
  ['path_cleaning_filters', [], [[{ regex: 'a', alias: 'b' }], null], []],
  ['is_demo', false, [true], [[null, 'null']]],
  [
    'timezone',
    'UTC',
    ['Europe/Berlin', 'US/Pacific', 'Asia/Kolkata', 'GMT'],
    [
      ['Mars/Olympus', 'invalid_choice'],
      ['europe/berlin', 'invalid_choice'],
      ['+02:00', 'invalid_choice'],
      ['', 'invalid_choice'],
      ["UTC' or 1=1", 'invalid_choice'],
      [null, 'null'],
      [{}, 'invalid_input'],
    ],
  ],
  ['data_attributes', ['data-attr'], [['a', 'b'], null], []],
  [
    'person_display_name_properties',
    null,
    [['email'], [], null],
    [
      ['email', 'invalid_input'],
      [[1], 'invalid_input'],
    ],
  ],
  ['correlation_config', {}, [{ excluded_person_property_names: ['a'] }, null], []],
  ['autocapture_opt_out', null, [true, false, null], [['x', 'invalid_input']]],
  ['autocapture_exceptions_opt_in', null, [true, null], [[0, 'invalid_input']]],
  ['autocapture_web_vitals_opt_in', null, [true, null], [[0, 'invalid_input']]],
  ['autocapture_web_vitals_allowed_metrics', null, [['LCP'], null], []],
  [
    'autocapture_exceptions_errors_to_ignore',
    null,
    [['a'], null],
    [
      ['a', 'invalid_input'],
      [[1], 'invalid_input'],
      [['x'.repeat(300)], 'invalid_input'],
    ],
  ],
  ['capture_console_log_opt_in', true, [false, null], [[1, 'invalid_input']]],
  ['capture_performance_opt_in', true, [false, null], [[1, 'invalid_input']]],
  ['session_recording_opt_in', false, [true], [[null, 'null']]],
  [
    'session_recording_sample_rate',
    null,
    [null],
    [
      ['1.5', 'max_value'],
      ['-1', 'invalid_input'],
      ['x', 'invalid_input'],
      ['0.123', 'invalid_input'],
      [true, 'invalid_input'],
    ],
  ],
  [
    'session_recording_minimum_duration_milliseconds',
    null,
    [0, 30_000, null],
    [
      [-1, 'min_value'],
      [30_001, 'max_value'],
      [1.5, 'invalid_input'],
      ['five', 'invalid_input'],
    ],
  ],
  [
    'session_recording_linked_flag',
    null,
    [{ id: 1, key: 'a' }, { id: 1, key: 'a', variant: 'b' }, null],
    [
      ['x', 'invalid_input'],
      [{ id: 1 }, 'invalid_input'],
      [{ id: 1, key: 'a', other: 1 }, 'invalid_input'],
      [[1], 'invalid_input'],
    ],
  ],
  [
    'session_recording_network_payload_capture_config',
    null,
    [{ recordBody: true }, { recordHeaders: true, recordBody: false }, null],
    [
      [{ other: 1 }, 'invalid_input'],
      ['x', 'invalid_input'],
    ],
  ],
  [
    'session_replay_config',
    null,
    [null, { record_canvas: true }],
    [
      [{ other: 1 }, 'invalid_input'],
      [{ ai_config: { other: 1 } }, 'invalid_input'],
      ['x', 'invalid_input'],
    ],
  ],
  ['survey_config', null, [{ appearance: { a: 1 } }, null], []],
  [
    'access_control',
    false,
    [true, false],
    [
      [null, 'null'],
      ['x', 'invalid_input'],
    ],
  ],
  [
    'week_start_day',
    null,
    [0, 1, null],
    [
      [2, 'invalid_choice'],
      ['one', 'invalid_input'],
      [-1, 'invalid_choice'],
    ],
  ],
  [
    'primary_dashboard',
    expect.any(Number),
    [null],
    [
      [999_999, 'does_not_exist'],
      ['one', 'invalid_input'],
    ],
  ],
  ['live_events_columns', null, [['event'], null], [['event', 'invalid_input']]],
  [
    'recording_domains',
    null,
    [['https://a.example', 'https://*.a.example'], [], null],
    [
      [['a.example'], 'invalid_input'],
      [['https://a.example/path'], 'invalid_input'],
      [['javascript:alert(1)'], 'invalid_input'],
    ],
  ],
  ['inject_web_apps', null, [true, null], [['x', 'invalid_input']]],
  ['extra_settings', null, [{ a: [1, { b: null }] }, 'text', 5, null], []],
  ['modifiers', null, [{ personsOnEventsMode: 'x' }, null], []],
  ['has_completed_onboarding_for', null, [{ product_analytics: true }, null], []],
  ['surveys_opt_in', null, [true, null], [['x', 'invalid_input']]],
  ['heatmaps_opt_in', null, [false, null], [['x', 'invalid_input']]],
  ['flags_persistence_default', null, [true, null], [['x', 'invalid_input']]],
  [
    'cookieless_server_hash_mode',
    null,
    [0, 1, 2, null],
    [
      [3, 'invalid_input'],
      ['x', 'invalid_input'],
    ],
  ],
]

describe('every field of a project', () => {
  test.each(FIELDS)('%s has its default, takes what is right and nothing else', async (...row) => {
    const [field, fallback, taken, refused] = row
    const made = await createProject()
    expect(made[field]).toEqual(fallback)
    const path = `${root}${String(made['id'])}/`
    for (const value of taken) {
      const { status, json } = await ask('PATCH', path, { [field]: value })
      expect([field, value, status, json[field]]).toEqual([field, value, 200, value])
      expect((await ask('GET', path)).json[field]).toEqual(value)
      const { updated_at: _at, live_events_token: _token, ...others } = json
      const { updated_at, live_events_token, ...before } = made
      expect(updated_at && live_events_token).toBeTruthy()
      expect({ ...others, [field]: null }).toEqual({ ...before, [field]: null })
    }
    for (const [value, code] of refused) {
      const { status, json } = await ask('PATCH', path, { [field]: value })
      expect([value, status, json['code']]).toEqual([value, 400, code])
      expect(String(json['attr']).split('__')[0]).toBe(field)
      expect((await ask('POST', root, { [field]: value })).status).toBe(400)
    }
    await ask('DELETE', path)
  })

  test('are all in the table', async () => {
    const made = await createProject()
    const told = new Set([...FIELDS.map(([field]) => field), ...READ_ONLY])
    expect(Object.keys(made).filter((name) => !told.has(name))).toEqual([])
  })

  test.each([
    ['0.5', '0.50'],
    [0.25, '0.25'],
    [1, '1.00'],
    ['0', '0.00'],
  ])('the sample rate %p is kept as %p', async (sent, kept) => {
    const made = await createProject({ session_recording_sample_rate: sent })
    expect(made['session_recording_sample_rate']).toBe(kept)
  })

  test('the replay configuration is merged, not replaced', async () => {
    const made = await createProject({ session_replay_config: { record_canvas: true } })
    const path = `/api/projects/${String(made['id'])}/`
    await ask('PATCH', path, {
      session_replay_config: { ai_config: { opt_in: true, preferred_events: ['a'] } },
    })
    const { json } = await ask('PATCH', path, {
      session_replay_config: { ai_config: { opt_in: false } },
    })
    expect(json['session_replay_config']).toEqual({
      record_canvas: true,
      ai_config: { opt_in: false, preferred_events: ['a'] },
    })
  })

  test('that are read-only or unknown are ignored', async () => {
    const made = await createProject()
    const path = `${root}${String(made['id'])}/`
    const forged = Object.fromEntries(READ_ONLY.map((name) => [name, 'forged']))
    for (const method of ['PATCH', 'PUT']) {
      const body = { ...forged, id: 1, organization_id: 'x', nothing: 1, __proto__: { a: 1 } }
      const { status, json } = await ask(method, path, body)
      expect(status).toBe(200)
      expect({ ...json, live_events_token: '' }).toEqual({ ...made, live_events_token: '' })
    }
  })
})

describe('the round trip of a project', () => {
  test('works under every name', async () => {
    const made = await createProject({ name: 'Trip', timezone: 'Europe/Paris' })
    const id = String(made['id'])
    expect(made).toMatchObject({
      organization: world.first.organization_id,
      api_token: expect.stringMatching(/^phc_[0-9A-Za-z]{35,}$/),
      uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      effective_membership_level: 15,
      ingested_event: false,
      product_intents: [],
      default_modifiers: {},
    })
    for (const path of [root, '/api/projects/', '/api/environments/']) {
      expect((await ask('GET', `${path}${id}`)).json).toMatchObject({ id: made['id'] })
      expect((await ask('PUT', `${path}${id}/`, { name: path })).json).toMatchObject({
        name: path,
        timezone: 'Europe/Paris',
      })
    }
    // Whoever makes a project works on it from then on.
    expect((await ask('GET', '/api/projects/@current/')).json['id']).toBe(made['id'])
    expect((await ask('GET', '/api/organizations/@current/projects/@current')).json['id']).toBe(
      made['id'],
    )
    expect(await ask('DELETE', `/api/environments/${id}/`)).toMatchObject({ status: 204, text: '' })
    expect((await ask('GET', `/api/projects/${id}/`)).status).toBe(404)
    expect((await ask('DELETE', `/api/projects/${id}/`)).status).toBe(404)
  })

  test('two at once get different numbers and tokens', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => createProject({ name: 'same' })))
    expect(new Set(made.map(({ id }) => id)).size).toBe(8)
    expect(new Set(made.map(({ api_token }) => api_token)).size).toBe(8)
  })

  test.each([
    ['text/plain', 415, 'unsupported_media_type'],
    ['application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ['application/json; charset=utf-8', 201, undefined],
    ['application/vnd.api+json', 201, undefined],
  ])('a body of type %s is answered %d', async (type, status, code) => {
    const answer = await world.send(root, {
      method: 'POST',
      headers: { Authorization: `Bearer ${world.first.personal_api_key}`, 'Content-Type': type },
      body: '{}',
    })
    expect([answer.status, JSON.parse(await answer.text()).code]).toEqual([status, code])
  })
})

describe('a token', () => {
  test('beside @current names the project, for who sees it', async () => {
    const first = await createProject({ name: 'First' })
    const last = await createProject({ name: 'Last' })
    for (const path of [
      '/api/projects/@current/',
      '/api/environments/@current/',
      '/api/organizations/@current/projects/@current/',
    ]) {
      const named = async (token: unknown) => {
        const { status, json } = await ask('GET', `${path}?token=${String(token)}`)
        return [status, status === 200 ? json['id'] : json['code']]
      }
      expect(await named(first['api_token'])).toEqual([200, first['id']])
      expect(await named('')).toEqual([200, last['id']])
      expect(await named('phc_unknown')).toEqual([401, 'invalid_api_key'])
    }
    await ask('POST', `/api/projects/${String(first['id'])}/annotations/`, { content: 'of First' })
    const old = await ask('GET', `/api/annotation/?token=${String(first['api_token'])}`)
    expect(old.json).toMatchObject({ count: 1, results: [{ content: 'of First' }] })
    const beside_id = `${root}${String(last['id'])}/?token=${String(first['api_token'])}`
    expect((await ask('GET', beside_id)).json['id']).toBe(last['id'])
  })

  test('ends with the commit that replaces it, for capture and for flags', async () => {
    const made = await createProject()
    const old = made['api_token']
    expect((await capture(old)).status).toBe(200)
    const { status, json } = await ask('PATCH', `${root}${String(made['id'])}/reset_token/`, {
      api_token: 'phc_mine',
    })
    expect([status, json['api_token'] === old]).toEqual([200, false])
    expect((await capture(old)).status).toBe(401)
    expect((await capture(json['api_token'])).status).toBe(200)
    const decide = (api_key: unknown) =>
      world.send('/decide/?v=3', {
        method: 'POST',
        body: JSON.stringify({ api_key, distinct_id: 'd' }),
      })
    expect((await decide(old)).status).toBe(401)
    expect((await decide(json['api_token'])).status).toBe(200)
  })

  test('that is reset while events come in never takes one afterwards', async () => {
    const made = await createProject()
    const sending = Array.from({ length: 50 }, () => capture(made['api_token']))
    const reset = ask('PATCH', `${root}${String(made['id'])}/reset_token/`)
    await reset
    const after = await capture(made['api_token'])
    const statuses = await Promise.all(sending.map(async (one) => (await one).status))
    expect(after.status).toBe(401)
    expect(statuses.every((status) => status === 200 || status === 401)).toBe(true)
  })

  test('for live events says whose it is and for how long, signed by a secret that stays', async () => {
    const before_s = Math.floor(Date.now() / 1000)
    const [made, other] = [await createProject(), await createProject()]
    const [row] = world.needs.control.values<[string]>(
      sql`select value from instance_secrets where name = 'live_events'`,
    )
    const [secret] = row ?? ['']
    for (const { id, api_token, live_events_token } of [made, other]) {
      const [head = '', claims = '', signature] = String(live_events_token).split('.')
      const payload = JSON.parse(Buffer.from(claims, 'base64url').toString())
      expect(payload).toMatchObject({ team_id: id, api_token, aud: 'posthog:livestream' })
      const week_s = 7 * 86_400
      expect(payload.exp - before_s).toBeGreaterThanOrEqual(week_s)
      expect(payload.exp).toBeLessThanOrEqual(Math.floor(Date.now() / 1000) + week_s)
      const signed = createHmac('sha256', secret).update(`${head}.${claims}`).digest('base64url')
      expect(signature).toBe(signed)
    }
  })
})

describe('a deleted project', () => {
  test('takes no events, is on no list, and its name is free', async () => {
    const made = await createProject({ name: 'Doomed' })
    await capture(made['api_token'])
    const its = `select count(*) as count from events where project_id = ${String(made['id'])}`
    expect(world.countEvents(its)).toBe(1)
    await ask('DELETE', `${root}${String(made['id'])}/`)
    expect((await capture(made['api_token'])).status).toBe(401)
    expect((await ask('GET', `${root}?limit=1000`)).text).not.toContain('Doomed')
    expect((await createProject({ name: 'Doomed' }))['id']).not.toBe(made['id'])
    const persons = its.replace('from events', 'from persons')
    // Its rows go after the answer; the test's own time limit ends the waiting.
    while (world.countEvents(its) + world.countEvents(persons) > 0) await Bun.sleep(10)
  })

  test('leaves no row in any table', async () => {
    const made = await createProject({ name: 'Traceless' })
    const project_id = Number(made['id'])
    await world.send('/capture/', {
      method: 'POST',
      body: JSON.stringify({
        api_key: made['api_token'],
        event: '$groupidentify',
        distinct_id: 'd',
        properties: {
          $group_type: 'company',
          $group_key: 'acme',
          $group_set: { seats: 3 },
          $set: { plan: 'pro' },
        },
      }),
    })
    const log = new Database(join(world.data_dir, 'events.db'))
    log.run("insert into property_columns (project_id, kind, name) values (?, 'text', 'plan')", [
      project_id,
    ])
    const tables = log
      .query<{ name: string }, []>(
        `select name from sqlite_master where type = 'table'
         and exists (select 1 from pragma_table_info(sqlite_master.name) where name = 'project_id')`,
      )
      .all()
      .map(({ name }) => name)
    const filled = () =>
      tables.filter(
        (name) =>
          log.query(`select 1 from ${name} where project_id = ? limit 1`).get(project_id) !== null,
      )
    expect(filled()).toEqual(
      expect.arrayContaining(['distinct_ids', 'events', 'groups', 'persons', 'property_columns']),
    )
    await ask('DELETE', `${root}${project_id}/`)
    const looks_end_ms = Date.now() + ROWS_GONE_MS
    while (filled().length > 0 && Date.now() < looks_end_ms) await Bun.sleep(20)
    expect(filled()).toEqual([])
    log.close()
  })
})

describe('what a project is used for', () => {
  test('is kept by product, and counts its contexts', async () => {
    const made = await createProject()
    const path = `${root}${String(made['id'])}/`
    const body = { product_type: 'surveys', intent_context: 'menu', metadata: { a: 1 } }
    await ask('PATCH', `${path}add_product_intent/`, body)
    const { status, json } = await ask('PATCH', `${path}add_product_intent/`, body)
    expect([status, json['product_intents']]).toEqual([
      200,
      [
        {
          product_type: 'surveys',
          contexts: { menu: 2 },
          metadata: { a: 1 },
          created_at: expect.any(String),
          updated_at: expect.any(String),
          onboarding_completed_at: null,
        },
      ],
    ])
    const done = await ask('PATCH', `${path}complete_product_onboarding/`, {
      product_type: 'feature_flags',
    })
    expect(done.json).toMatchObject({
      has_completed_onboarding_for: { feature_flags: true },
      product_intents: [
        { product_type: 'surveys' },
        { product_type: 'feature_flags', onboarding_completed_at: expect.any(String) },
      ],
    })
  })

  test('has a limit, as have the number of contexts and the metadata of all requests together', async () => {
    const made = await createProject()
    const path = `${root}${String(made['id'])}/add_product_intent/`
    const note = async (body: object): Promise<readonly unknown[]> => {
      const { status, json } = await ask('PATCH', path, body)
      return [status, json['code'], json['attr']]
    }
    const surveys = { product_type: 'surveys' }
    expect(await note({ ...surveys, metadata: { a: 'x'.repeat(6000) } })).toEqual([
      200,
      undefined,
      undefined,
    ])
    const more = { b: 'x'.repeat(6000) }
    expect(await note({ ...surveys, metadata: more })).toEqual([400, 'max_length', 'metadata'])
    let answer: readonly unknown[] = [200]
    let contexts = 0
    for (; answer[0] === 200 && contexts < 100; contexts += 1) {
      answer = await note({ ...surveys, intent_context: `${contexts}`.padEnd(200, '.') })
    }
    expect([contexts, ...answer]).toEqual([49, 400, 'max_length', 'intent_context'])
    for (let number = 1; number < 50; number += 1) {
      expect(await note({ product_type: `product ${number}` })).toEqual([200, undefined, undefined])
    }
    expect(await note({ product_type: 'one more' })).toEqual([400, 'invalid_input', 'product_type'])
    expect(await note(surveys)).toEqual([200, undefined, undefined])
  })

  test.each(['add_product_intent', 'complete_product_onboarding'])(
    '%s without a product notes nothing and answers the whole project',
    async (action) => {
      const made = await createProject({ name: 'As it was' })
      for (const body of [undefined, {}, { product_type: null }, { name: 'Other' }]) {
        const path = `${root}${String(made['id'])}/`
        const { status, json } = await ask('PATCH', `${path}${action}/`, body)
        expect(status).toBe(200)
        expect(Object.keys(json)).toEqual(Object.keys(made))
        expect([json['name'], json['product_intents']]).toEqual(['As it was', []])
      }
    },
  )
})

describe('the activity of a project', () => {
  test('tells who changed what, newest first, a page at a time', async () => {
    const made = await createProject({ name: 'Before' })
    const path = `${root}${String(made['id'])}/`
    await ask('PATCH', path, { name: 'After', timezone: 'Europe/Rome' })
    await ask('PATCH', path, { name: 'After' })
    await ask('PATCH', `${path}reset_token/`)
    const { json } = await ask('GET', `${path}activity/?limit=2`)
    expect(json).toMatchObject({
      id: made['id'],
      name: 'After',
      total_count: 3,
      next: `https://tidemark.example${path}activity/?limit=2&page=2`,
      previous: null,
      results: [
        { activity: 'updated', detail: { changes: [{ field: 'api_token' }] } },
        {
          user: { first_name: 'Owner' },
          activity: 'updated',
          scope: 'Project',
          item_id: String(made['id']),
          detail: {
            name: 'After',
            changes: [
              {
                type: 'Project',
                action: 'changed',
                field: 'name',
                before: 'Before',
                after: 'After',
              },
              { field: 'timezone', before: 'UTC', after: 'Europe/Rome' },
            ],
          },
        },
      ],
    })
    const next = await ask('GET', `${path}activity/?limit=2&page=2`)
    expect(next.json).toMatchObject({ next: null, results: [{ activity: 'created' }] })
    const all = await ask('GET', `/api/projects/${String(made['id'])}/activity_log/?scope=Cohort`)
    expect(all.json).toMatchObject({ total_count: 0, results: [] })
  })
})

const READ_ONLY =
  `id uuid organization api_token created_at updated_at effective_membership_level has_group_types
live_events_token ingested_event person_on_events_querying_enabled default_modifiers product_intents`.split(
    /\s+/,
  )

test("a new project leaves its creator's colleagues out of its figures", async () => {
  world.needs.control.update(users).set({ email: 'ann@acme.example' }).run()
  const { test_account_filters } = await createProject()
  expect(test_account_filters).toContainEqual({
    key: 'email',
    type: 'person',
    operator: 'not_icontains',
    value: '@acme.example',
  })
  const none = await createProject({ test_account_filters: [] })
  expect(none['test_account_filters']).toEqual([])
})
