/** Keys, organizations, members and invites over the wire: who may do what, and who may give what to whom. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openWorld, type World } from '../world.ts'

let world: World
let owner = ''
let organization = ''
const clock = { now_ms: Date.now() }
beforeAll(async () => {
  world = await openWorld({ now: () => new Date(clock.now_ms) })
  owner = world.first.personal_api_key
  organization = `/api/organizations/${world.first.organization_id}/`
})
afterAll(() => world.close())

type Json = Readonly<Record<string, unknown>>
type Answer = { readonly status: number; readonly json: Json; readonly text: string }

/** The path of the API behind an invite's link. */
const signupPath = (link: string): string => `/api/signup/${new URL(link).hash.slice(1)}/`

async function ask(key: string | null, line: string, body?: unknown): Promise<Answer> {
  const [method = '', path = ''] = line.split(' ')
  const answer = await world.send(path, {
    method,
    headers: key === null ? {} : { Authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const json: Json = text === '' ? {} : JSON.parse(text)
  return { status: answer.status, json, text }
}

const textOf = (json: Json, name: string): string => String(json[name])

async function makeKey(key: string, body: Json): Promise<Json> {
  const { status, json } = await ask(key, 'POST /api/personal_api_keys/', { label: 'k', ...body })
  expect([status, json['detail']]).toEqual([201, undefined])
  return json
}

let invited = 0
/** Somebody new of a level; answers their key and uuid. */
async function join(level: number): Promise<{ readonly key: string; readonly uuid: string }> {
  invited += 1
  const invite = await ask(owner, `POST ${organization}invites/`, { level })
  expect(invite.status).toBe(201)
  const path = signupPath(textOf(invite.json, 'link'))
  const email = `u${invited}@a.example`
  const { status, json } = await ask(null, `POST ${path}`, { first_name: 'Ann', email })
  expect(status).toBe(201)
  const user = json['user'] as Json
  return { key: textOf(json, 'personal_api_key'), uuid: textOf(user, 'uuid') }
}

describe('a personal API key', () => {
  test('is shown once, read without its value, changed, rolled and revoked', async () => {
    const made = await makeKey(owner, { label: 'CI', scopes: ['project:read', 'user:write'] })
    const value = textOf(made, 'value')
    const path = `/api/personal_api_keys/${textOf(made, 'id')}/`
    expect(made).toMatchObject({
      label: 'CI',
      value: expect.stringMatching(/^phx_[0-9A-Za-z]{40,}$/),
      mask_value: `phx_...${value.slice(-4)}`,
      scopes: ['project:read', 'user:write'],
      scoped_teams: [],
      scoped_organizations: [],
      last_used_at: null,
      expires_at: null,
      user_id: 1,
    })
    const read = await ask(owner, `GET ${path}`)
    const { value: _value, ...shown } = made
    expect(read.json).toEqual(shown)
    expect((await ask(owner, 'GET /api/personal_api_keys/')).text).not.toContain(value)
    expect((await ask(value, 'GET /api/projects/1/')).status).toBe(200)
    expect((await ask(value, 'GET /api/personal_api_keys/@current/')).json['id']).toBe(made['id'])
    expect((await ask(owner, `GET ${path}`)).json['last_used_at']).toEqual(expect.any(String))
    const changed = await ask(owner, `PATCH ${path}`, { label: 'New', scopes: ['query:read'] })
    expect(changed.json).toMatchObject({ label: 'New', scopes: ['query:read'] })
    expect((await ask(value, 'GET /api/projects/1/')).status).toBe(403)

    const rolled = await ask(owner, `POST ${path}roll/`)
    expect(rolled.json['value']).not.toBe(value)
    expect((await ask(value, 'GET /api/projects/1/')).status).toBe(401)
    expect((await ask(textOf(rolled.json, 'value'), 'GET /api/projects/1/')).status).toBe(403)
    expect((await ask(owner, `DELETE ${path}`)).status).toBe(204)
    expect((await ask(textOf(rolled.json, 'value'), 'GET /api/projects/1/')).status).toBe(401)
    expect((await ask(owner, `GET ${path}`)).status).toBe(404)

    const log = await ask(owner, `GET ${organization}activity_log/?scope=PersonalAPIKey&limit=50`)
    const entries = log.json['results'] as Json[]
    expect(entries.map(({ activity }) => activity)).toEqual([
      'deleted',
      'updated',
      'updated',
      'created',
    ])
    expect(log.text).toContain('"before":"CI","after":"New"')
    expect(log.text).not.toContain('key_hash')
  })

  test('ends when it was said to', async () => {
    const expires_at = new Date(clock.now_ms + 60_000).toISOString()
    const made = await makeKey(owner, { scopes: ['*'], expires_at })
    expect(made['expires_at']).toBe(expires_at)
    expect((await ask(textOf(made, 'value'), 'GET /api/projects/1/')).status).toBe(200)
    clock.now_ms += 60_000
    expect((await ask(textOf(made, 'value'), 'GET /api/projects/1/')).status).toBe(401)
    await ask(owner, `DELETE /api/personal_api_keys/${textOf(made, 'id')}/`)
  })

  test.each([
    [{ scopes: ['*'] }, 400, 'required', 'label'],
    [{ label: '', scopes: ['*'] }, 400, 'blank', 'label'],
    [{ label: 'x'.repeat(41), scopes: ['*'] }, 400, 'max_length', 'label'],
    [{ label: 'k' }, 400, 'required', 'scopes'],
    [{ label: 'k', scopes: [] }, 400, 'required', 'scopes'],
    [{ label: 'k', scopes: ['nothing:read'] }, 400, 'invalid_input', 'scopes'],
    [{ label: 'k', scopes: '*' }, 400, 'invalid_input', 'scopes'],
    [{ label: 'k', scopes: ['*'], scoped_teams: [99] }, 400, 'does_not_exist', 'scoped_teams'],
    [{ label: 'k', scopes: ['*'], scoped_teams: ['1'] }, 400, 'invalid_input', 'scoped_teams__0'],
    [
      { label: 'k', scopes: ['*'], scoped_organizations: ['x'] },
      400,
      'does_not_exist',
      'scoped_organizations',
    ],
    [
      { label: 'k', scopes: ['*'], expires_at: '2001-01-01T00:00:00Z' },
      400,
      'invalid_input',
      'expires_at',
    ],
    [{ label: 'k', scopes: ['*'], expires_at: 'soon' }, 400, 'invalid_input', 'expires_at'],
    [{ label: 'k', scopes: ['*'], expires_at: '2099-02-30' }, 400, 'invalid_input', 'expires_at'],
  ])('is refused the body %j', async (body, status, code, attr) => {
    const answer = await ask(owner, 'POST /api/personal_api_keys/', body)
    expect([answer.status, answer.json['code'], answer.json['attr']]).toEqual([status, code, attr])
  })

  test('never gives more than it has', async () => {
    const limited = await makeKey(owner, { scopes: ['user:write'], scoped_teams: [1] })
    const value = textOf(limited, 'value')
    const post = (body: Json) => ask(value, 'POST /api/personal_api_keys/', { label: 'k', ...body })
    expect((await post({ scopes: ['*'], scoped_teams: [1] })).status).toBe(403)
    expect((await post({ scopes: ['query:read'], scoped_teams: [1] })).status).toBe(403)
    expect((await post({ scopes: ['user:read'] })).status).toBe(403)
    const id = textOf((await ask(owner, 'GET /api/personal_api_keys/@current/')).json, 'id')
    expect((await ask(value, `POST /api/personal_api_keys/${id}/roll/`)).status).toBe(403)
    const own = `/api/personal_api_keys/${textOf(limited, 'id')}/`
    expect((await ask(value, `PATCH ${own}`, { scopes: ['*'] })).status).toBe(403)
    expect((await ask(value, `PATCH ${own}`, { scoped_teams: null })).status).toBe(403)
    const less = await post({ scopes: ['user:read'], scoped_teams: [1] })
    expect(less.status).toBe(201)
    await ask(owner, `DELETE /api/personal_api_keys/${textOf(less.json, 'id')}/`)
    await ask(owner, `DELETE ${own}`)
  })

  test('neither reads, changes, ends nor moves what is beyond it', async () => {
    const { id: second } = (await ask(owner, 'POST /api/organizations/', { name: 'Away' })).json
    const whole = await makeKey(owner, { scopes: ['*'] })
    const narrow = { scopes: ['user:write', 'organization:read', 'project:read'] }
    const limits = [
      { scopes: narrow.scopes },
      { ...narrow, scoped_teams: [1] },
      { ...narrow, scoped_organizations: [world.first.organization_id] },
    ]
    for (const limit of limits) {
      const made = await makeKey(owner, limit)
      const by = (line: string, body?: Json) => ask(textOf(made, 'value'), line, body)
      const path = `/api/personal_api_keys/${textOf(whole, 'id')}/`
      const tried = [
        await by(`GET ${path}`),
        await by(`PATCH ${path}`, { scopes: ['user:read'] }),
        await by(`PATCH ${path}`, { label: 'mine' }),
        await by(`POST ${path}roll/`),
        await by(`DELETE ${path}`),
      ]
      expect(tried.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403])
      const listed = (await by('GET /api/personal_api_keys/?limit=100')).json['results'] as Json[]
      expect(listed.map((key) => key['id'])).toContain(made['id'])
      expect(listed.map((key) => key['id'])).not.toContain(whole['id'])
      expect((await by('GET /api/personal_api_keys/@current/')).status).toBe(200)
      if (limit !== limits[0]) {
        const moved = { set_current_organization: world.first.organization_id }
        expect((await by('PATCH /api/users/@me/', moved)).status).toBe(403)
        expect((await by('PATCH /api/users/@me/', { set_current_team: 1 })).status).toBe(403)
        for (const line of ['GET /api/organizations/', 'GET /api/users/@me/']) {
          const told = await by(line)
          expect([line, told.status, told.text.includes('Away')]).toEqual([line, 200, false])
        }
      }
      await ask(owner, `DELETE /api/personal_api_keys/${textOf(made, 'id')}/`)
    }
    const limited = await makeKey(owner, { ...limits[2], scopes: ['user:write'] })
    const more = { label: 'k', scopes: ['user:read'], scoped_teams: [1] }
    const refused = await ask(textOf(limited, 'value'), 'POST /api/personal_api_keys/', more)
    expect([refused.status, refused.json['code']]).toEqual([403, 'permission_denied'])
    const same = { ...more, scoped_organizations: [world.first.organization_id] }
    const less = await ask(textOf(limited, 'value'), 'POST /api/personal_api_keys/', same)
    expect(less.status).toBe(201)
    for (const { id } of [limited, whole, less.json] as { id: unknown }[]) {
      await ask(owner, `DELETE /api/personal_api_keys/${String(id)}/`)
    }
    await ask(owner, `DELETE /api/organizations/${String(second)}/`)
  })

  test('that ends gives no more time than it has', async () => {
    const at = (minutes: number) => new Date(clock.now_ms + minutes * 60_000).toISOString()
    const made = await makeKey(owner, { scopes: ['user:write'], expires_at: at(10) })
    const lasting = await makeKey(owner, { scopes: ['user:read'] })
    const by = (line: string, body?: Json) => ask(textOf(made, 'value'), line, body)
    const wanted = { label: 'k', scopes: ['user:read'] }
    for (const expires_at of [undefined, null, at(11)]) {
      const refused = await by('POST /api/personal_api_keys/', { ...wanted, expires_at })
      expect([refused.status, refused.json['code']]).toEqual([403, 'permission_denied'])
    }
    const own = `/api/personal_api_keys/${textOf(made, 'id')}/`
    for (const expires_at of [null, at(11)]) {
      expect((await by(`PATCH ${own}`, { expires_at })).status).toBe(403)
    }
    const other = `/api/personal_api_keys/${textOf(lasting, 'id')}/`
    expect((await by(`PATCH ${other}`, { label: 'mine' })).status).toBe(403)
    expect((await by(`POST ${other}roll/`)).status).toBe(403)

    const shorter = await by('POST /api/personal_api_keys/', { ...wanted, expires_at: at(9) })
    expect([shorter.status, shorter.json['expires_at']]).toEqual([201, at(9)])
    expect((await by(`PATCH ${own}`, { label: 'less', expires_at: at(8) })).status).toBe(200)
    expect((await by(`DELETE ${other}`)).status).toBe(204)
    for (const id of [shorter.json['id'], made['id']]) {
      await ask(owner, `DELETE /api/personal_api_keys/${String(id)}/`)
    }
  })

  test('is one of ten at most, also when several are made at once', async () => {
    const ann = await join(1)
    const body = { label: 'k', scopes: ['user:read'] }
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => ask(ann.key, 'POST /api/personal_api_keys/', body)),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(9)
    expect((await ask(ann.key, 'GET /api/personal_api_keys/')).json['count']).toBe(10)
  })

  test('of others does not exist', async () => {
    const ann = await join(1)
    const id = textOf((await ask(owner, 'GET /api/personal_api_keys/@current/')).json, 'id')
    for (const line of [`GET`, `DELETE`]) {
      expect((await ask(ann.key, `${line} /api/personal_api_keys/${id}/`)).status).toBe(404)
    }
  })
})

describe('an invite', () => {
  test('lets one person in, says where it leads, and is used up', async () => {
    const invite = await ask(owner, `POST ${organization}invites/`, {
      target_email: 'bob@a.example',
      first_name: 'Bob',
    })
    const path = signupPath(textOf(invite.json, 'link'))
    expect((await ask(null, `GET ${path}`)).json).toMatchObject({
      organization: { id: world.first.organization_id, name: 'Default organization' },
      target_email: 'bob@a.example',
      level: 1,
    })
    const list = await ask(owner, `GET ${organization}invites/`)
    expect(list.text).not.toContain(path.split('/')[3] ?? 'nothing')
    const wrong = { first_name: 'Bob', email: 'eve@a.example' }
    expect((await ask(null, `POST ${path}`, wrong)).json['attr']).toBe('email')
    const right = { first_name: 'Bob', email: 'Bob@A.example' }
    const [one, other] = await Promise.all([
      ask(null, `POST ${path}`, right),
      ask(null, `POST ${path}`, right),
    ])
    expect([one.status, other.status].toSorted((a, b) => a - b)).toEqual([201, 404])
    expect((await ask(null, `GET ${path}`)).status).toBe(404)
    const members = await ask(owner, `GET ${organization}members/?limit=1000`)
    expect(members.text).toContain('bob@a.example')
  })

  test('lets somebody known in with a key of theirs', async () => {
    const ann = await join(1)
    const made = await ask(owner, 'POST /api/organizations/', { name: 'Second' })
    const second = `/api/organizations/${textOf(made.json, 'id')}/`
    expect((await ask(ann.key, `GET ${second}`)).status).toBe(404)
    const invite = await ask(owner, `POST ${second}invites/`, { level: 8 })
    const path = signupPath(textOf(invite.json, 'link'))
    const joined = await ask(ann.key, `POST ${path}`)
    expect([joined.status, joined.json['personal_api_key']]).toEqual([201, null])
    expect((await ask(ann.key, `GET ${second}`)).json).toMatchObject({ membership_level: 8 })
    expect((await ask(owner, `DELETE ${second}`)).status).toBe(204)
    expect((await ask(ann.key, `GET ${second}`)).status).toBe(404)
  })

  test('takes a key for all of its user', async () => {
    const ann = await join(1)
    const made = await ask(owner, 'POST /api/organizations/', { name: 'Third' })
    const third = `/api/organizations/${textOf(made.json, 'id')}/`
    const invite = await ask(owner, `POST ${third}invites/`, {})
    const path = signupPath(textOf(invite.json, 'link'))
    for (const limit of [
      { scopes: ['query:read'] },
      { scopes: ['user:read', 'organization:write', 'organization_member:write'] },
      { scopes: ['*'], scoped_teams: [1] },
      { scopes: ['*'], scoped_organizations: [world.first.organization_id] },
    ]) {
      const key = await makeKey(ann.key, limit)
      const refused = await ask(textOf(key, 'value'), `POST ${path}`)
      expect([refused.status, refused.json['code']]).toEqual([403, 'permission_denied'])
      await ask(ann.key, `DELETE /api/personal_api_keys/${textOf(key, 'id')}/`)
    }
    expect((await ask(ann.key, `GET ${third}`)).status).toBe(404)
    const right = await makeKey(ann.key, { scopes: ['user:write'] })
    expect((await ask(textOf(right, 'value'), `POST ${path}`)).status).toBe(201)
    await ask(owner, `DELETE ${third}`)
  })

  test("ends with its maker's right to make it", async () => {
    const pathOf = ({ json }: Answer) => signupPath(textOf(json, 'link'))
    const make = async (key: string, level: number) =>
      pathOf(await ask(key, `POST ${organization}invites/`, { level }))
    const [gone, lowered] = [await join(8), await join(8)]
    const links = [
      await make(gone.key, 8),
      await make(gone.key, 1),
      await make(lowered.key, 8),
      await make(lowered.key, 1),
    ]
    const kept = await make(owner, 8)
    expect((await ask(owner, `DELETE ${organization}members/${gone.uuid}/`)).status).toBe(204)
    await ask(owner, `PATCH ${organization}members/${lowered.uuid}/`, { level: 1 })
    const body = { first_name: 'Gone', email: 'back@a.example' }
    for (const link of links) {
      expect((await ask(null, `GET ${link}`)).status).toBe(404)
      expect((await ask(gone.key, `POST ${link}`)).status).toBe(404)
      expect((await ask(null, `POST ${link}`, body)).status).toBe(404)
    }
    // Nor does the right bring them back.
    await ask(owner, `PATCH ${organization}members/${lowered.uuid}/`, { level: 8 })
    expect((await ask(null, `GET ${links[2] ?? ''}`)).status).toBe(404)
    expect((await ask(null, `GET ${kept}`)).status).toBe(200)
  })

  test('claims no address for its user: it names one member of an organization, and nobody beyond', async () => {
    const link = async (where: string) =>
      signupPath(textOf((await ask(owner, `POST ${where}invites/`, {})).json, 'link'))
    const body = { first_name: 'Eve', email: 'Victim@a.example' }
    const made = await ask(owner, 'POST /api/organizations/', { name: 'Fourth' })
    const fourth = `/api/organizations/${textOf(made.json, 'id')}/`
    const squatter = await ask(null, `POST ${await link(fourth)}`, body)
    expect(squatter.status).toBe(201)
    const victim = await ask(null, `POST ${await link(organization)}`, body)
    expect(victim.status).toBe(201)
    // Among members of one organization an address is one member's.
    const again = await ask(null, `POST ${await link(organization)}`, body)
    expect([again.status, again.json['code'], again.json['attr']]).toEqual([400, 'unique', 'email'])
    const comes = await ask(
      textOf(squatter.json, 'personal_api_key'),
      `POST ${await link(organization)}`,
    )
    expect([comes.status, comes.json['code']]).toEqual([400, 'unique'])
    await ask(owner, `DELETE ${fourth}`)
  })

  test('ends after three days, and when it is taken back', async () => {
    const [old, taken] = [
      await ask(owner, `POST ${organization}invites/`, {}),
      await ask(owner, `POST ${organization}invites/`, {}),
    ]
    const pathOf = ({ json }: Answer) => signupPath(textOf(json, 'link'))
    await ask(owner, `DELETE ${organization}invites/${textOf(taken.json, 'id')}/`)
    expect((await ask(null, `GET ${pathOf(taken)}`)).status).toBe(404)
    expect((await ask(null, `GET ${pathOf(old)}`)).status).toBe(200)
    clock.now_ms += 3 * 24 * 3600 * 1000
    expect((await ask(null, `GET ${pathOf(old)}`)).status).toBe(404)
  })
})

describe('levels', () => {
  test('bound what members do to the organization, its projects and each other', async () => {
    const member = await join(1)
    const admin = await join(8)
    const rows: readonly (readonly [key: string, line: string, body: Json, status: number])[] = [
      [member.key, `GET ${organization}`, {}, 200],
      [member.key, `PATCH ${organization}`, { name: 'x' }, 403],
      [member.key, `POST ${organization}projects/`, {}, 403],
      [member.key, `PATCH ${organization}projects/1/`, { name: 'by a member' }, 200],
      [member.key, `PATCH ${organization}projects/1/`, { access_control: true }, 403],
      [member.key, `PATCH ${organization}projects/1/reset_token/`, {}, 403],
      [member.key, `DELETE ${organization}projects/1/`, {}, 403],
      [member.key, `POST ${organization}invites/`, {}, 403],
      [member.key, `PATCH ${organization}members/${admin.uuid}/`, { level: 1 }, 403],
      [member.key, `PATCH ${organization}members/${member.uuid}/`, { level: 15 }, 403],
      [member.key, `DELETE ${organization}`, {}, 403],
      [member.key, `GET ${organization}activity_log/`, {}, 403],
      [admin.key, `DELETE ${organization}`, {}, 403],
      [admin.key, `POST ${organization}invites/`, { level: 15 }, 403],
      [admin.key, `PATCH ${organization}members/${member.uuid}/`, { level: 15 }, 403],
      [admin.key, `PATCH ${organization}members/${member.uuid}/`, { level: 2 }, 400],
      [admin.key, `PATCH ${organization}members/${admin.uuid}/`, { level: 1 }, 403],
      [admin.key, `PATCH ${organization}members/${member.uuid}/`, { level: 8 }, 200],
      [admin.key, `PATCH ${organization}`, { name: 'Renamed' }, 200],
      [owner, `PATCH ${organization}members/${member.uuid}/`, { level: 15 }, 200],
      [member.key, `DELETE ${organization}members/${member.uuid}/`, {}, 204],
      [member.key, `GET ${organization}`, {}, 404],
    ]
    for (const [key, line, body, status] of rows) {
      const answer = await ask(key, line, line.startsWith('GET') ? undefined : body)
      expect([line, body, answer.status]).toEqual([line, body, status])
    }
    const me = textOf((await ask(owner, 'GET /api/users/@me/')).json, 'uuid')
    expect((await ask(owner, `DELETE ${organization}members/${me}/`)).json['attr']).toBe('level')
  })

  test('of a project keep members out, and let single ones in', async () => {
    const member = await join(1)
    const project = await ask(owner, `POST ${organization}projects/`, { name: 'Private' })
    const path = `/api/projects/${textOf(project.json, 'id')}/`
    expect((await ask(member.key, `GET ${path}`)).status).toBe(200)
    const closed = await ask(owner, `PUT ${path}access_controls/`, { access_level: 'none' })
    expect(closed.json).toMatchObject({
      id: project.json['id'],
      access_control: true,
      default_access_level: 'none',
      user_access_level: 'admin',
      user_can_edit_access_levels: true,
      available_access_levels: ['none', 'member', 'admin'],
      access_controls: [{ resource: 'project', access_level: 'none', organization_member: null }],
    })
    expect((await ask(member.key, `GET ${path}`)).status).toBe(404)
    expect((await ask(member.key, 'GET /api/projects/?limit=1000')).text).not.toContain('Private')
    const mine = { access_level: 'member', organization_member: member.uuid }
    await ask(owner, `PUT ${path}access_controls/`, mine)
    expect((await ask(member.key, `GET ${path}`)).json['effective_membership_level']).toBe(1)
    expect((await ask(member.key, `DELETE ${path}`)).status).toBe(403)
    expect((await ask(member.key, `PUT ${path}access_controls/`, mine)).status).toBe(403)
    await ask(owner, `PUT ${path}access_controls/`, { ...mine, access_level: 'admin' })
    expect((await ask(member.key, `GET ${path}`)).json['effective_membership_level']).toBe(8)
    await ask(owner, `PUT ${path}access_controls/`, { ...mine, access_level: null })
    expect((await ask(member.key, `GET ${path}`)).status).toBe(404)
    await ask(owner, `PATCH ${path}`, { access_control: false })
    expect((await ask(member.key, `GET ${path}access_controls/`)).json).toMatchObject({
      default_access_level: 'member',
      user_access_level: 'member',
      user_can_edit_access_levels: false,
    })
    const stranger = { access_level: 'member', organization_member: crypto.randomUUID() }
    const refused = await ask(owner, `PUT ${path}access_controls/`, stranger)
    expect([refused.status, refused.json['attr']]).toEqual([400, 'organization_member'])
    const log = await ask(owner, `GET ${path}activity/`)
    expect(log.text).toContain('"field":"access:project","before":null,"after":"none"')
  })

  test('of a kind of thing bound what members do with it', async () => {
    const member = await join(1)
    const path = '/api/projects/1/'
    const flags = `GET ${path}feature_flags/`
    const make = () => ask(member.key, `POST ${path}feature_flags/`, { key: crypto.randomUUID() })
    const set = (access_level: string | null) =>
      ask(owner, `PUT ${path}global_access_controls/`, { resource: 'feature_flag', access_level })
    expect([(await ask(member.key, flags)).status, (await make()).status]).toEqual([200, 201])
    expect((await set('viewer')).json).toMatchObject({
      access_controls: [{ resource: 'feature_flag', access_level: 'viewer' }],
      available_resources: expect.arrayContaining(['feature_flag', 'query']),
    })
    expect([(await ask(member.key, flags)).status, (await make()).status]).toEqual([200, 403])
    await set('none')
    expect([(await ask(member.key, flags)).status, (await ask(owner, flags)).status]).toEqual([
      403, 200,
    ])
    await set(null)
    expect((await make()).status).toBe(201)
    const body = { resource: 'organization', access_level: 'none' }
    const refused = await ask(owner, `PUT ${path}global_access_controls/`, body)
    expect([refused.status, refused.json['code']]).toEqual([400, 'invalid_choice'])
  })
})

test('what is hidden from a member is in no table and on no dashboard of theirs', async () => {
  const member = await join(1)
  const path = '/api/projects/1/'
  const board = textOf((await ask(owner, `POST ${path}dashboards/`, { name: 'board' })).json, 'id')
  const saved = {
    name: 'hidden insight',
    query: { kind: 'HogQLQuery', query: 'select 1' },
    dashboards: [Number(board)],
  }
  expect((await ask(owner, `POST ${path}insights/`, saved)).status).toBe(201)
  const query = { kind: 'HogQLQuery', query: 'select name from system.insights' }
  const ids = 'select toUUID(name) as person_id from system.insights'
  const behind = {
    kind: 'ActorsQuery',
    select: ['id'],
    source: { kind: 'HogQLQuery', query: ids },
  }
  const see = async (key: string) => [
    await ask(key, `POST ${path}query/`, { query }),
    await ask(key, `POST ${path}query/`, { query: behind, refresh: 'force_blocking' }),
    await ask(key, `GET ${path}dashboards/${board}/`),
  ]
  const set = (access_level: string | null) =>
    ask(owner, `PUT ${path}global_access_controls/`, { resource: 'insight', access_level })
  for (const answer of [(await see(member.key))[0], (await see(member.key))[2]]) {
    expect(answer?.text).toContain('hidden insight')
  }
  const told = 'You do not have access to what this query reads: system.insights.'
  await set('none')
  const hidden = await see(member.key)
  expect(hidden.map(({ status, json }) => [status, json['detail']])).toEqual([
    [403, told],
    [403, told],
    [200, undefined],
  ])
  for (const { text } of hidden) expect(text).not.toContain('hidden insight')
  expect((await see(owner))[0]?.text).toContain('hidden insight')
  await set(null)
})

test('flags that are hidden from a member in one project are on no road through others', async () => {
  const member = await join(1)
  const made = await ask(owner, 'POST /api/projects/', { name: 'Hidden' })
  const hidden = Number(textOf(made.json, 'id'))
  const token = String(made.json['api_token'])
  const key = 'hidden-flag'
  const payloads = { true: '"secret"' }
  const filters = { groups: [{ properties: [], rollout_percentage: 100 }], payloads }
  for (const project_id of [hidden, 1]) {
    const flag = { key, filters, is_remote_configuration: true }
    expect((await ask(owner, `POST /api/projects/${project_id}/feature_flags/`, flag)).status).toBe(
      201,
    )
  }
  const copy = (from: number, to: number) =>
    ask(member.key, 'POST /api/organizations/@current/feature_flags/copy_flags/', {
      feature_flag_key: key,
      from_project: from,
      target_project_ids: [to],
    })
  const see = async () =>
    Promise.all([
      ask(member.key, `GET /api/feature_flag/local_evaluation/?token=${token}`),
      ask(member.key, `GET /flags/definitions?token=${token}`),
      ask(member.key, `GET /api/projects/1/feature_flags/${key}/remote_config/?token=${token}`),
    ])
  const set = (access_level: string | null) =>
    ask(owner, `PUT /api/projects/${hidden}/global_access_controls/`, {
      resource: 'feature_flag',
      access_level,
    })
  const everywhere = () => ask(member.key, `GET /api/organizations/@current/feature_flags/${key}/`)
  expect((await see()).map(({ status }) => status)).toEqual([200, 200, 200])
  expect((await everywhere()).text).toContain(`"team_id":${hidden},`)
  expect((await copy(1, hidden)).json['failed']).toEqual([])

  await set('viewer')
  expect((await see()).map(({ status }) => status)).toEqual([200, 200, 200])
  expect((await copy(1, hidden)).json).toEqual({
    success: [],
    failed: [
      {
        project_id: hidden,
        error_message: 'You do not have editor access to this resource.',
      },
    ],
  })
  await set('none')
  expect((await see()).map(({ status }) => status)).toEqual([403, 403, 403])
  expect((await everywhere()).text).not.toContain(`"team_id":${hidden},`)
  expect((await copy(hidden, 1)).status).toBe(404)
  expect((await copy(1, hidden)).json['success']).toEqual([])
  await ask(owner, `DELETE /api/projects/${hidden}/`)
})

test('the log of a project is narrowed by kinds and by who made a change', async () => {
  const member = await join(8)
  const path = '/api/projects/1/'
  await ask(member.key, `POST ${path}actions/`, { name: 'of the member' })
  await ask(member.key, `POST ${path}annotations/`, { content: 'of the member' })
  await ask(owner, `POST ${path}actions/`, { name: 'of the owner' })
  const { json: me } = await ask(member.key, 'GET /api/users/@me/')
  const list = async (search: string) => {
    const { json } = await ask(owner, `GET ${path}activity_log/?${search}`)
    return json['results'] as readonly Readonly<Record<string, unknown>>[]
  }
  for (const user of [me['id'], me['uuid']]) {
    const entries = await list(`user=${String(user)}&scopes=Action,Cohort`)
    expect(entries).toMatchObject([
      {
        scope: 'Action',
        detail: { name: 'of the member' },
        user: { id: me['id'], uuid: me['uuid'], email: me['email'] },
        organization_id: expect.any(String),
        unread: false,
        was_impersonated: false,
        is_system: false,
      },
    ])
  }
  const both = await list('scopes=Action&scopes=Annotation&page_size=3')
  const scopes = both.map(({ scope }) => scope)
  expect(scopes).toEqual(['Action', 'Annotation', 'Action'])
  expect(await list('user=999999')).toEqual([])
})

test('what is hidden from a member is in no log of theirs', async () => {
  const member = await join(1)
  const path = '/api/projects/1/'
  const flag = { key: 'hush', filters: { groups: [{ properties: [], rollout_percentage: 37 }] } }
  const id = textOf((await ask(owner, `POST ${path}feature_flags/`, flag)).json, 'id')
  await ask(owner, `POST ${path}annotations/`, { content: 'open' })
  const see = () =>
    Promise.all([
      ask(member.key, `GET ${path}activity_log/?limit=1000`),
      ask(member.key, `GET ${path}feature_flags/activity/`),
      ask(member.key, `GET ${path}feature_flags/${id}/activity/`),
      ask(member.key, `GET ${path}activity_log/?scope=FeatureFlag`),
    ])
  const set = (access_level: string | null) =>
    ask(owner, `PUT ${path}global_access_controls/`, { resource: 'feature_flag', access_level })
  for (const { text } of await see()) expect(text).toContain('hush')
  await set('none')
  const hidden = await see()
  expect(hidden.map(({ status }) => status)).toEqual([200, 403, 403, 200])
  for (const { text } of hidden) expect(text).not.toContain('hush')
  expect(hidden[0].text).toContain('open')
  expect(hidden[3].json['count']).toBe(0)
  expect((await ask(owner, `GET ${path}feature_flags/activity/`)).text).toContain('hush')
  await set(null)
})

test('cohorts that are hidden from a member are not told with their persons', async () => {
  const member = await join(1)
  const path = '/api/projects/1/'
  const see = () =>
    ask(
      member.key,
      `GET ${path}persons/cohorts/?person_id=${'0'.repeat(8)}-0000-5000-8000-${'0'.repeat(12)}`,
    )
  const set = (access_level: string | null) =>
    ask(owner, `PUT ${path}global_access_controls/`, { resource: 'cohort', access_level })
  expect((await see()).status).toBe(404)
  await set('none')
  expect((await see()).status).toBe(403)
  await set(null)
  expect((await see()).status).toBe(404)
})

describe('organizations and the user', () => {
  test('are made, renamed, chosen as the current one and deleted', async () => {
    const made = await ask(owner, 'POST /api/organizations/', { name: 'Third' })
    expect(made.json).toMatchObject({ name: 'Third', membership_level: 15, projects: [] })
    const id = textOf(made.json, 'id')
    const first = await ask(owner, 'GET /api/organizations/@current/')
    expect(first.json['id']).toBe(world.first.organization_id)
    const chosen = await ask(owner, 'PATCH /api/users/@me/', {
      set_current_organization: id,
      first_name: 'Olga',
      email: 'ignored@a.example',
    })
    expect(chosen.json).toMatchObject({ organization: { id }, first_name: 'Olga', email: null })
    expect((await ask(owner, 'GET /api/organizations/@current')).json['id']).toBe(id)
    const project = await ask(owner, 'POST /api/projects/', { name: 'In third' })
    expect(project.json).toMatchObject({ organization: id, name: 'In third' })
    await ask(owner, 'PATCH /api/users/@me/', { set_current_team: 1 })
    expect((await ask(owner, 'GET /api/projects/@current')).json['id']).toBe(1)
    expect((await ask(owner, 'PATCH /api/users/@me/', { set_current_team: 999 })).status).toBe(404)
    for (const method of ['PATCH', 'PUT']) {
      const renamed = await ask(owner, `${method} /api/organizations/${id}/`, { name: method })
      expect(renamed.json).toMatchObject({ id, name: method, slug: 'third' })
    }
    expect((await ask(owner, `DELETE /api/organizations/${id}/`)).status).toBe(204)
    expect((await ask(owner, `GET /api/projects/${textOf(project.json, 'id')}/`)).status).toBe(404)
  })

  test.each([
    [{}, 'required'],
    [{ name: '' }, 'blank'],
    [{ name: 'x'.repeat(65) }, 'max_length'],
    [{ name: { $ne: 1 } }, 'invalid_input'],
  ])('an organization is refused the body %j', async (body, code) => {
    const { status, json } = await ask(owner, 'POST /api/organizations/', body)
    expect([status, json['code'], json['attr']]).toEqual([400, code, 'name'])
  })
})

test('a key in the query string is refused, and the refusal says where it belongs', async () => {
  const answer = await world.send(`/api/users/@me/?personal_api_key=${owner}`)
  expect(answer.status).toBe(401)
  expect(await answer.json()).toMatchObject({
    code: 'not_authenticated',
    detail: expect.stringContaining('Authorization header'),
  })
})

test('members have all that clients read of them', async () => {
  const { organization_id } = world.first
  const answer = await world.send(`/api/organizations/${organization_id}/members/`, {
    headers: { Authorization: `Bearer ${owner}` },
  })
  const { results } = JSON.parse(await answer.text())
  expect(results[0]).toMatchObject({
    updated_at: results[0].joined_at,
    is_2fa_enabled: false,
    has_social_auth: false,
    last_login: null,
    user: { is_email_verified: null, hedgehog_config: null },
  })
})

test('organizations and users have all that clients read of them', async () => {
  expect((await ask(owner, 'GET /api/organizations/@current/')).json).toMatchObject({
    logo_media_id: null,
    plugins_access_level: 3,
    available_product_features: [],
    customer_id: null,
    is_member_join_email_enabled: false,
    metadata: {},
  })
  expect((await ask(owner, 'GET /api/users/@me/')).json).toMatchObject({
    is_email_verified: null,
    has_password: false,
    is_staff: false,
    notification_settings: {},
    theme_mode: null,
  })
})

test.each([
  ['capacitor://localhost', 200],
  ['https://*.shop.example', 200],
  ['javascript:alert(1)', 400],
  ['https://shop.example/path', 400],
])('the recording domain %s is answered %d', async (domain, status) => {
  const answer = await world.send('/api/projects/1/', {
    method: 'PATCH',
    headers: { Authorization: `Bearer ${owner}` },
    body: JSON.stringify({ recording_domains: [domain] }),
  })
  expect(answer.status).toBe(status)
})
