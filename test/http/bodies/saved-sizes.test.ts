/** How large what a project keeps may be: member by member, and all things of a kind together. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { manage } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

let world: World

beforeAll(async () => {
  world = await openWorld({ saved_bytes_max: 600_000, organizations_max: 2, projects_max: 2 })
})
beforeEach(() => world.resetControl())
afterAll(() => world.close())

const long = (length: number) => 'x'.repeat(length)
const SURVEY = { name: 's', type: 'api', questions: [{ type: 'open', question: 'How?' }] }

describe('a member', () => {
  test.each<[string, string, object]>([
    ['insights', 'name', { name: long(2001) }],
    ['insights', 'description', { description: long(20_001) }],
    ['insights', 'query', { query: { kind: 'HogQLQuery', query: long(270_000) } }],
    ['insights', 'filters', { filters: { events: [{ id: long(270_000) }] } }],
    ['dashboards', 'name', { name: long(2001) }],
    ['annotations', 'content', { content: long(60_000) }],
    ['cohorts', 'description', { name: 'c', is_static: true, description: long(20_001) }],
    [
      'feature_flags',
      'filters',
      { key: 'f', filters: { groups: [], payloads: { true: `"${long(270_000)}"` } } },
    ],
    ['surveys', 'questions', { ...SURVEY, questions: [{ type: 'open', question: long(270_000) }] }],
    ['surveys', 'appearance', { ...SURVEY, appearance: { css: long(270_000) } }],
  ])('of %s, %s, is refused by its name when it is too long', async (family, attr, body) => {
    const root = `/api/projects/1/${family}/`
    const before = (await manage(world, 'GET', root)).body['count']
    const refused = await manage(world, 'POST', root, body)
    expect(refused.status).toBe(400)
    expect(String(refused.body['attr'])).toStartWith(attr)
    expect((await manage(world, 'GET', root)).body['count']).toEqual(before)
  })
})

describe('all things of a kind', () => {
  test('have so many bytes together, deleted ones included, and may shrink', async () => {
    const root = '/api/projects/1/insights/'
    const query = { kind: 'HogQLQuery', query: `select '${long(180_000)}'` }
    const ids: number[] = []
    for (let number = 0; number < 3; number += 1) {
      const made = await manage(world, 'POST', root, { name: `i${number}`, query })
      expect(made.status).toBe(201)
      ids.push(Number(made.body['id']))
    }
    const refused = {
      status: 400,
      body: { detail: expect.stringContaining('may keep 600000 bytes'), attr: null },
    }
    expect(await manage(world, 'POST', root, { query })).toMatchObject(refused)
    await manage(world, 'PATCH', `${root}${ids[0]}/`, { deleted: true })
    expect(await manage(world, 'POST', root, { query })).toMatchObject(refused)
    const small = { kind: 'HogQLQuery', query: 'select 1' }
    expect((await manage(world, 'PATCH', `${root}${ids[1]}/`, { query: small })).status).toBe(200)
    expect((await manage(world, 'POST', root, { query })).status).toBe(201)
    expect((await manage(world, 'POST', '/api/projects/1/dashboards/', { name: 'd' })).status).toBe(
      201,
    )
  })
})

test('flags have a quarter of the bytes that insights have, experiments a sixteenth', async () => {
  const root = '/api/projects/1/'
  const payloads = { true: `"${long(120_000)}"` }
  const flag = (key: string) => ({ key, filters: { groups: [], payloads } })
  expect((await manage(world, 'POST', `${root}feature_flags/`, flag('one'))).status).toBe(201)
  expect(await manage(world, 'POST', `${root}feature_flags/`, flag('two'))).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('may keep 150000 bytes') },
  })
  const experiment = { name: 'e', feature_flag_key: 'e', description: long(19_000) }
  expect((await manage(world, 'POST', `${root}experiments/`, experiment)).status).toBe(201)
  const other = { ...experiment, name: 'o', feature_flag_key: 'o' }
  expect(await manage(world, 'POST', `${root}experiments/`, other)).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('may keep 37500 bytes') },
  })
})

test('a query reads no table of definitions that is larger than a compiler should take', async () => {
  const query = { kind: 'HogQLQuery', query: 'select name, length(query) from system.insights' }
  const ask = () =>
    manage(world, 'POST', '/api/projects/1/query/', { query, refresh: 'force_blocking' })
  await manage(world, 'POST', '/api/projects/1/insights/', { name: 'i', query })
  expect((await ask()).body['results']).toEqual([['i', JSON.stringify(query).length]])
  world.needs.control.run(
    sql`update insights set query = '"' || printf('%.*c', 9000000, 'x') || '"'`,
  )
  expect(await ask()).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('system.insights has more than 8388608 bytes') },
  })
})

test('a user owns so many organizations, and an organization has so many projects', async () => {
  const create = async (path: string) => {
    const { status, body } = await manage(world, 'POST', path, { name: 'n' })
    return [status, body['detail']]
  }
  expect(await create('/api/projects/')).toEqual([201, undefined])
  const projects_refused = [400, 'An organization may have 2 projects.']
  expect(await create('/api/projects/')).toEqual(projects_refused)
  expect(await create('/api/organizations/@current/projects/')).toEqual(projects_refused)
  expect(await create('/api/organizations/')).toEqual([201, undefined])
  expect(await create('/api/organizations/')).toEqual([400, 'A user may own 2 organizations.'])
})

test('a page of insights reads no query but its own', async () => {
  const root = '/api/projects/1/insights/'
  for (const number of [1, 2, 3]) {
    const query = { kind: 'HogQLQuery', query: `select ${number}` }
    await manage(world, 'POST', root, { name: `i${number}`, query })
  }
  // A query that cannot be read at all is noticed by who reads it.
  world.needs.control.run(sql`pragma ignore_check_constraints = 1`)
  world.needs.control.run(sql`update insights set query = 'no JSON' where name = 'i1'`)
  const first = await manage(world, 'GET', `${root}?limit=1`)
  expect(first.body).toMatchObject({
    count: 3,
    results: [{ name: 'i3', query: { query: 'select 3' } }],
  })
  const second = await manage(world, 'GET', `${root}?limit=1&offset=1&search=i`)
  expect(second.body).toMatchObject({ count: 3, results: [{ name: 'i2' }] })
})
