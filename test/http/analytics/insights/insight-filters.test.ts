/** Lists of insights narrowed, results under other filters, tiles in a new order. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { insights } from '../../../../src/dashboards/tables.ts'
import { createUser } from '../../../../src/projects/users/user.ts'
import { capture, manage } from '../../targeting/flag-world.ts'
import { openWorld, type World } from '../../world.ts'

setDefaultTimeout(60_000)

const ROOT = '/api/projects/1/'
const series = [{ kind: 'EventsNode', event: 'paid' }]
const TREND = { kind: 'InsightVizNode', source: { kind: 'TrendsQuery', series } }

let world: World
/** Ids by name. */
const ids = new Map<string, number>()
let board_id = 0

beforeAll(async () => {
  world = await openWorld()
  await capture(
    world,
    { event: 'paid', distinct_id: 'a', properties: { plan: 'pro' } },
    { event: 'paid', distinct_id: 'b', properties: { plan: 'free' } },
  )
  board_id = Number((await make('dashboards/', { name: 'Board' }))['id'])
  const wanted = [
    { name: 'trend', query: TREND, tags: ['money'], dashboards: [board_id] },
    { name: 'sql', query: { kind: 'HogQLQuery', query: 'select count() from events' } },
    {
      name: 'old',
      filters: { insight: 'FUNNELS', events: [{ id: 'paid' }] },
      dashboards: [board_id],
    },
    { name: 'odd', query: { kind: 'MagicQuery' }, tags: ['odd', 'none'] },
  ]
  for (const one of wanted) ids.set(one.name, Number((await make('insights/', one))['id']))
})
afterAll(() => world.close())

async function make(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const made = await manage(world, 'POST', ROOT + path, body)
  expect([made.status, made.body['detail']]).toEqual([201, undefined])
  return made.body
}

type Listed = { readonly name: string; readonly result: unknown; readonly query_status: unknown }

const listed = async (search: string): Promise<readonly Listed[]> => {
  const { status, body } = await manage(world, 'GET', `${ROOT}insights/?${search}`)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body['results'] as Listed[]
}
const names = async (search: string) => (await listed(search)).map(({ name }) => name).toSorted()
const pathOf = (name: string): string => `${ROOT}insights/${String(ids.get(name))}/`

describe('a list of insights', () => {
  test.each([
    ['insight=TRENDS', ['trend']],
    ['insight=SQL', ['sql']],
    ['insight=FUNNELS', ['old']],
    ['insight=JSON', ['odd']],
    ['tags=["odd","money"]', ['odd', 'trend']],
    ['search=MONEY', ['trend']],
    ['events=["paid"]', ['old', 'trend']],
    ['events=["paid","signed up"]', []],
    ['events=["signed up"]', []],
    ['user=true&insight=SQL', ['sql']],
    ['created_by=1&insight=SQL', ['sql']],
    ['created_by=[77,1]&insight=SQL', ['sql']],
    ['created_by=77', []],
    ['date_from=-1d&insight=SQL', ['sql']],
    ['date_to=2020-01-01', []],
    ['created_date_from=2020-01-01&insight=SQL', ['sql']],
    ['created_date_to=-1d', []],
  ])('with %s has %j', async (search, wanted) => {
    expect(await names(search)).toEqual(wanted)
  })

  test('is of one dashboard, or of those that stand on several', async () => {
    expect(await names(`dashboards=[${board_id}]`)).toEqual(['old', 'trend'])
    expect(await names(`dashboard=${board_id}`)).toEqual(['old', 'trend'])
    expect(await names(`dashboards=[${board_id},77]`)).toEqual([])
  })

  test('tells others by who made them', async () => {
    const now = new Date()
    const { id } = createUser(world.needs.control, { email: 'o@example.com', first_name: 'O' }, now)
    const its = eq(insights.id, ids.get('sql') ?? 0)
    world.needs.control.update(insights).set({ created_by: id }).where(its).run()
    expect(await names('user=true')).toEqual(['odd', 'old', 'trend'])
    expect(await names(`created_by=${id}`)).toEqual(['sql'])
    world.needs.control.update(insights).set({ created_by: 1 }).where(its).run()
  })

  test('has results where they are asked for, and says of each why there is none', async () => {
    expect((await listed('insight=TRENDS')).map(({ result }) => result)).toEqual([null])
    const asked = await listed('refresh=force_blocking')
    const of = (wanted: string) => asked.find(({ name }) => name === wanted)
    expect(of('trend')?.result).toMatchObject([{ count: 2 }])
    expect(of('sql')?.result).toEqual([[2]])
    expect(of('odd')).toMatchObject({ result: null, query_status: { error: true } })
  })

  test.each([
    ['tags=money', 'tags'],
    ['events=paid', 'events'],
    ['dashboards={}', 'dashboards'],
    ['date_from=soon', 'date_from'],
    ['created_date_to=never', 'created_date_to'],
    ['refresh=perhaps', 'refresh'],
  ])('refuses %s', async (search, attr) => {
    const { status, body } = await manage(world, 'GET', `${ROOT}insights/?${search}`)
    expect([status, body['attr']]).toEqual([400, attr])
  })
})

describe('filters of a request', () => {
  const search = `refresh=force_blocking&filters_override=${encodeURIComponent(
    JSON.stringify({ properties: [{ key: 'plan', value: 'pro', type: 'event' }] }),
  )}`

  test('stand for those of an insight and of a dashboard, this time', async () => {
    const one = await manage(world, 'GET', `${pathOf('trend')}?${search}`)
    expect(one.body['result']).toMatchObject([{ count: 1 }])
    const whole = await manage(world, 'GET', `${ROOT}dashboards/${board_id}/?${search}`)
    expect(whole.body['tiles']).toMatchObject([{ insight: { result: [{ count: 1 }] } }, {}])
    expect(whole.body['filters']).toEqual({})
    const again = await manage(world, 'GET', `${pathOf('trend')}?refresh=force_blocking`)
    expect(again.body['result']).toMatchObject([{ count: 2 }])
  })

  test.each(['filters_override=[]', 'filters_override={', 'variables_override=3'])(
    'have to be an object: %s',
    async (wrong) => {
      const { status, body } = await manage(world, 'GET', `${pathOf('trend')}?${wrong}`)
      expect([status, body['attr']]).toEqual([400, wrong.split('=')[0]])
    },
  )
})

describe('tiles of a dashboard', () => {
  type Tile = { readonly id: number; readonly order: number; readonly layouts: object }
  const tilesOf = ({ tiles }: Readonly<Record<string, unknown>>) => tiles as Tile[]
  const tall = { sm: { x: 6, y: 0, w: 6, h: 8, minW: 3 }, xs: { x: 0 } }

  test('are laid out row by row in the order that is asked for', async () => {
    const made = await make('dashboards/', {
      name: 'Texts',
      tiles: [
        { text: { body: 'a' } },
        { text: { body: 'b' }, layouts: tall },
        { text: { body: 'c' }, layouts: { sm: { x: 0, y: 0, w: 12, h: 2 } } },
      ],
    })
    const before = tilesOf(made)
    // Row by row; what has no place comes last.
    const [c, b, a] = before.map(({ id }) => id)
    expect(before.map(({ order }) => order)).toEqual([0, 1, 2])
    const path = `${ROOT}dashboards/${String(made['id'])}/`
    const moved = await manage(world, 'POST', `${path}reorder_tiles/`, { tile_order: [b, a] })
    expect(moved.status).toBe(200)
    expect(tilesOf(moved.body)).toMatchObject([
      { id: b, order: 0, layouts: { sm: { x: 0, y: 0, w: 6, h: 8, minW: 3 }, xs: { x: 0 } } },
      { id: a, order: 1, layouts: { sm: { x: 6, y: 0, w: 6, h: 5 } } },
      { id: c, order: 2, layouts: { sm: { x: 0, y: 8, w: 12, h: 2 } } },
    ])
    expect((await manage(world, 'GET', path)).body['tiles']).toEqual(moved.body['tiles'])
  })

  test('of another dashboard are refused, and moved nowhere', async () => {
    const foreign = tilesOf((await manage(world, 'GET', `${ROOT}dashboards/${board_id}/`)).body)
    const { id } = await make('dashboards/', { name: 'Empty' })
    const path = `${ROOT}dashboards/${String(id)}/reorder_tiles/`
    for (const tile_order of [[foreign[0]?.id], [], 'all']) {
      const answer = await manage(world, 'POST', path, { tile_order })
      expect([answer.status, answer.body['attr']]).toEqual([400, 'tile_order'])
    }
  })
})
