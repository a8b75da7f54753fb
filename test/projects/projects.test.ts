/** Organizations, projects and keys in control.db: what is made, what is kept, who sees what. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal } from '../../src/errors.ts'
import { createFirstThings } from '../../src/projects/bootstrap.ts'
import { createApiKey, findApiKey } from '../../src/projects/keys/api-key.ts'
import {
  createOrganization,
  findMembership,
  getOrganizationOwner,
  listOrganizations,
} from '../../src/projects/organization.ts'
import {
  getCaller,
  getVisibleOrganization,
  getVisibleProject,
  listVisibleProjects,
  requireScope,
} from '../../src/projects/rights/access.ts'
import { allows, parseScopes } from '../../src/projects/rights/scopes.ts'
import { raiseProjectIds } from '../../src/projects/settings/home.ts'
import {
  createProject,
  findProject,
  listProjects,
  markIngested,
} from '../../src/projects/settings/project.ts'
import { users } from '../../src/projects/tables.ts'
import { type Control, openControl } from '../../src/storage/control/control-db.ts'

const NOW = new Date('2026-01-02T03:04:05.678Z')
const NOTHING_PRESET = { api_token: null, personal_api_key: null }

let data_dir = ''
let control: Control
beforeEach(() => {
  data_dir = mkdtempSync(join(tmpdir(), 'tidemark-projects-'))
  control = openControl(data_dir)
})
afterEach(() => {
  control.close()
  rmSync(data_dir, { recursive: true, force: true })
})

function refusalOf(work: () => unknown): { code: string; attr: string | null } | null {
  try {
    work()
    return null
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { code: error.code, attr: error.attr }
  }
}

/** Two organizations with two projects each, and the owner of both. */
function twoOrganizations() {
  const [acme, other] = ['Acme', 'Other'].map((name) => {
    const organization = createOrganization(control.db, { name }, NOW)
    const projects = ['one', 'two'].map((project) =>
      createProject(control.db, { organization_id: organization.id, name: project }, NOW),
    )
    return { organization, projects }
  })
  if (acme === undefined || other === undefined) throw new Error('unreachable')
  return { acme, other }
}

function keyFor(reach: {
  readonly organization_id?: string
  readonly project_id?: number
  readonly scopes?: readonly string[]
}): string {
  const first = listOrganizations(control.db)[0]
  if (first === undefined) throw new Error('make an organization first')
  const wanted = {
    user_id: getOrganizationOwner(control.db, first.id),
    label: 'test',
    scopes: reach.scopes ?? ['*'],
    organization_id: reach.organization_id ?? null,
    project_id: reach.project_id ?? null,
  }
  return createApiKey(control.db, wanted, NOW).value
}

describe('the first start', () => {
  test('makes an organization, a project, an owner and a key for everything, once', () => {
    const first = createFirstThings(control.db, NOTHING_PRESET, NOW)
    expect(first).toEqual({
      organization_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      project_id: 1,
      api_token: expect.stringMatching(/^phc_[0-9A-Za-z]{35,43}$/),
      personal_api_key: expect.stringMatching(/^phx_[0-9A-Za-z]{39,48}$/),
    })
    expect(createFirstThings(control.db, NOTHING_PRESET, NOW)).toBeNull()
    const caller = getCaller(control.db, first?.personal_api_key ?? null, NOW)
    expect(caller.scopes).toEqual(['*'])
    expect(getVisibleProject(control.db, caller, '1')).toMatchObject({ level: 15 })
  })

  test('takes preset keys', () => {
    const presets = { api_token: 'phc_preset', personal_api_key: 'phx_preset_for_tests' }
    expect(createFirstThings(control.db, presets, NOW)).toMatchObject(presets)
    expect(findApiKey(control.db, 'phx_preset_for_tests', NOW)).toMatchObject({ mask_value: '...' })
  })
})

describe('an organization', () => {
  test('belongs to the instance owner, whoever makes it', () => {
    const one = createOrganization(control.db, { name: 'Acme' }, NOW)
    const two = createOrganization(control.db, { name: 'acme!' }, NOW)
    expect(control.db.select().from(users).all()).toHaveLength(1)
    expect(
      findMembership(control.db, two.id, getOrganizationOwner(control.db, one.id)),
    ).toMatchObject({
      level: 15,
      joined_at: NOW,
    })
    expect(one.slug).toBe('acme')
    expect(two.slug).toMatch(/^acme-[0-9a-f]{12}$/)
  })

  test.each([
    ['', 'blank'],
    ['  \0 ', 'blank'],
    ['x'.repeat(65), 'max_length'],
  ])('is refused the name %p', (name, code) => {
    expect(refusalOf(() => createOrganization(control.db, { name }, NOW))).toEqual({
      code,
      attr: 'name',
    })
  })
})

describe('a project', () => {
  test('has the defaults of the interface, the same in drizzle and in SQL', () => {
    const { id } = createOrganization(control.db, { name: 'Acme' }, NOW)
    const made = createProject(control.db, { organization_id: id, name: 'Web' }, NOW)
    expect(made).toMatchObject({
      id: 1,
      name: 'Web',
      created_at: NOW,
      app_urls: [],
      anonymize_ips: false,
      ingested_event: false,
      path_cleaning_filters: [],
      timezone: 'UTC',
      data_attributes: ['data-attr'],
      correlation_config: {},
      capture_console_log_opt_in: true,
      capture_performance_opt_in: true,
      session_recording_opt_in: false,
      week_start_day: null,
      test_account_filters: [
        {
          key: '$host',
          operator: 'not_regex',
          value: '^(localhost|127\\.0\\.0\\.1)($|:)',
          type: 'event',
        },
      ],
    })
    const db = new Database(join(data_dir, 'control.db'), { strict: true })
    db.run(
      `insert into projects (uuid, organization_id, api_token, name, created_at, updated_at, test_account_filters)
       select 'uuid', organization_id, 'phc_sql', name, created_at, updated_at, test_account_filters from projects`,
    )
    db.close()
    const {
      id: _id,
      uuid: _uuid,
      api_token: _token,
      primary_dashboard,
      ...rest
    } = findProject(control.db, 2) ?? made
    expect({ ...made, ...rest }).toEqual(made)
    expect([made.primary_dashboard, primary_dashboard]).toEqual([1, 2])
    expect(findProject(control.db, 2)?.api_token).toBe('phc_sql')
  })

  test('keeps times as microseconds, as events.db does', () => {
    createFirstThings(control.db, NOTHING_PRESET, NOW)
    const db = new Database(join(data_dir, 'control.db'), { readonly: true })
    expect(db.query('select created_at from projects').get()).toEqual({
      created_at: 1767323045678000,
    })
    db.close()
  })

  test('notes its first event', () => {
    createFirstThings(control.db, NOTHING_PRESET, NOW)
    markIngested(control.db, 1)
    expect(findProject(control.db, 1)?.ingested_event).toBe(true)
  })

  test('needs an organization that exists and a name', () => {
    const { id } = createOrganization(control.db, { name: 'Acme' }, NOW)
    const create = (organization_id: string, name: string) => () =>
      createProject(control.db, { organization_id, name }, NOW)
    expect(refusalOf(create('nowhere', 'Web'))).toEqual({ code: 'not_found', attr: 'organization' })
    expect(refusalOf(create(id, ' '))).toEqual({ code: 'blank', attr: 'name' })
    expect(refusalOf(create(id, 'x'.repeat(201)))).toEqual({ code: 'max_length', attr: 'name' })
    expect(listProjects(control.db, id)).toEqual([])
  })

  test('never gets the number of a deleted one', () => {
    const { id } = createOrganization(control.db, { name: 'Acme' }, NOW)
    createProject(control.db, { organization_id: id, name: 'one' }, NOW)
    control.db.run('delete from projects')
    expect(createProject(control.db, { organization_id: id, name: 'two' }, NOW).id).toBe(2)
  })
})

describe('the numbers of projects', () => {
  test('begin at the least one of their server, also on an empty folder', () => {
    raiseProjectIds(control.db, 1_000_001)
    expect(createFirstThings(control.db, NOTHING_PRESET, NOW)?.project_id).toBe(1_000_001)
  })

  test('go on from there, and never back', () => {
    const { acme } = twoOrganizations()
    const organization_id = acme.organization.id
    const ids = [100, 50, 1].map((id_min) => {
      raiseProjectIds(control.db, id_min)
      return createProject(control.db, { organization_id, name: 'more' }, NOW).id
    })
    expect(ids).toEqual([100, 101, 102])
  })
})

describe('a key', () => {
  test('is stored only as a hash', () => {
    const first = createFirstThings(control.db, NOTHING_PRESET, NOW)
    control.db.run('pragma wal_checkpoint(truncate)')
    const bytes = readFileSync(join(data_dir, 'control.db'), 'latin1')
    expect(bytes).toContain(first?.api_token ?? '')
    expect(bytes).not.toContain(first?.personal_api_key.slice(4) ?? '')
  })

  test('is found by its value alone, and its use is noted once an hour', () => {
    const value = createFirstThings(control.db, NOTHING_PRESET, NOW)?.personal_api_key ?? ''
    const later = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000)
    const used = () => findApiKey(control.db, value, later(59))?.last_used_at
    expect(findApiKey(control.db, `${value}x`, NOW)).toBeNull()
    expect(findApiKey(control.db, '', NOW)).toBeNull()
    findApiKey(control.db, value, NOW)
    expect(used()).toEqual(NOW)
    findApiKey(control.db, value, later(61))
    expect(used()).toEqual(later(61))
  })

  test('is found also while its use cannot be noted', () => {
    const value = createFirstThings(control.db, NOTHING_PRESET, NOW)?.personal_api_key ?? ''
    control.db.run('pragma query_only = 1')
    expect(findApiKey(control.db, value, NOW)?.last_used_at).toBeNull()
    control.db.run('pragma query_only = 0')
    findApiKey(control.db, value, NOW)
    expect(findApiKey(control.db, value, NOW)?.last_used_at).toEqual(NOW)
  })

  test('cannot be limited to a project of another organization', () => {
    const { acme, other } = twoOrganizations()
    const foreign = other.projects[0]?.id ?? 0
    const organization_id = acme.organization.id
    const refused = { code: 'not_found', attr: 'project' }
    expect(refusalOf(() => keyFor({ organization_id, project_id: foreign }))).toEqual(refused)
    expect(refusalOf(() => keyFor({ organization_id, project_id: 99 }))).toEqual(refused)
    expect(refusalOf(() => keyFor({ organization_id: 'nowhere' }))).toEqual({
      code: 'not_found',
      attr: 'organization',
    })
  })

  test.each([
    [[], 'required'],
    [['query'], 'invalid_input'],
    [['query:admin'], 'invalid_input'],
    [['query:read', 'nothing:read'], 'invalid_input'],
    [['__proto__'], 'invalid_input'],
  ])('is refused the scopes %p', (scopes, code) => {
    expect(refusalOf(() => parseScopes(scopes))).toEqual({ code, attr: 'scopes' })
  })

  test.each([
    [['*'], 'project:write', true],
    [['project:write'], 'project:write', true],
    [['project:write'], 'project:read', true],
    [['project:read'], 'project:write', false],
    [['query:read'], 'project:read', false],
  ] as const)('with scopes %p and %s needed: %p', (scopes, needed, allowed) => {
    expect(allows(scopes, needed)).toBe(allowed)
    const reach = { scoped_organizations: null, scoped_projects: null, expires_at: null }
    const caller = { id: 'key', user_id: 1, scopes, ...reach }
    expect(refusalOf(() => requireScope(caller, needed))?.code ?? 'allowed').toBe(
      allowed ? 'allowed' : 'permission_denied',
    )
  })
})

describe('to an asker', () => {
  test('everything of their organizations is there', () => {
    twoOrganizations()
    const caller = getCaller(control.db, keyFor({}), NOW)
    expect(listVisibleProjects(control.db, caller).map(({ id }) => id)).toEqual([1, 2, 3, 4])
    expect(getVisibleProject(control.db, caller, '@current').item.id).toBe(1)
    expect(getVisibleOrganization(control.db, caller, '@current').item.name).toBe('Acme')
  })

  test('other organizations do not exist, whether the key or the user keeps them out', () => {
    const { acme, other } = twoOrganizations()
    const limited = getCaller(control.db, keyFor({ organization_id: other.organization.id }), NOW)
    const stranger = { ...limited, user_id: 99, scoped_organizations: null }
    const gone = { code: 'not_found', attr: null }
    for (const id of ['1', '2']) {
      expect(refusalOf(() => getVisibleProject(control.db, limited, id))).toEqual(gone)
      expect(refusalOf(() => getVisibleProject(control.db, stranger, id))).toEqual(gone)
    }
    expect(
      refusalOf(() => getVisibleOrganization(control.db, limited, acme.organization.id)),
    ).toEqual(gone)
    expect(getVisibleProject(control.db, limited, '@current').item.id).toBe(3)
    expect(listVisibleProjects(control.db, stranger)).toEqual([])
  })

  test('siblings of the projects their key is limited to are refused', () => {
    const { acme } = twoOrganizations()
    const value = keyFor({ organization_id: acme.organization.id, project_id: 2 })
    const caller = getCaller(control.db, value, NOW)
    expect(getVisibleProject(control.db, caller, '2').item.name).toBe('two')
    expect(getVisibleProject(control.db, caller, '@current').item.id).toBe(2)
    expect(refusalOf(() => getVisibleProject(control.db, caller, '1'))?.code).toBe(
      'permission_denied',
    )
    expect(refusalOf(() => getVisibleProject(control.db, caller, '3'))?.code).toBe('not_found')
  })

  test.each([
    '0',
    '01',
    '1.0',
    ' 1',
    '1 ',
    '-1',
    '+1',
    '0x1',
    '1e0',
    '99',
    '9'.repeat(30),
    '',
    'one',
    "1' or '1",
  ])('a project id spelt %p is none', (id) => {
    createFirstThings(control.db, NOTHING_PRESET, NOW)
    const caller = getCaller(control.db, keyFor({}), NOW)
    expect(refusalOf(() => getVisibleProject(control.db, caller, id))).toEqual({
      code: 'not_found',
      attr: null,
    })
  })
})
