/** Persons through the management API: who is found, in which order and shape, and page by page. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { KeyLimits } from '../../../src/query/service/key-limits.ts'
import { joinWorld } from '../shared-world.ts'
import { capture, manage } from '../targeting/flag-world.ts'
import { openWorld } from '../world.ts'

const world = await joinWorld()
const { project_id } = world.first

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

const PERSONS = `/api/environments/${project_id}/persons/`
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

beforeAll(async () => {
  const set = (distinct_id: string, timestamp: string, $set: object) => ({
    event: '$identify',
    distinct_id,
    timestamp,
    properties: { $set },
  })
  await capture(
    world,
    set('ann', '2026-01-01T00:00:00Z', { email: 'ann@a.example', age: 30, plan: 'pro' }),
    set('bob', '2026-01-02T00:00:00Z', { email: 'bob@b.example', age: 41, name: 'Bob 100%' }),
    set('cat', '2026-01-03T00:00:00Z', { age: 52, formula: '=1+1', deep: { list: [1, 'x'] } }),
    { event: '$create_alias', distinct_id: 'ann', properties: { alias: 'ann-2' } },
  )
})

type Person = Readonly<Record<string, unknown>> & { readonly distinct_ids: readonly string[] }

const list = async (search = '') => {
  const { status, body } = await manage(world, 'GET', PERSONS + search)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body as { count: number; next: string | null; previous: string | null; results: Person[] }
}
/** Which of the three are found, by the first letter of their ids. */
const found = async (search: string) =>
  (await list(search)).results.map(({ distinct_ids }) => distinct_ids[0]?.slice(0, 3))
const filter = (...filters: readonly object[]) =>
  `?properties=${encodeURIComponent(JSON.stringify(filters))}`

describe('persons', () => {
  test('are listed the newest first, whole', async () => {
    const { results, ...page } = await list()
    expect(page).toEqual({ count: 3, next: null, previous: null })
    expect(results.map(({ name }) => name)).toEqual(['cat', 'bob@b.example', 'ann@a.example'])
    expect(results[0]).toEqual({
      type: 'person',
      id: expect.stringMatching(UUID),
      uuid: expect.stringMatching(UUID),
      name: 'cat',
      distinct_ids: ['cat'],
      properties: expect.objectContaining({ age: 52, deep: { list: [1, 'x'] } }),
      created_at: '2026-01-03T00:00:00.000Z',
      is_identified: false,
      matched_recordings: [],
      value_at_data_point: null,
    })
    expect(results[2]?.distinct_ids.toSorted()).toEqual(['ann', 'ann-2'])
  })

  test('come page by page, under both names of a project', async () => {
    const address = `https://tidemark.example/api/projects/${project_id}/persons/`
    const { body } = await manage(
      world,
      'GET',
      `/api/projects/${project_id}/persons/?limit=1&offset=1`,
    )
    expect(body).toMatchObject({
      count: 3,
      next: `${address}?limit=1&offset=2`,
      previous: `${address}?limit=1`,
      results: [{ name: 'bob@b.example' }],
    })
    expect((await list('?limit=2&offset=2')).next).toBeNull()
    expect((await list('?offset=9')).results).toEqual([])
  })

  test.each([
    ['?email=bob@b.example', ['bob']],
    ['?email=b.example', []],
    ['?distinct_id=ann', ['ann']],
    ['?distinct_id=ann-2', ['ann']],
    ['?distinct_id=an', []],
    ['?search=A.EXAMPLE', ['ann']],
    ['?search=example', ['bob', 'ann']],
    ['?search=100%25', ['bob']],
    ['?search=%25', ['bob']],
    ['?search=_', []],
    ['?search=cat', ['cat']],
    ['?search=ca', []],
    ['?search=', ['cat', 'bob', 'ann']],
    ["?search=x'%20OR%201=1", []],
    [filter({ key: 'age', value: 40, operator: 'gt', type: 'person' }), ['cat', 'bob']],
    [filter({ key: 'age', value: [30, 52] }), ['cat', 'ann']],
    [filter({ key: 'plan', operator: 'is_not_set' }), ['cat', 'bob']],
    [filter({ key: 'age', value: 30, operator: 'gte' }, { key: 'plan', value: 'pro' }), ['ann']],
    [
      filter({
        type: 'OR',
        values: [
          { key: 'age', value: 52 },
          { key: 'plan', value: 'pro' },
        ],
      }),
      ['cat', 'ann'],
    ],
    [`${filter({ key: 'age', value: 40, operator: 'lt' })}&search=bob`, []],
    ['?properties={"age__gt":40,"email__is_set":true}', ['bob']],
  ])('%s finds %j', async (search, expected) => {
    const names = await found(search)
    expect(names.map(String)).toEqual(expected)
    expect((await list(search)).count).toBe(expected.length)
  })

  test('of a cohort are listed, whether the list or a filter names it', async () => {
    const filters = {
      properties: { type: 'OR', values: [{ type: 'person', key: 'plan', value: 'pro' }] },
    }
    const { body } = await manage(world, 'POST', `/api/projects/${project_id}/cohorts/`, {
      name: 'Pro',
      filters,
    })
    const cohort = Number(body['id'])
    expect(await found(`?cohort=${cohort}`)).toEqual(['ann'])
    expect((await list(`?cohort=${cohort}&search=bob`)).count).toBe(0)
    expect(await found('?cohort=')).toHaveLength(3)
  })

  test.each([
    ['?cohort=all', 'cohort'],
    ['?properties=nope', 'properties'],
    ['?properties=3', 'properties'],
    [filter({ key: 'a', value: 1, type: 'group' }), 'properties'],
    [filter({ key: 'a', value: 1, operator: 'like' }), 'properties'],
    ['?format=xml', 'format'],
  ])('%s is refused', async (search, attr) => {
    const { status, body } = await manage(world, 'GET', PERSONS + search)
    expect([status, body]).toMatchObject([400, { code: 'invalid_input', attr }])
  })

  test('as CSV have a column for each member and no cell that a spreadsheet would compute', async () => {
    const headers = { Authorization: `Bearer ${world.first.personal_api_key}` }
    const answer = await world.send(`${PERSONS}?format=csv&distinct_id=cat`, { headers })
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const [head = '', row = '', rest] = (await answer.text()).split('\r\n')
    const cells = Object.fromEntries(head.split(',').map((name, at) => [name, row.split(',')[at]]))
    expect(head).toStartWith('id,name,')
    expect(rest).toBe('')
    expect(cells).toMatchObject({
      name: 'cat',
      'distinct_ids.0': 'cat',
      'properties.formula': "'=1+1",
      'properties.deep.list.1': 'x',
      created_at: '2026-01-03T00:00:00.000Z',
    })
  })

  test('are found by their id alone', async () => {
    const [cat] = (await list()).results
    const { status, body } = await manage(world, 'GET', `${PERSONS}${String(cat?.['id'])}/`)
    expect([status, body]).toEqual([200, { ...cat }])
    const upper = await manage(world, 'GET', `${PERSONS}${String(cat?.['id']).toUpperCase()}/`)
    expect(upper.body['name']).toBe('cat')
    for (const id of [crypto.randomUUID(), '1']) {
      const unknown = await manage(world, 'GET', `${PERSONS}${id}/`)
      expect([unknown.status, unknown.body['code']]).toEqual([404, 'not_found'])
    }
    for (const id of ['1.5', 'ann', '%27']) {
      const { status: refused, body: told } = await manage(world, 'GET', `${PERSONS}${id}/`)
      expect([refused, told]).toMatchObject([
        400,
        { type: 'validation_error', detail: expect.stringContaining('/persons?distinct_id=X') },
      ])
    }
  })

  test('count against what a key may ask of the engine, a page as two queries', async () => {
    const limits = { running_max: 0, per_minute: 2, per_hour: 0 }
    const limited = await openWorld({ key_limits: new KeyLimits(limits, () => new Date()) })
    const statuses: number[] = []
    for (let asked = 0; asked < 2; asked += 1) {
      const { status } = await manage(limited, 'GET', '/api/projects/1/persons/')
      statuses.push(status)
    }
    await limited.close()
    expect(statuses).toEqual([200, 429])
  })

  test('are not made here', async () => {
    const { status, headers, body } = await manage(world, 'POST', PERSONS, {})
    expect([status, body]).toMatchObject([
      405,
      { code: 'method_not_allowed', detail: expect.stringContaining('/capture/') },
    ])
    expect(headers.get('allow')).toBe('GET, HEAD')
  })
})

test.todo('GET persons/properties_timeline/ tells how properties changed (wire §4.8)')
