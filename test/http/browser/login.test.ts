/** People log in: the first setup, passwords, links and sessions, and what others cannot do with them. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SessionAnswer } from '../../../src/contract/browser/login.ts'
import { makeLoginLink, makeOwnerCode } from '../../../src/projects/users/login-links.ts'
import { findUserByPassword, storePassword } from '../../../src/projects/users/passwords.ts'
import { startSession } from '../../../src/projects/users/sessions.ts'
import { createUser } from '../../../src/projects/users/user.ts'
import { ask, World as QueryWorld } from '../../query/world.ts'
import { faultsOf } from '../described.ts'
import { openWorld, type World } from '../world.ts'
import { type Browser, openBrowser } from './browser.ts'

const EMAIL = 'olga@example.com'
const PASSWORD = 'correct horse battery'
const DAY_MS = 86_400_000

let world: World
let now = new Date('2026-03-01T12:00:00Z')
let public_url = 'http://tidemark.example'
const pass = (ms: number): void => {
  now = new Date(now.getTime() + ms)
}

beforeAll(async () => {
  world = await openWorld({ now: () => now, publicUrl: () => public_url })
})
afterAll(() => world.close())
beforeEach(() => {
  world.resetControl()
  public_url = 'http://tidemark.example'
  // Tries of the test before are forgotten.
  pass(DAY_MS)
})

const codeOf = (): string => makeOwnerCode(world.needs.control, now) ?? ''
const linkOf = (user_id: number): string => makeLoginLink(world.needs.control, user_id, now)
const stateOf = async (browser: Browser) => (await browser.send('GET /api/session/')).json['state']
const rowsOf = (table: string): readonly Record<string, unknown>[] => {
  using db = new Database(join(world.data_dir, 'control.db'), { readonly: true })
  return db.query<Record<string, unknown>, []>(`select * from ${table}`).all()
}

/** The owner's browser after the setup. */
async function setUp(): Promise<Browser> {
  const browser = openBrowser(world)
  const body = { code: codeOf(), email: EMAIL, password: PASSWORD }
  expect((await browser.send('POST /api/setup/', body)).status).toBe(200)
  return browser
}

const logIn = (browser: Browser, password = PASSWORD, email = EMAIL) =>
  browser.send('POST /api/login/', { email, password })

describe('the first setup', () => {
  test('takes the printed code as people type it, and answers everything a page begins with', async () => {
    const browser = openBrowser(world)
    expect((await browser.send('GET /api/session/')).json).toEqual({ state: 'setup' })
    const code = codeOf()
    expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/)
    const answer = await browser.send('POST /api/setup/', {
      code: ` ${code.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l').replaceAll('-', ' ')}`,
      email: 'Olga@Example.com',
      password: PASSWORD,
      first_name: 'Olga',
      organization_name: 'Acme',
      timezone: 'Europe/Berlin',
    })
    const { project_id, organization_id, api_token } = world.first
    const expected = {
      state: 'in',
      user: {
        uuid: expect.any(String),
        email: EMAIL,
        first_name: 'Olga',
        last_name: '',
        current_project: project_id,
      },
      organizations: [{ id: organization_id, name: 'Acme', membership_level: 15 }],
      projects: [
        {
          id: project_id,
          organization: organization_id,
          name: 'Default project',
          api_token,
          timezone: 'Europe/Berlin',
          week_start_day: null,
          ingested_event: false,
          read_only: [],
        },
      ],
    }
    expect([answer.status, answer.json]).toEqual([200, expected])
    const again = await browser.send('GET /api/session/')
    expect(again.json).toEqual(expected)
    expect(faultsOf(SessionAnswer, again.json)).toEqual([])
    expect(again.headers.get('cache-control')).toBe('no-store')
    expect((await browser.send('GET /api/users/@me/')).json['email']).toBe(EMAIL)
  })

  test('works once, for a day, with the last code only', async () => {
    const browser = openBrowser(world)
    const body = { email: EMAIL, password: PASSWORD }
    const first = codeOf()
    const second = codeOf()
    const replaced = await browser.send('POST /api/setup/', { ...body, code: first })
    expect([replaced.status, replaced.json['code'], replaced.json['attr']]).toEqual([
      404,
      'not_found',
      'code',
    ])
    pass(DAY_MS)
    expect((await browser.send('POST /api/setup/', { ...body, code: second })).status).toBe(404)
    const third = codeOf()
    expect((await browser.send('POST /api/setup/', { ...body, code: third })).status).toBe(200)
    const late = await browser.send('POST /api/setup/', { ...body, code: third })
    expect([late.status, late.json['detail']]).toEqual([
      403,
      'This server is set up already: log in.',
    ])
    expect(codeOf()).toBe('')
    expect(rowsOf('login_links')).toEqual([])
  })

  test.each([
    [{ email: 'nobody' }, 'email', 'invalid_input'],
    [{ password: 'short' }, 'password', 'invalid_input'],
    [{ password: 'aaaaaaaaaaaaaaa' }, 'password', 'invalid_input'],
    [{ password: EMAIL }, 'password', 'invalid_input'],
    [{ password: 'x'.repeat(201) }, 'password', 'max_length'],
    [{ code: 7 }, 'code', 'invalid_input'],
    [{ code: '' }, 'code', 'not_found'],
    [{ code: 'x'.repeat(101) }, 'code', 'max_length'],
    [{ timezone: 'Mars/Base' }, 'timezone', 'invalid_choice'],
    [{ first_name: '  ' }, 'first_name', 'blank'],
    [{ organization_name: 'x'.repeat(65) }, 'organization_name', 'max_length'],
  ])('refuses %p, names the field %s, and keeps the code', async (wrong, attr, code) => {
    const browser = openBrowser(world)
    const body = { code: codeOf(), email: EMAIL, password: PASSWORD }
    const answer = await browser.send('POST /api/setup/', { ...body, ...wrong })
    expect([answer.json['attr'], answer.json['code']]).toEqual([attr, code])
    expect(browser.cookie()).toBeNull()
    expect((await browser.send('POST /api/setup/', body)).status).toBe(200)
  })

  test('is won by one of two at the same time', async () => {
    const code = codeOf()
    const setUpAs = (email: string) =>
      openBrowser(world).send('POST /api/setup/', { code, email, password: PASSWORD })
    const statuses = (await Promise.all([setUpAs('a@b.example'), setUpAs('c@d.example')])).map(
      ({ status }) => status,
    )
    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 403])
  })
})

describe('a login', () => {
  test('gives a browser a strict cookie, whose token is stored as a hash alone', async () => {
    await setUp()
    const browser = openBrowser(world)
    const answer = await logIn(browser, PASSWORD, EMAIL.toUpperCase())
    expect([answer.status, answer.json['state']]).toEqual([200, 'in'])
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^tidemark_session=[\w-]{43}; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Strict$/,
      ),
    ])
    const token = browser.cookie()?.split('=')[1] ?? ''
    for (const name of ['control.db', 'control.db-wal']) {
      const bytes = readFileSync(join(world.data_dir, name), 'latin1')
      expect([name, bytes.includes(token), bytes.includes(PASSWORD)]).toEqual([name, false, false])
    }
    expect(rowsOf('passwords')[0]?.['hash']).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
    expect(world.log_lines.join('')).not.toContain(token)
    expect(world.log_lines.join('')).not.toContain(PASSWORD)
  })

  test('over https gives a cookie that only this host over https can have set', async () => {
    await setUp()
    public_url = 'https://tidemark.example'
    const browser = openBrowser(world)
    const [cookie = ''] = (await logIn(browser)).headers.getSetCookie()
    expect(cookie).toMatch(/^__Host-tidemark_session=[\w-]{43}; Path=\/; .*; Secure$/)
    expect(await stateOf(browser)).toBe('in')
    // A cookie without the prefix may come from a subdomain or from plain http.
    browser.setCookie(browser.cookie()?.replace('__Host-', '') ?? null)
    expect(await stateOf(browser)).toBe('out')
  })

  test('with a wrong password or an unknown address is answered alike', async () => {
    await setUp()
    const browser = openBrowser(world)
    const wrong = await logIn(browser, 'wrong password')
    const unknown = await logIn(browser, PASSWORD, 'nobody@example.com')
    expect([wrong.status, wrong.json]).toEqual([
      401,
      {
        type: 'authentication_error',
        code: 'authentication_failed',
        detail: 'The email address or the password is wrong.',
        attr: 'password',
      },
    ])
    expect([unknown.status, unknown.json]).toEqual([wrong.status, wrong.json])
    expect(browser.cookie()).toBeNull()
  })

  test('of an unknown address verifies a hash as well, of the same cost', async () => {
    await setUp()
    using verify = spyOn(Bun.password, 'verify')
    await logIn(openBrowser(world), PASSWORD, 'nobody@example.com')
    await logIn(openBrowser(world))
    const costs = verify.mock.calls.map(([, hash]) => {
      const text = typeof hash === 'string' ? hash : ''
      return [text.split('$').slice(1, 4), text.length]
    })
    expect(costs).toHaveLength(2)
    expect(costs[0]).toEqual(costs[1])
  })

  test('takes an accent typed as one character or as two', async () => {
    const browser = openBrowser(world)
    const body = { code: codeOf(), email: EMAIL, password: 'caf\u00e9 au lait' }
    await browser.send('POST /api/setup/', body)
    expect((await logIn(browser, 'cafe\u0301 au lait')).status).toBe(200)
  })

  test('ends the session before it, so a planted cookie is worth nothing', async () => {
    const attacker = await setUp()
    const planted = attacker.cookie()
    const victim = openBrowser(world)
    victim.setCookie(planted)
    expect((await logIn(victim)).status).toBe(200)
    expect(victim.cookie()).not.toBe(planted)
    expect(await stateOf(attacker)).toBe('out')
    expect(await stateOf(victim)).toBe('in')
    // A token that the server did not make is not taken over either.
    const other = openBrowser(world)
    other.setCookie('tidemark_session=chosen-by-somebody-else')
    await logIn(other)
    expect(other.cookie()).not.toContain('chosen')
  })

  test('out ends the session on the server, not only in the browser', async () => {
    const browser = await setUp()
    const cookie = browser.cookie()
    const answer = await browser.send('POST /api/logout/')
    expect([answer.status, browser.cookie()]).toEqual([204, null])
    browser.setCookie(cookie)
    expect(await stateOf(browser)).toBe('out')
    expect((await browser.send('POST /api/logout/')).status).toBe(204)
  })
})

describe('pages of other origins', () => {
  const other = { 'X-Tidemark': null, Origin: 'https://other.example' }

  test('do nothing with the cookie, which counts only with the header', async () => {
    const browser = await setUp()
    const path = `/api/projects/${world.first.project_id}/`
    for (const value of [null, '0', 'true', '']) {
      const answer = await browser.send(`GET ${path}`, undefined, { 'X-Tidemark': value })
      expect([value, answer.status, answer.json['code']]).toEqual([value, 401, 'not_authenticated'])
    }
    const changed = await browser.send(`PATCH ${path}`, { name: 'taken' }, other)
    expect(changed.status).toBe(401)
    expect((await browser.send('GET /api/session/', undefined, other)).json).toEqual({
      state: 'out',
    })
    expect((await browser.send(`GET ${path}`)).json['name']).toBe('Default project')
  })

  test.each(['setup', 'login', 'logout', 'reset'])('cannot send %s', async (name) => {
    const browser = await setUp()
    const answer = await browser.send(`POST /api/${name}/`, {}, other)
    expect([answer.status, answer.json['code']]).toEqual([403, 'permission_denied'])
    expect(await stateOf(browser)).toBe('in')
    const text = await browser.send(`POST /api/${name}/`, {}, { 'Content-Type': 'text/plain' })
    if (name !== 'logout') expect(text.status).toBe(415)
  })

  test.each([
    'POST /api/login/',
    'POST /api/setup/',
    'POST /api/reset/',
    'POST /api/logout/',
    'GET /api/session/',
    'GET /api/sessions/',
    'POST /api/users/@me/password/',
    'GET /api/projects/1/',
    'POST /api/projects/1/query/',
  ])('get no leave for %s from a preflight, and cannot read its answer', async (line) => {
    const browser = await setUp()
    const [method = '', path = ''] = line.split(' ')
    const preflight = await browser.send(`OPTIONS ${path}`, undefined, {
      ...other,
      Cookie: null,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': 'x-tidemark',
    })
    const direct = await browser.send(line, method === 'GET' ? undefined : {}, {
      Origin: other.Origin,
    })
    for (const { headers } of [preflight, direct]) {
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  test('and SDKs do not act with a session where SDKs are answered', async () => {
    const browser = await setUp()
    const { api_token } = world.first
    for (const path of [
      `/api/feature_flag/local_evaluation?token=${api_token}`,
      `/flags/definitions?token=${api_token}`,
      '/api/projects/1/feature_flags/local_evaluation/',
      '/api/projects/1/feature_flags/1/remote_config/',
    ]) {
      const answer = await browser.send(`GET ${path}`)
      expect([path, answer.status]).toEqual([path, 401])
    }
    const answer = await browser.send('POST /capture/', { event: 'e', distinct_id: 'x' })
    expect(answer.status).toBe(401)
  })
})

describe('a session', () => {
  test('that a page asks for starts the query process that had ended for want of queries', async () => {
    await using queries = new QueryWorld()
    const engine = queries.openEngine({}, { idle_ms: 50 })
    await using own = await openWorld({ engine })
    const browser = openBrowser(own)
    const code = makeOwnerCode(own.needs.control, new Date())
    await browser.send('POST /api/setup/', { code, email: EMAIL, password: PASSWORD })
    await ask(engine, 'select $1')
    while (engine.state.pid !== null) await Bun.sleep(5)
    const { processes_started } = engine.state
    await openBrowser(own).send('GET /api/session/')
    expect(engine.state.processes_started).toBe(processes_started)
    await browser.send('GET /api/session/')
    expect(engine.state.processes_started).toBe(processes_started + 1)
  })

  test('ends two weeks after its last use, and after ninety days at the latest', async () => {
    const browser = await setUp()
    for (let days = 0; days < 78; days += 13) {
      expect([days, await stateOf(browser)]).toEqual([days, 'in'])
      pass(13 * DAY_MS)
    }
    expect(await stateOf(browser)).toBe('in')
    pass(12 * DAY_MS)
    expect(await stateOf(browser)).toBe('out')
    await logIn(browser)
    pass(14 * DAY_MS)
    expect(await stateOf(browser)).toBe('out')
    expect((await browser.send('GET /api/users/@me/')).status).toBe(401)
  })

  test('is listed with where it is from, and ended by its user alone', async () => {
    const browser = await setUp()
    pass(1000)
    const phone = openBrowser(world)
    await phone.send(
      'POST /api/login/',
      { email: EMAIL, password: PASSWORD },
      { 'User-Agent': 'Phone' },
    )
    const { json } = await browser.send('GET /api/sessions/')
    const results = json['results'] as { id: string; is_current: boolean; user_agent: string }[]
    expect(results.map(({ user_agent, is_current }) => [user_agent, is_current])).toEqual([
      ['Phone', false],
      ['', true],
    ])
    const [of_phone] = results
    const { control } = world.needs
    const stranger = createUser(control, { email: 's@example.com', first_name: 'S' }, now)
    const other = openBrowser(world)
    const token = linkOf(stranger.id)
    expect((await other.send('POST /api/reset/', { token, password: PASSWORD })).status).toBe(200)
    const stolen = await other.send(`DELETE /api/sessions/${of_phone?.id}/`)
    expect([stolen.status, await stateOf(phone)]).toEqual([404, 'in'])
    expect((await browser.send(`DELETE /api/sessions/${of_phone?.id}/`)).status).toBe(204)
    expect([await stateOf(phone), await stateOf(browser)]).toEqual(['out', 'in'])
    expect((await browser.send('DELETE /api/sessions/@current/')).status).toBe(204)
    expect([await stateOf(browser), browser.cookie()]).toEqual(['out', null])
  })

  test('is the oldest that ends when one user has fifty', async () => {
    const first = await setUp()
    for (let one = 0; one < 49; one += 1) {
      pass(1000)
      startSession(world.needs.control, { user_id: 1, user_agent: '', ip: '' }, now)
    }
    expect(await stateOf(first)).toBe('in')
    pass(1000)
    await logIn(openBrowser(world))
    expect(await stateOf(first)).toBe('out')
    expect(rowsOf('sessions')).toHaveLength(50)
  })

  test('makes keys that outlive it', async () => {
    const browser = await setUp()
    const made = await browser.send('POST /api/personal_api_keys/', { label: 'k', scopes: ['*'] })
    expect([made.status, made.json['expires_at']]).toEqual([201, null])
    pass(100 * DAY_MS)
    const key = { Authorization: `Bearer ${String(made.json['value'])}`, Cookie: null }
    expect((await browser.send('GET /api/users/@me/', undefined, key)).status).toBe(200)
  })

  test('gives way to a key in the same request', async () => {
    const browser = await setUp()
    const wrong = { Authorization: 'Bearer phx_wrong' }
    expect((await browser.send('GET /api/users/@me/', undefined, wrong)).status).toBe(401)
  })
})

describe('a password', () => {
  test('that is changed ends all other sessions', async () => {
    const browser = await setUp()
    const phone = openBrowser(world)
    await logIn(phone)
    const change = (current_password: string, password: string) =>
      browser.send('POST /api/users/@me/password/', { current_password, password })
    const wrong = await change('not it at all', 'another good one')
    expect([wrong.status, wrong.json['attr']]).toEqual([400, 'current_password'])
    const weak = await change(PASSWORD, 'weak')
    expect([weak.status, weak.json['attr']]).toEqual([400, 'password'])
    expect(await stateOf(phone)).toBe('in')
    expect((await change(PASSWORD, 'another good one')).status).toBe(204)
    expect([await stateOf(browser), await stateOf(phone)]).toEqual(['in', 'out'])
    expect((await logIn(phone)).status).toBe(401)
    expect((await logIn(phone, 'another good one')).status).toBe(200)
  })

  test('that is forgotten is set by a link, once and within an hour, and every session ends', async () => {
    const browser = await setUp()
    const late = linkOf(1)
    pass(60 * 60_000)
    const reset = (token: string) =>
      openBrowser(world).send('POST /api/reset/', { token, password: 'another good one' })
    expect((await reset(late)).json).toMatchObject({ code: 'not_found', attr: 'token' })
    const token = linkOf(1)
    const answer = await reset(token)
    expect([answer.status, answer.json['state']]).toEqual([200, 'in'])
    expect(await stateOf(browser)).toBe('out')
    expect((await reset(token)).status).toBe(404)
    expect((await logIn(browser)).status).toBe(401)
  })

  test('that is replaced while it is verified lets nobody in', async () => {
    await setUp()
    const { control } = world.needs
    const [before] = rowsOf('passwords')
    const found = findUserByPassword(control, EMAIL, PASSWORD)
    storePassword(control, { user_id: 1, email: EMAIL, hash: `${String(before?.['hash'])}x` }, now)
    expect(await found).toBeNull()
  })

  test('that a link sets stays, whatever was being changed', async () => {
    const browser = await setUp()
    const token = linkOf(1)
    const change = { current_password: PASSWORD, password: 'one of a stranger' }
    await Promise.all([
      browser.send('POST /api/users/@me/password/', change),
      openBrowser(world).send('POST /api/reset/', { token, password: 'another good one' }),
    ])
    expect((await logIn(openBrowser(world), 'another good one')).status).toBe(200)
  })
})

describe('many passwords at once', () => {
  const FLOOD = 60
  const newcomer = (at: number) => ({
    first_name: 'Ann',
    email: `${at}@example.com`,
    password: 'nobody knows it',
  })

  const inviterOf = (owner: Browser) => async (): Promise<string> => {
    const { json } = await owner.send('POST /api/organizations/@current/invites/', {})
    return `POST /api/signup/${new URL(String(json['link'])).hash.slice(1)}/`
  }

  test('of a team of ten that joins at once are all set', async () => {
    const invite = inviterOf(await setUp())
    const links = await Promise.all(Array.from({ length: 10 }, invite))
    const joined = await Promise.all(
      links.map((link, at) => openBrowser(world).send(link, newcomer(at))),
    )
    expect(joined.map(({ status }) => status)).toEqual(links.map(() => 201))
  })

  test('that one user sets leave others able to log in', async () => {
    const owner = await setUp()
    const invite = inviterOf(owner)
    const ann = openBrowser(world)
    expect((await ann.send(await invite(), newcomer(0))).status).toBe(201)
    const link = await invite()
    const change = { current_password: 'not it at all', password: 'another good one' }
    for (const flood of [
      () => owner.send('POST /api/users/@me/password/', change),
      (at: number) => openBrowser(world).send(link, newcomer(at + 1)),
    ]) {
      const flooded = Array.from({ length: FLOOD }, (_, at) => flood(at))
      // Until the bodies are read.
      await Bun.sleep(20)
      expect((await logIn(ann, 'nobody knows it', '0@example.com')).status).toBe(200)
      const statuses = (await Promise.all(flooded)).map(({ status }) => status)
      expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(FLOOD - 20)
    }
  })
})

describe('an invite', () => {
  const invite = async (browser: Browser, body: object = {}): Promise<string> => {
    const { json } = await browser.send('POST /api/organizations/@current/invites/', body)
    const link = new URL(String(json['link']))
    expect(link.pathname).toBe('/join')
    return link.hash.slice(1)
  }
  const newcomer = { first_name: 'Ann', email: 'ann@example.com', password: 'nobody knows it' }

  test('lets a newcomer in with a password, logged in at once and without a key', async () => {
    const owner = await setUp()
    const token = await invite(owner)
    const ann = openBrowser(world)
    const joined = await ann.send(`POST /api/signup/${token}/`, newcomer)
    expect([joined.status, joined.json['personal_api_key']]).toEqual([201, null])
    const { json } = await ann.send('GET /api/session/')
    expect(json).toMatchObject({ state: 'in', organizations: [{ membership_level: 1 }] })
    expect((await logIn(ann, newcomer.password, newcomer.email)).status).toBe(200)
  })

  test('is refused for an address that somebody logs in with, and is kept', async () => {
    const owner = await setUp()
    const token = await invite(owner)
    const ann = openBrowser(world)
    const taken = await ann.send(`POST /api/signup/${token}/`, { ...newcomer, email: EMAIL })
    expect([taken.status, taken.json['code'], taken.json['attr']]).toEqual([400, 'unique', 'email'])
    expect((await ann.send(`POST /api/signup/${token}/`, newcomer)).status).toBe(201)
  })

  test('lets in who is logged in already', async () => {
    const owner = await setUp()
    const first = openBrowser(world)
    await first.send(`POST /api/signup/${await invite(owner)}/`, newcomer)
    const other = await first.send('POST /api/organizations/', { name: 'Other' })
    const id = String(other.json['id'])
    const made = await first.send(`POST /api/organizations/${id}/invites/`, {})
    const token = new URL(String(made.json['link'])).hash.slice(1)
    expect((await owner.send(`POST /api/signup/${token}/`)).status).toBe(201)
    const { json } = await owner.send('GET /api/session/')
    expect(json['organizations']).toHaveLength(2)
  })
})
