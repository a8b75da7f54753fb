/** Lists of cohorts, lists of people by their addresses, and how cohorts were worked out. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { getOrganizationOwner } from '../../../../src/projects/organization.ts'
import { joinWorld } from '../../shared-world.ts'
import { capture, manage } from '../flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

const COHORTS = `/api/projects/${project_id}/cohorts/`

beforeAll(async () => {
  const person = (distinct_id: string, email: unknown) => ({
    event: 'seen',
    distinct_id,
    properties: { $set: { name: distinct_id, email } },
  })
  await capture(
    world,
    person('ann', 'Ann@shop.example'),
    person('bob', 'bob@shop.example'),
    person('cat', 7),
    person('twin', 'ann@shop.example'),
  )
})

const create = (body: object) => manage(world, 'POST', COHORTS, body)
const idOf = async (body: object): Promise<number> => Number((await create(body)).body['id'])
const filtersOn = (...values: readonly object[]) => ({ properties: { type: 'AND', values } })
const plan = { type: 'person', key: 'name', value: 'ann', operator: 'exact' }

const upload = async (method: string, path: string, csv: string) => {
  const form = new FormData()
  form.set('name', `upload ${crypto.randomUUID()}`)
  form.set('is_static', 'true')
  form.set('csv', new Blob([csv]), 'people.csv')
  const headers = { Authorization: `Bearer ${world.first.personal_api_key}` }
  const answer = await world.send(path, { method, headers, body: form })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}
const namesIn = async (id: unknown) => {
  const { body } = await manage(world, 'GET', `${COHORTS}${String(id)}/persons/`)
  return (body['results'] as { name: string }[]).map(({ name }) => name).toSorted()
}

test('people are uploaded by e-mail address, in small and large letters alike', async () => {
  const csv = 'name,E-mail\r\nAnn,ann@SHOP.example\r\nNobody,no@shop.example\r\nSeven,7\r\n'
  const made = await upload('POST', COHORTS, csv)
  expect(made).toMatchObject({ status: 201, body: { count: 2, is_static: true } })
  const { id } = made.body
  expect(await namesIn(id)).toHaveLength(2)
  const more = await upload('PATCH', `${COHORTS}${String(id)}/`, 'distinct_id\nbob\n')
  expect(more.body['count']).toBe(3)
  expect((await upload('POST', COHORTS, 'bob\ncat\n')).body['count']).toBe(2)
})

test('a change that comes while another one is still being sent is kept', async () => {
  const path = `${COHORTS}${await idOf({ name: 'before', is_static: true })}/`
  const sending = Promise.withResolvers<void>()
  const body = new ReadableStream({
    async start(controller) {
      await sending.promise
      controller.enqueue(new TextEncoder().encode('{"description":"people"}'))
      controller.close()
    },
  })
  const headers = {
    Authorization: `Bearer ${world.first.personal_api_key}`,
    'Content-Type': 'application/json',
  }
  const slow = world.send(path, { method: 'PATCH', headers, body })
  await Bun.sleep(10)
  await manage(world, 'PATCH', path, { name: 'after' })
  sending.resolve()
  expect(await (await slow).json()).toMatchObject({ name: 'after', description: 'people' })
})

test.each(['', 'name,plan\nann,pro\n', ',,\n,\n', 'distinct_id\n'])(
  'a table like %j makes no cohort',
  async (csv) => {
    const before = (await manage(world, 'GET', COHORTS)).body['count']
    expect(await upload('POST', COHORTS, csv)).toMatchObject({ status: 400, body: { attr: 'csv' } })
    expect((await manage(world, 'GET', COHORTS)).body['count']).toBe(before)
  },
)

test('nobody is neither added nor taken out', async () => {
  const path = `${COHORTS}${await idOf({ is_static: true })}/`
  const change = (what: string, body: object) => manage(world, 'PATCH', `${path}${what}/`, body)
  expect(await change('add_persons_to_static_cohort', { person_ids: [] })).toMatchObject({
    status: 400,
    body: { code: 'required', attr: 'person_ids' },
  })
  expect(await change('remove_person_from_static_cohort', {})).toMatchObject({
    status: 400,
    body: { code: 'required', attr: 'person_id' },
  })
})

test('cohorts are listed by kind, by who made them and by name', async () => {
  const did = { type: 'behavioral', value: 'performed_event', key: 'seen', event_type: 'events' }
  const times = { time_value: 30, time_interval: 'day' }
  const list = await idOf({ name: 'Listed: people', is_static: true })
  const who = await idOf({ name: 'Listed: who', filters: filtersOn(plan) })
  const done = await idOf({ name: 'Listed: did', filters: filtersOn({ ...did, ...times }) })
  const found = async (query: string) =>
    (
      (await manage(world, 'GET', `${COHORTS}?search=listed&${query}`)).body['results'] as {
        id: number
        cohort_type: string
      }[]
    ).map(({ id, cohort_type }) => [id, cohort_type])
  const kinds = [
    [done, 'behavioral'],
    [who, 'person_property'],
    [list, 'static'],
  ]
  expect(await found('')).toEqual(kinds)
  expect(await found('type=static')).toEqual(kinds.slice(2))
  expect(await found('type=dynamic')).toEqual(kinds.slice(0, 2))
  expect(await found('hide_behavioral_cohorts=true')).toEqual(kinds.slice(1))
  const owner = getOrganizationOwner(world.needs.control, world.first.organization_id)
  expect(await found(`created_by_id=${owner}&limit=1&offset=1`)).toEqual([kinds[1] as never])
  expect(await found('created_by_id=999')).toEqual([])
  expect(await found('basic=true&limit=2')).toHaveLength(2)
})

test('a cohort says which experiments take it for who is exposed', async () => {
  const id = await idOf({ name: 'exposed', filters: filtersOn(plan) })
  const { control } = world.needs
  const made = await manage(world, 'POST', `/api/projects/${project_id}/experiments/`, {
    name: 'Try',
    feature_flag_key: 'try-it',
  })
  control.run(sql`update experiments set exposure_cohort_id = ${id}`)
  const { body } = await manage(world, 'GET', `${COHORTS}${id}/`)
  expect(body['experiment_set']).toEqual([Number(made.body['id'])])
})

test('each time a cohort is worked out is told, the last first', async () => {
  const id = await idOf({ name: 'told', filters: filtersOn(plan) })
  const history = async () =>
    (await manage(world, 'GET', `${COHORTS}${id}/calculation_history/`)).body
  await world.needs.cohorts.look()
  const filters = filtersOn({ ...plan, value: 'bob' })
  await manage(world, 'PATCH', `${COHORTS}${id}/`, { filters })
  await world.needs.cohorts.look()
  expect(await history()).toMatchObject({
    count: 2,
    results: [
      { filters, count: 1, error: null, is_completed: true, is_successful: true },
      { filters: filtersOn(plan), count: 1 },
    ],
  })
  const { body: list } = await manage(world, 'POST', COHORTS, { is_static: true })
  const path = `${COHORTS}${String(list['id'])}/calculation_history/`
  expect((await manage(world, 'GET', path)).body['results']).toEqual([])
})

test('the latest hundred times are kept, and one that failed says so', async () => {
  const id = await idOf({ name: 'often', filters: filtersOn(plan) })
  await world.needs.cohorts.look()
  const { control } = world.needs
  for (let time = 0; time < 150; time += 1) {
    control.run(
      sql`insert into cohort_calculations (cohort_id, started_at, finished_at) values (${id}, ${time}, ${time})`,
    )
  }
  control.run(
    sql`update cohorts set filters = '{"properties":{"type":"AND","values":7}}', version = 2 where id = ${id}`,
  )
  world.needs.flags.expectChange()
  await world.needs.cohorts.look()
  const { body } = await manage(world, 'GET', `${COHORTS}${id}/calculation_history/?limit=1`)
  expect(body).toMatchObject({
    count: 100,
    results: [{ count: null, is_completed: true, is_successful: false }],
  })
  expect(JSON.stringify(body)).toContain('The conditions cannot be evaluated: invalid_definition.')
})

test('people of a cohort are searched, and selected by their properties', async () => {
  const { id } = (await upload('POST', COHORTS, 'distinct_id\nann\nbob\ncat\n')).body
  const names = async (query: string) => {
    const path = `${COHORTS}${String(id)}/persons/?${query}`
    const { status, body } = await manage(world, 'GET', path)
    if (status !== 200) return [status, body['attr']]
    return (body['results'] as { name: string }[]).map(({ name }) => name).toSorted()
  }
  const filters = (...list: readonly object[]) =>
    `properties=${encodeURIComponent(JSON.stringify(list))}`
  const bob = { type: 'person', key: 'name', value: 'bob', operator: 'exact' }
  const ann = await names('search=ann@shop')
  expect(ann).toHaveLength(1)
  expect(await names('search=twin')).toEqual([])
  expect(await names(filters(bob))).toHaveLength(1)
  expect(await names(`search=ann&${filters(bob)}`)).toEqual([])
  expect(await names('search=&properties=[]')).toHaveLength(3)
  expect(await names(`${filters({ ...bob, operator: 'is_not' })}&limit=1`)).toHaveLength(1)
  expect(await names('properties={')).toEqual([400, 'properties'])
  const csv = await world.send(`${COHORTS}${String(id)}/persons/?format=csv&search=bob`, {
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
  })
  expect((await csv.text()).trim().split('\n')).toHaveLength(2)
  const { body } = await manage(
    world,
    'GET',
    `${COHORTS}${String(id)}/persons/?limit=1&${filters({ ...bob, operator: 'is_not' })}`,
  )
  expect(body).toMatchObject({
    next: expect.stringContaining('offset=1'),
    previous: null,
    results: [{}],
  })
})

test('members are listed page by page, each of them once, and none that was deleted', async () => {
  const names = Array.from({ length: 7 }, (_, index) => `page-${index}`)
  await capture(
    world,
    ...names.map((distinct_id) => ({ event: 'seen', distinct_id, properties: { $set: { a: 1 } } })),
  )
  const made = await upload('POST', COHORTS, `distinct_id\n${names.join('\n')}\n`)
  const path = `${COHORTS}${String(made.body['id'])}/persons/`
  const pages = async () => {
    const listed: string[][] = []
    for (let next: unknown = `${path}?limit=3`; typeof next === 'string'; ) {
      const { body } = await manage(world, 'GET', next.replace(/^https?:\/\/[^/]+/, ''))
      listed.push((body['results'] as { id: string }[]).map(({ id }) => id))
      next = body['next']
    }
    return listed
  }
  const before = await pages()
  expect(before.map((page) => page.length)).toEqual([3, 3, 1])
  expect(new Set(before.flat()).size).toBe(7)
  const [gone = ''] = before[1] ?? []
  const deleted = await manage(world, 'DELETE', `/api/projects/${project_id}/persons/${gone}/`)
  expect(deleted.status).toBe(202)
  expect((await pages()).flat()).toEqual(before.flat().filter((id) => id !== gone))
  const { body } = await manage(world, 'GET', `${path}?limit=3&offset=200000`)
  expect([body['results'], body['next']]).toEqual([[], null])
})

describe('a static cohort', () => {
  const people = ['ann', 'bob', 'cat', 'twin']
  const byName = (value: string) => ({
    kind: 'ActorsQuery',
    properties: [{ type: 'person', key: 'name', value, operator: 'exact' }],
  })
  const change = (id: number, body: object) => manage(world, 'PATCH', `${COHORTS}${id}/`, body)
  const countOf = async (id: number) =>
    (await manage(world, 'GET', `${COHORTS}${id}/`)).body['count']

  test('takes the persons of a query also later, and again only if the query changes', async () => {
    const id = await idOf({ name: 'asked', is_static: true, query: byName('ann') })
    expect((await change(id, { query: byName('bob') })).body).toMatchObject({
      count: 2,
      query: byName('bob'),
    })
    const gone = { distinct_ids: ['bob'] }
    await manage(world, 'PATCH', `${COHORTS}${id}/remove_person_from_static_cohort/`, gone)
    const { body } = await change(id, { name: 'renamed', query: byName('bob') })
    expect(body).toMatchObject({ name: 'renamed', count: 1 })
  })

  test('takes the persons of a table and of a list in one form', async () => {
    const form = new FormData()
    form.set('is_static', 'true')
    for (const name of people.slice(0, 2)) form.append('_create_static_person_ids', name)
    form.set('csv', new Blob(['User ID,\ntwin,\n']), 'people.csv')
    const headers = { Authorization: `Bearer ${world.first.personal_api_key}` }
    const made = await world.send(COHORTS, { method: 'POST', headers, body: form })
    expect(await made.json()).toMatchObject({ count: 3 })
  })

  test('takes the persons of another cohort, and says that it reads no filters of an insight', async () => {
    const from = await idOf({ is_static: true, query: byName('ann') })
    const path = `${COHORTS}?from_cohort_id=${from}`
    const made = await manage(world, 'POST', path, { is_static: true })
    expect(made.body['count']).toBe(1)
    const missing = `${COHORTS}?from_cohort_id=999999`
    expect((await manage(world, 'POST', missing, { is_static: true })).status).toBe(404)
    const legacy = `${COHORTS}?insight=TRENDS&events=[]`
    const refused = await manage(world, 'POST', legacy, { is_static: true })
    expect(refused).toMatchObject({ status: 400, body: { attr: 'insight' } })
  })

  test('has no conditions: they are refused, instead of being without effect', async () => {
    const filters = filtersOn(plan)
    const refused = { status: 400, body: { attr: 'filters' } }
    expect(await create({ is_static: true, filters })).toMatchObject(refused)
    const id = await idOf({ is_static: true, filters: { properties: {} } })
    expect(await change(id, { filters })).toMatchObject(refused)
    expect(await change(id, { filters: { properties: {} } })).toMatchObject({ status: 200 })
  })

  test('becomes dynamic with conditions, but a dynamic one no list', async () => {
    const id = await idOf({ is_static: true, query: byName('bob') })
    expect((await change(id, { is_static: false })).status).toBe(400)
    expect(await countOf(id)).toBe(1)
    const { body } = await change(id, { is_static: false, filters: filtersOn(plan) })
    expect(body).toMatchObject({ is_static: false, filters: filtersOn(plan) })
    await world.needs.cohorts.look()
    const { body: members } = await manage(world, 'GET', `${COHORTS}${id}/persons/`)
    expect(members['results']).toMatchObject([{ name: 'Ann@shop.example' }])
    expect(await change(id, { is_static: true })).toMatchObject({
      status: 400,
      body: { attr: 'is_static' },
    })
  })
})

describe('a cohort that is in use', () => {
  const remove = (id: number) => manage(world, 'PATCH', `${COHORTS}${id}/`, { deleted: true })
  const about = (id: number) => ({ type: 'cohort', key: 'id', value: id })

  test('by other cohorts is not deleted: their persons, and the flags on them, would change', async () => {
    const id = await idOf({ name: 'below', filters: filtersOn(plan) })
    const above = await idOf({ name: 'above', filters: filtersOn(filtersOn(about(id)).properties) })
    expect(await remove(id)).toMatchObject({
      status: 400,
      body: { attr: 'deleted', detail: 'This cohort is used in 1 other cohort(s): above' },
    })
    expect((await remove(above)).status).toBe(200)
    expect((await remove(id)).status).toBe(200)
  })

  test('by the filter of test users is not deleted: no insight without them would be computed', async () => {
    const id = await idOf({ name: 'staff', filters: filtersOn(plan) })
    const settings = `/api/projects/${project_id}/`
    const set = (...test_account_filters: readonly object[]) =>
      manage(world, 'PATCH', settings, { test_account_filters })
    await set({ ...about(id), operator: 'not_in' })
    expect(await remove(id)).toMatchObject({ status: 400, body: { attr: 'deleted' } })
    await set()
    expect((await remove(id)).status).toBe(200)
  })
})

test.each([
  [{ operator: 'exact', value: null }, 'Missing required keys for person filter: value'],
  [{ operator: 'is_date_after', value: 'garbage' }, 'Invalid date value: garbage'],
  [{ operator: 'is_date_before', value: '10000d' }, 'Invalid date value: 10000d'],
])('a condition %j, which nobody can meet, is refused', async (condition, detail) => {
  const made = await create({ filters: filtersOn({ ...plan, ...condition }) })
  expect(made).toMatchObject({ status: 400, body: { attr: 'filters', detail } })
})
