/** Pages of lists of insights: each is a part of the whole list, filtered one insight after the other. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { dashboard_tiles, insights } from '../../../../src/dashboards/tables.ts'
import { createUser } from '../../../../src/projects/users/user.ts'
import { manage } from '../../targeting/flag-world.ts'
import { openWorld, type World } from '../../world.ts'

const LIST = '/api/projects/1/insights/'
const COUNT = 300

type Listed = {
  readonly id: number
  readonly short_id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly favorited: boolean
  readonly saved: boolean
  readonly dashboards: readonly number[]
  readonly created_by: { readonly id: number } | null
  readonly query: { readonly kind: string } | null
  readonly last_modified_at: string
}

type Page = {
  readonly count: number
  readonly next: string | null
  readonly previous: string | null
  readonly results: readonly Listed[]
}

let world: World
let other = 0
let boards: readonly number[] = []

const read = async (search: string): Promise<Page> => {
  const { status, body } = await manage(world, 'GET', `${LIST}?${search}`)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body as unknown as Page
}
const readAll = async (): Promise<readonly Listed[]> => (await read('limit=1000')).results

beforeAll(async () => {
  world = await openWorld()
  const { control } = world.needs
  other = createUser(control, { email: 'o@example.com', first_name: 'O' }, new Date()).id
  const made = [1, 2, 3].map(() => manage(world, 'POST', '/api/projects/1/dashboards/', {}))
  boards = (await Promise.all(made)).map(({ body }) => Number(body['id']))
  const [first = 0, second = 0, gone = 0] = boards
  const now_ms = Date.now()
  const kinds = ['TrendsQuery', 'HogQLQuery', 'FunnelsQuery']
  for (let at = 0; at < COUNT; at += 1) {
    const series = [{ kind: 'EventsNode', event: `event ${at % 4}` }]
    const { id: insight_id } = control
      .insert(insights)
      .values({
        project_id: 1,
        // Short ids may be all digits.
        short_id: at % 7 === 0 ? String(10_000_000 + at) : `short${at}`,
        name: at % 5 === 0 ? null : `Ünsight ${at}`,
        description: at % 6 === 0 ? 'Umsätze' : '',
        query: at % 9 === 0 ? null : { kind: kinds[at % 3] ?? '', series },
        tags: at % 4 === 0 ? ['money', `t${at}`] : [],
        favorited: at % 10 === 0,
        saved: at % 3 > 0,
        deleted: at % 11 === 0,
        created_by: [1, other, null][at % 3] ?? null,
        last_modified_by: 1,
        created_at: new Date(now_ms - at * 1000),
        // Several were changed at one time.
        last_modified_at: new Date(now_ms - ((at * 7919) % 40) * 1000),
      })
      .returning()
      .get()
    const shown_on = [at % 8 === 0 && first, at % 12 === 0 && second, at % 15 === 0 && gone]
    for (const dashboard_id of shown_on) {
      if (dashboard_id) control.insert(dashboard_tiles).values({ dashboard_id, insight_id }).run()
    }
  }
  await manage(world, 'PATCH', `/api/projects/1/dashboards/${gone}/`, { deleted: true })
})
afterAll(() => world.close())

type Keep = (insight: Listed) => boolean

const authorOf = (insight: Listed): number | null => insight.created_by?.id ?? null
const kindOf = (insight: Listed): string | null => insight.query?.kind ?? null

/** Filters of the list, and the plain way for each. */
const cases = (): readonly (readonly [string, Keep])[] => {
  const [first = 0, second = 0, gone = 0] = boards
  return [
    ['', () => true],
    ['short_id=short12', ({ short_id }) => short_id === 'short12'],
    ['short_id=SHORT12', () => false],
    ['short_id=10000007', ({ short_id }) => short_id === '10000007'],
    ['saved=true', ({ saved, dashboards }) => saved || dashboards.length > 0],
    ['saved=false', ({ saved }) => !saved],
    ['favorited=1', ({ favorited }) => favorited],
    ['favorited=false', ({ favorited }) => !favorited],
    [`dashboard=${first}`, ({ dashboards }) => dashboards.includes(first)],
    [`dashboard=${gone}`, () => false],
    ['dashboard=none', () => false],
    [`dashboards=[${first},${second}]`, ({ dashboards }) => dashboards.length === 2],
    ['created_by=1', (insight) => authorOf(insight) === 1],
    [`created_by=[${other},1,1.5,"x",null]`, (insight) => authorOf(insight) !== null],
    ['created_by=[]', () => false],
    ['created_by=x', () => false],
    ['user=true', (insight) => authorOf(insight) === 1],
    ['user=false', () => true],
    ['search=%C3%9CNSIGHT', ({ name }) => name !== null],
    ['search=ums%C3%A4tze&saved=false', (one) => one.description !== '' && !one.saved],
    ['tags=["money"]&favorited=true', ({ tags, favorited }) => tags.length > 0 && favorited],
    ['insight=SQL', (insight) => kindOf(insight) === 'HogQLQuery'],
    [
      'events=["event 1"]&created_by=1',
      (insight) => JSON.stringify(insight.query).includes('event 1') && authorOf(insight) === 1,
    ],
  ]
}

describe('a list of insights', () => {
  test('has the ones that are not deleted, the one changed last first', async () => {
    const all = await readAll()
    expect(all).toHaveLength(COUNT - Math.ceil(COUNT / 11))
    const order = (a: Listed, b: Listed) =>
      Date.parse(b.last_modified_at) - Date.parse(a.last_modified_at) || b.id - a.id
    expect(all.map(({ id }) => id)).toEqual(all.toSorted(order).map(({ id }) => id))
  })

  test('has the same pages as the plain way with every filter', async () => {
    const all = await readAll()
    for (const [search, keep] of cases()) {
      const wanted = all.filter(keep)
      for (const offset of [0, 7, Math.max(0, wanted.length - 3), wanted.length]) {
        const page = await read(`${search}&limit=7&offset=${offset}`)
        const { count, next, previous, results } = page
        expect({
          search,
          offset,
          count,
          has_next: next !== null,
          has_previous: previous !== null,
          results,
        }).toEqual({
          search,
          offset,
          count: wanted.length,
          has_next: offset + 7 < wanted.length,
          has_previous: offset > 0,
          results: wanted.slice(offset, offset + 7),
        })
      }
    }
  })

  test('refuses the first malformed parameter', async () => {
    const { body } = await manage(world, 'GET', `${LIST}?short_id=none&created_by=[&events=x`)
    expect(body['attr']).toBe('events')
  })
})
