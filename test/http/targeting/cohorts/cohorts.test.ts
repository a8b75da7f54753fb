/** Cohorts through the management API: conditions worked out in the background, lists that are uploaded, flags that ask. */
import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { cohorts } from '../../../../src/targeting/tables.ts'
import { joinWorld } from '../../shared-world.ts'
import { ask, capture, manage } from '../flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

const PROJECT = `/api/projects/${project_id}/`
const COHORTS = `${PROJECT}cohorts/`

/** The properties that every test begins with; events add up, so that each test has names of events to itself. */
const PEOPLE = ['ann', 'bob', 'cat'].map((name, index) => ({
  event: '$set',
  distinct_id: name,
  properties: { $set: { name, plan: index === 0 ? 'pro' : 'free', age: 20 + index * 10 } },
}))

beforeAll(async () => {
  await capture(world, ...PEOPLE.map((person) => ({ ...person, event: 'seen' })))
})
beforeEach(() => capture(world, ...PEOPLE))

const and = (...values: readonly object[]) => ({ properties: { type: 'AND', values } })
const is = (key: string, value: string, rest: object = {}) => ({
  type: 'person',
  key,
  value,
  ...rest,
})

const create = (body: object) => manage(world, 'POST', COHORTS, body)
const idOf = async (body: object): Promise<number> => Number((await create(body)).body['id'])
const settled = async (id: number) => {
  await world.needs.cohorts.look()
  return (await manage(world, 'GET', `${COHORTS}${id}/`)).body
}
const namesIn = async (id: number, query = '') => {
  const { body } = await manage(world, 'GET', `${COHORTS}${id}/persons/${query}`)
  return (body['results'] as { name: string }[]).map(({ name }) => name).toSorted()
}

/** Who gets a flag that asks for a cohort. */
const membersByFlag = async (cohort_id: number, rest: object = {}) => {
  const key = `flag-${crypto.randomUUID()}`
  const properties = [{ type: 'cohort', key: 'id', value: cohort_id, operator: 'in', ...rest }]
  await manage(world, 'POST', `/api/projects/${project_id}/feature_flags/`, {
    key,
    filters: { groups: [{ properties }] },
  })
  const asked = ['ann', 'bob', 'cat', 'nobody'].map(async (distinct_id) => {
    const { body } = await ask(world, '/decide?v=3', { distinct_id })
    return (body['featureFlags'] as Record<string, unknown>)[key] === true ? distinct_id : []
  })
  return (await Promise.all(asked)).flat()
}

describe('a cohort of conditions', () => {
  test('is made, worked out in the background, and lists its people', async () => {
    const { status, body } = await create({ name: 'Free', filters: and(is('plan', 'free')) })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      name: 'Free',
      is_static: false,
      is_calculating: true,
      count: null,
      errors_calculating: 0,
      last_calculation: null,
      groups: [],
      deleted: false,
      created_by: { first_name: 'Owner' },
    })
    const id = Number(body['id'])
    expect(await settled(id)).toMatchObject({ is_calculating: false, count: 2 })
    expect(await namesIn(id)).toEqual(['bob', 'cat'])
    expect(await namesIn(id, '?limit=1&offset=1')).toHaveLength(1)
    const most = await manage(world, 'GET', `${COHORTS}${id}/persons/?limit=999999999&offset=1`)
    expect(most.body['previous']).toContain('limit=10000&offset=0')
    const { body: page } = await manage(world, 'GET', `${COHORTS}${id}/persons/?limit=1`)
    expect(page).toMatchObject({ next: expect.stringContaining('offset=1'), previous: null })
    expect(page['results']).toMatchObject([
      { type: 'person', distinct_ids: [expect.any(String)], properties: { plan: 'free' } },
    ])
  })

  test('is worked out again when it is changed, and flags ask the new conditions at once', async () => {
    const id = await idOf({ name: 'a', filters: and(is('plan', 'free')) })
    await settled(id)
    expect(await membersByFlag(id)).toEqual(['bob', 'cat'])
    await manage(world, 'PATCH', `${COHORTS}${id}/`, { filters: and(is('plan', 'pro')) })
    expect(await membersByFlag(id)).toEqual(['ann'])
    expect(await settled(id)).toMatchObject({ count: 1 })
    expect(await namesIn(id)).toEqual(['ann'])
    await capture(world, {
      event: '$set',
      distinct_id: 'cat',
      properties: { $set: { plan: 'pro' } },
    })
    expect(await membersByFlag(id)).toEqual(['ann', 'cat'])
  })

  test('is worked out again after a clock that was ahead is set back', async () => {
    const id = await idOf({ name: 'ahead', filters: and(is('plan', 'free')) })
    await settled(id)
    const last_calculation = new Date(Date.now() + 40 * 86_400_000)
    world.needs.control.update(cohorts).set({ last_calculation }).where(eq(cohorts.id, id)).run()
    await capture(world, {
      event: '$set',
      distinct_id: 'cat',
      properties: { $set: { plan: 'pro' } },
    })
    expect(await settled(id)).toMatchObject({ count: 1 })
  })

  test('may ask for other cohorts, negated too', async () => {
    const free = await idOf({ name: 'free', filters: and(is('plan', 'free')) })
    const filters = and(
      { type: 'cohort', key: 'id', value: free },
      is('name', 'bob', { negation: true }),
    )
    const id = await idOf({ name: 'free but bob', filters })
    await settled(id)
    expect(await namesIn(id)).toEqual(['cat'])
    expect(await membersByFlag(id)).toEqual(['cat'])
    expect(await membersByFlag(id, { operator: 'not_in' })).toEqual(['ann', 'bob', 'nobody'])
    const loop = await manage(world, 'PATCH', `${COHORTS}${free}/`, {
      filters: and({ type: 'cohort', key: 'id', value: id }),
    })
    expect(loop).toMatchObject({
      status: 400,
      body: { detail: 'Cohorts cannot reference other cohorts in a loop.' },
    })
  })

  test('is left out of queries and lists by not_in, and by the negation of older clients', async () => {
    const id = await idOf({ name: 'the free', filters: and(is('plan', 'free')) })
    await settled(id)
    const listed = async (rest: object) => {
      const properties = [{ type: 'cohort', key: 'id', value: id, ...rest }]
      const sent = encodeURIComponent(JSON.stringify(properties))
      const persons = await manage(world, 'GET', `${PROJECT}persons/?properties=${sent}`)
      const query = { kind: 'EventsQuery', select: ['distinct_id'], after: 'all', properties }
      const events = await manage(world, 'POST', `${PROJECT}query/`, { query })
      return [
        (persons.body['results'] as { name: string }[]).map(({ name }) => name).toSorted(),
        [...new Set((events.body['results'] as string[][]).flat())].toSorted(),
      ]
    }
    const inside = await listed({ negation: false })
    expect(inside).toEqual([
      ['bob', 'cat'],
      ['bob', 'cat'],
    ])
    const outside = await listed({ operator: 'not_in' })
    expect(outside.flat()).not.toContain('bob')
    for (const rest of [{ negation: true }, { operator: 'in', negation: true }])
      expect(await listed(rest)).toEqual(outside)
  })

  test('made with a name alone has nobody in it, until it is given conditions', async () => {
    const id = await idOf({ name: 'empty' })
    expect(await settled(id)).toMatchObject({
      count: 0,
      filters: { properties: { type: 'OR', values: [] } },
    })
    expect(await namesIn(id)).toEqual([])
    expect(await membersByFlag(id)).toEqual([])
    await manage(world, 'PATCH', `${COHORTS}${id}/`, { filters: and(is('name', 'ann')) })
    expect(await settled(id)).toMatchObject({ count: 1 })
  })

  test('is changed by a form', async () => {
    const id = await idOf({ name: 'formed', filters: and(is('name', 'ann')) })
    const form = new FormData()
    form.set('name', 'Formed')
    form.set('filters', JSON.stringify(and(is('name', 'cat'))))
    const answer = await world.send(`${COHORTS}${id}/`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
      body: form,
    })
    expect([answer.status, await answer.json()]).toMatchObject([200, { name: 'Formed' }])
    await settled(id)
    expect(await namesIn(id)).toEqual(['cat'])
  })

  test('takes the oldest shape of conditions', async () => {
    const groups = [{ properties: [is('name', 'ann')] }, { properties: [is('name', 'cat')] }]
    const id = await idOf({ name: 'old', groups })
    expect(await settled(id)).toMatchObject({ count: 2 })
  })

  test.each([
    ['a tree', { type: 'OR', values: [is('name', 'ann'), is('plan', 'free')] }, 'ann bob cat'],
    ['values by key', { plan: 'free', name__is_not: 'bob' }, 'cat'],
    ['a range', [is('age', '', { operator: 'between', value: [20, 30] })], 'ann bob'],
    ['all but a range', [is('age', '', { operator: 'not_between', value: [20, 30] })], 'cat'],
  ])('takes %s as the properties of a group', async (_, properties, names) => {
    const id = await idOf({ name: 'old', groups: [{ properties }] })
    await settled(id)
    expect((await namesIn(id)).join(' ')).toBe(names)
    const by_flag = await membersByFlag(id)
    expect(by_flag.filter((name) => name !== 'nobody').join(' ')).toBe(names)
  })

  test('takes an event, and how often it was seen, as a group', async () => {
    const id = await idOf({ name: 'old', groups: [{ event_id: 'seen', days: 7 }] })
    await settled(id)
    expect(await namesIn(id)).toEqual(['ann', 'bob', 'cat'])
    const twice = { event_id: 'seen', days: 7, count: 2, count_operator: 'gte' }
    const other = await idOf({ name: 'twice', groups: [twice, { properties: { plan: 'pro' } }] })
    await settled(other)
    expect(await namesIn(other)).toEqual(['ann'])
  })

  test.each<[object, string, string]>([
    [
      { name: 'a', filters: {} },
      'invalid_input',
      "Filters must be a dictionary with a 'properties' key.",
    ],
    [
      { name: 'a', filters: and({ type: 'cohort', key: 'id', value: 77 }) },
      'cohort_does_not_exist',
      'Cohort with id 77 does not exist',
    ],
    [
      { name: 'a', filters: and(is('age', '(', { operator: 'regex' })) },
      'invalid_value',
      'Operator regex cannot use this value.',
    ],
    [{ name: 7 }, 'invalid_input', 'Not a valid string.'],
    [
      { name: 'a', groups: ['plan'] },
      'invalid_input',
      'A group needs properties, or an event or an action.',
    ],
  ])('%j is refused', async (body, code, detail) => {
    const refused = await create(body)
    expect(refused.status).toBe(400)
    expect(refused.body).toMatchObject({ code, detail })
  })

  test('is deleted by PATCH alone, and not while a flag asks for it', async () => {
    const id = await idOf({ name: 'a', filters: and(is('plan', 'free')) })
    expect((await manage(world, 'DELETE', `${COHORTS}${id}/`)).status).toBe(405)
    await membersByFlag(id)
    const refused = await manage(world, 'PATCH', `${COHORTS}${id}/`, { deleted: true })
    expect(refused.status).toBe(400)
    const flag = world.needs.flags.flagsOf(project_id).definitions.flags.at(-1)?.flag.id
    await manage(world, 'PATCH', `/api/projects/${project_id}/feature_flags/${flag}/`, {
      deleted: true,
    })
    const before = Number((await manage(world, 'GET', COHORTS)).body['count'])
    await manage(world, 'PATCH', `${COHORTS}${id}/`, { deleted: true })
    expect((await manage(world, 'GET', COHORTS)).body['count']).toBe(before - 1)
    const { body } = await manage(world, 'GET', `${COHORTS}${id}/activity/`)
    expect(body['results']).toMatchObject([{ activity: 'deleted' }, { activity: 'created' }])
  })

  const did = (event: string, rest: object = {}) => ({
    type: 'behavioral',
    key: event,
    value: 'performed_event',
    event_type: 'events',
    time_value: 30,
    time_interval: 'day',
    ...rest,
  })

  test('of what people did is worked out from events, and flags ask for it', async () => {
    const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    await capture(
      world,
      { event: 'bought', distinct_id: 'ann' },
      { event: 'bought', distinct_id: 'bob', timestamp: ago(40) },
      { event: 'bought', distinct_id: 'cat' },
      { event: 'bought', distinct_id: 'cat' },
    )
    const members = async (...values: readonly object[]) => {
      const id = await idOf({ name: 'did', filters: and(...values) })
      expect(await settled(id)).toMatchObject({ errors_calculating: 0, is_calculating: false })
      expect(await membersByFlag(id)).toEqual(await namesIn(id))
      return namesIn(id)
    }
    expect(await members(did('bought'))).toEqual(['ann', 'cat'])
    expect(await members(did('bought', { time_value: 2, time_interval: 'month' }))).toEqual([
      'ann',
      'bob',
      'cat',
    ])
    expect(await members(did('bought', { negation: true }))).toEqual(['bob'])
    const twice = { value: 'performed_event_multiple', operator: 'gte', operator_value: 2 }
    expect(await members(did('bought', twice))).toEqual(['cat'])
    expect(await members(did('bought'), is('plan', 'pro'))).toEqual(['ann'])
    const bought = await idOf({ name: 'bought', filters: and(did('bought')) })
    await settled(bought)
    const of_cohort = { type: 'cohort', key: 'id', value: bought }
    expect(await members(of_cohort, is('plan', 'free'))).toEqual(['cat'])
  })

  test.each([
    [{ value: 'performed_magic' }, 'performed_magic cannot be asked about.'],
    [{ value: 'toString' }, 'toString cannot be asked about.'],
    [{ value: 'performed_event_sequence' }, 'The time cannot be understood.'],
    [{ time_interval: 'moon' }, 'The time cannot be understood.'],
    [{ time_interval: 'constructor' }, 'The time cannot be understood.'],
    [{ time_value: -1 }, 'The time cannot be understood.'],
    [{ time_value: { valueOf: 1, toString: 1 } }, 'The time cannot be understood.'],
    [{ explicit_datetime: 'yesterday' }, 'The time cannot be understood.'],
    [{ event_type: 'pages' }, 'Only events and actions can be asked about, not pages.'],
    [{ event_type: 'actions' }, 'Only events and actions can be asked about, not actions.'],
    [
      { value: 'performed_event_multiple', operator_value: 'two' },
      'How often cannot be understood.',
    ],
    [
      { value: 'performed_event_regularly', total_periods: 9999 },
      'How often cannot be understood.',
    ],
    [{ type: 'moon' }, 'Filters of type moon are not known.'],
    [{ event_filters: ['a'] }, 'Properties of the event must be a list of filters.'],
  ])('that asks %j of what people did is refused', async (rest, detail) => {
    const refused = await create({ name: 'a', filters: and(did('bought', rest)) })
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_value', detail } })
  })
})

test('a cohort of an action that is not there is refused', async () => {
  const did = { type: 'behavioral', key: 77, event_type: 'actions', value: 'performed_event' }
  const refused = await create({ name: 'a', filters: and(did) })
  expect(refused).toMatchObject({ status: 400, body: { code: 'does_not_exist', attr: 'filters' } })
})

describe('a list of people', () => {
  test('is uploaded as CSV, grows and shrinks, and flags ask for it', async () => {
    const form = new FormData()
    form.set('name', 'VIPs')
    form.set('is_static', 'true')
    const csv = 'Email,Distinct ID\r\n"a@b.c, d","ann"\r\nx,nobody\r\ny,cat\r\n'
    form.set('csv', new Blob([csv]), 'vips.csv')
    const answer = await world.send(COHORTS, {
      method: 'POST',
      headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
      body: form,
    })
    expect(answer.status).toBe(201)
    const made = (await answer.json()) as { id: number }
    expect(made).toMatchObject({ name: 'VIPs', is_static: true, is_calculating: false, count: 2 })
    expect(await namesIn(made.id)).toEqual(['ann', 'cat'])
    expect(await membersByFlag(made.id)).toEqual(['ann', 'cat'])
    expect(await membersByFlag(made.id, { operator: 'not_in' })).toEqual(['bob', 'nobody'])
    const path = `${COHORTS}${made.id}/`
    await manage(world, 'PATCH', `${path}add_persons_to_static_cohort/`, { distinct_ids: ['bob'] })
    const { body } = await manage(world, 'GET', `${path}persons/`)
    const ann = (body['results'] as { name: string; uuid: string }[]).find(
      ({ name }) => name === 'ann',
    )
    await manage(world, 'PATCH', `${path}remove_person_from_static_cohort/`, {
      person_id: ann?.uuid,
    })
    expect(await namesIn(made.id)).toEqual(['bob', 'cat'])
    expect((await manage(world, 'GET', path)).body['count']).toBe(2)
  })

  test('may be given as ids in JSON, and be a copy of another cohort', async () => {
    const id = await idOf({ is_static: true, _create_static_person_ids: ['bob', 'bob', 'no'] })
    expect(await namesIn(id)).toEqual(['bob'])
    const dynamic = await idOf({ name: 'free', filters: and(is('plan', 'free')) })
    await settled(dynamic)
    const { body } = await manage(world, 'GET', `${COHORTS}${dynamic}/duplicate_as_static_cohort/`)
    expect(body).toMatchObject({ name: 'free (static copy)', is_static: true, count: 2 })
  })

  test('is made of the people whom a query answers', async () => {
    const timestamp = '2024-06-03T12:00:00Z'
    await capture(world, { event: 'paid', distinct_id: 'bob', timestamp })
    const paid = 'select distinct person_id from events where event = '
    const source = { kind: 'HogQLQuery', query: `${paid}'paid'` }
    const by_source = { kind: 'ActorsQuery', source, select: ['person'], limit: 1 }
    for (const query of [by_source, source]) {
      const made = await create({ name: 'paid', is_static: true, query })
      expect(made).toMatchObject({ status: 201, body: { count: 1, query } })
      expect(await namesIn(Number(made.body['id']))).toEqual(['bob'])
    }
    const properties = [{ key: 'plan', value: 'free', type: 'person' }]
    const by_properties = { kind: 'ActorsQuery', properties }
    const free = await idOf({ name: 'free', is_static: true, query: by_properties })
    expect(await namesIn(free)).toEqual(['bob', 'cat'])
    const trends = {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'paid' }],
      dateRange: { date_from: '2024-06-01', date_to: '2024-06-05' },
    }
    const behind = { kind: 'InsightActorsQuery', source: trends, day: '2024-06-03' }
    expect(await namesIn(await idOf({ is_static: true, query: behind }))).toEqual(['bob'])
    const wrong = await create({ is_static: true, query: { kind: 'ActorsQuery', source: 7 } })
    expect([wrong.status, wrong.body['attr']]).toEqual([400, 'query__source'])
    const dynamic = await create({ query: by_properties })
    expect(dynamic).toMatchObject({ status: 400, body: { attr: 'query' } })
  })

  test('is told as CSV too', async () => {
    const id = await idOf({ is_static: true, _create_static_person_ids: ['bob'] })
    const headers = { Authorization: `Bearer ${world.first.personal_api_key}` }
    const csv = await world.send(`${COHORTS}${id}/persons/?format=csv`, { headers })
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const [head, row, ...rest] = (await csv.text()).trim().split(/\r?\n/)
    expect(head).toStartWith('id,name,')
    expect([row?.includes(',bob,'), rest]).toEqual([true, []])
  })

  test.each(['__proto__', 'constructor'])(
    'may come with a member %s, which says nothing',
    async (name) => {
      const form = new FormData()
      form.set('name', 'VIPs')
      form.set('is_static', 'true')
      form.set(name, 'x')
      const headers = { Authorization: `Bearer ${world.first.personal_api_key}` }
      const answer = await world.send(COHORTS, { method: 'POST', headers, body: form })
      expect(answer.status).toBe(201)
    },
  )

  test('that comes in a form of thousands of files is refused before the form is read', async () => {
    const part = '--x\r\nContent-Disposition: form-data; name="csv"; filename="a"\r\n\r\nann\r\n'
    const answer = await world.send(COHORTS, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${world.first.personal_api_key}`,
        'Content-Type': 'multipart/form-data; boundary=x',
      },
      body: `${part.repeat(20_000)}--x--\r\n`,
    })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ detail: 'A form may have 256 fields.' })
  })

  test('that cannot be read is refused', async () => {
    const answer = await world.send(COHORTS, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${world.first.personal_api_key}`,
        'Content-Type': 'multipart/form-data; boundary=x',
      },
      body: 'nonsense',
    })
    expect(answer.status).toBe(400)
  })

  // The last test: ann and bob are one person from here on.
  test('follows a merge', async () => {
    const id = await idOf({ is_static: true, _create_static_person_ids: ['ann'] })
    await capture(world, {
      event: '$identify',
      distinct_id: 'bob',
      properties: { $anon_distinct_id: 'ann' },
    })
    expect(await membersByFlag(id)).toEqual(['ann', 'bob'])
  })
})
