/** Saved insights and dashboards: kept with their queries, and answered like queries. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { createProject } from '../../../../src/projects/settings/project.ts'
import { joinWorld } from '../../shared-world.ts'
import { capture, manage } from '../../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

const INSIGHTS = `/api/projects/${project_id}/insights/`
const DASHBOARDS = `/api/environments/${project_id}/dashboards/`

beforeAll(async () => {
  await capture(
    world,
    { event: 'paid', distinct_id: 'a', properties: { plan: 'pro' } },
    { event: 'paid', distinct_id: 'b', properties: { plan: 'free' } },
    { event: 'seen', distinct_id: 'b' },
  )
})

const COUNTS = {
  kind: 'HogQLQuery',
  query: 'select event, count() from events group by 1 order by 1',
}
const node = (source: object) => ({ kind: 'DataVisualizationNode', source })
const saved = async (body: object) => {
  const made = await manage(world, 'POST', INSIGHTS, body)
  expect(made.status).toBe(201)
  return Number(made.body['id'])
}

describe('a saved insight', () => {
  test('is found by its short id too, in its own project', async () => {
    const id = await saved({ name: 'Short' })
    const { body } = await manage(world, 'GET', `${INSIGHTS}${id}/`)
    const path = `${INSIGHTS}${String(body['short_id'])}/`
    expect((await manage(world, 'GET', path)).body['id']).toBe(body['id'])
    expect((await manage(world, 'PATCH', path, { name: 'Shorter' })).body).toMatchObject({
      id: body['id'],
      name: 'Shorter',
    })
    expect((await manage(world, 'GET', `${path}activity/`)).status).toBe(200)
    const { body: other } = await manage(world, 'POST', '/api/projects/', { name: 'other' })
    const theirs = `/api/projects/${String(other['id'])}/insights/${String(body['short_id'])}/`
    expect((await manage(world, 'GET', theirs)).status).toBe(404)
  })

  test('is modified by what it asks and is called, and not by a star, tags or boards', async () => {
    const id = await saved({ name: 'Modified' })
    const path = `${INSIGHTS}${id}/`
    const board = await manage(world, 'POST', DASHBOARDS, { name: 'Modified' })
    const { last_modified_at } = (await manage(world, 'GET', path)).body
    for (const change of [
      { favorited: true },
      { dashboards: [board.body['id']] },
      { tags: ['a'], saved: true, favorited: false },
      {},
    ]) {
      const { status, body } = await manage(world, 'PATCH', path, change)
      expect([status, body['last_modified_at']]).toEqual([200, last_modified_at])
    }
    for (const change of [{ name: 'Other' }, { description: 'Other' }, { query: node(COUNTS) }]) {
      const before = (await manage(world, 'GET', path)).body['last_modified_at']
      await Bun.sleep(2)
      const { body } = await manage(world, 'PATCH', path, change)
      expect(Date.parse(String(body['last_modified_at']))).toBeGreaterThan(
        Date.parse(String(before)),
      )
    }
  })

  test('with filters that ask nothing says why it has no result', async () => {
    const filters = { insight: 'HOROSCOPE', events: [{ id: 'seen', type: 'events', order: 0 }] }
    const id = await saved({ name: 'Old', filters })
    const { status, body } = await manage(world, 'GET', `${INSIGHTS}${id}/?refresh=true`)
    expect([status, body['result'], body['filters']]).toEqual([200, null, filters])
    expect(body['query_status']).toMatchObject({ error: true })
    const empty = await manage(world, 'GET', `${INSIGHTS}${await saved({ name: 'None' })}/`)
    expect(empty.body['query_status']).toBeNull()
  })

  test('is asked again as freshly as one likes', async () => {
    const id = await saved({ name: 'Counts', query: node(COUNTS), tags: ['a'] })
    const path = `${INSIGHTS}${id}/`
    const cold = await manage(world, 'GET', path)
    expect(cold.body).toMatchObject({
      name: 'Counts',
      query: node(COUNTS),
      tags: ['a'],
      short_id: expect.stringMatching(/^\w{8}$/),
      dashboards: [],
      saved: false,
      timezone: 'UTC',
      result: null,
      is_cached: false,
      created_by: { first_name: 'Owner' },
    })
    const rows = [
      ['paid', 2],
      ['seen', 1],
    ]
    const computed = await manage(world, 'GET', `${path}?refresh=blocking`)
    expect(computed.body).toMatchObject({
      result: rows,
      columns: ['event', 'count()'],
      is_cached: false,
      hasMore: false,
      last_refresh: expect.any(String),
    })
    const warm = await manage(world, 'GET', path)
    expect(warm.body).toMatchObject({ result: rows, is_cached: true })
    const wrong = await manage(world, 'GET', `${path}?refresh=soon`)
    expect(wrong).toMatchObject({ status: 400, body: { attr: 'refresh' } })
  })

  test('may be a query about behaviour, and one that cannot be asked says so', async () => {
    const series = [{ kind: 'EventsNode', event: 'paid' }]
    const trend = { kind: 'TrendsQuery', series, dateRange: { date_from: '-1d' } }
    const id = await saved({ name: 'Trend', query: { kind: 'InsightVizNode', source: trend } })
    const { body } = await manage(world, 'GET', `${INSIGHTS}${id}/?refresh=force_blocking`)
    expect(body['result']).toMatchObject([{ count: 2, label: 'paid' }])
    const odd = await saved({ name: 'Odd', query: { kind: 'MagicQuery' } })
    expect(await manage(world, 'GET', `${INSIGHTS}${odd}/?refresh=blocking`)).toMatchObject({
      status: 400,
      body: { attr: 'query__kind' },
    })
    expect(await manage(world, 'GET', `${INSIGHTS}${odd}/`)).toMatchObject({
      status: 200,
      body: {
        name: 'Odd',
        result: null,
        query_status: { error: true, error_message: 'Unsupported query kind: MagicQuery' },
      },
    })
  })

  test('is listed among the saved ones while it is on a dashboard', async () => {
    const board = await manage(world, 'POST', DASHBOARDS, { name: 'Board' })
    const id = await saved({ name: 'Shown', saved: false, dashboards: [board.body['id']] })
    const isListed = async (is_saved: boolean) => {
      const { body } = await manage(world, 'GET', `${INSIGHTS}?search=shown&saved=${is_saved}`)
      return (body['results'] as unknown[]).length > 0
    }
    expect([await isListed(true), await isListed(false)]).toEqual([true, true])
    await manage(world, 'PATCH', `${INSIGHTS}${id}/`, { dashboards: [] })
    expect([await isListed(true), await isListed(false)]).toEqual([false, true])
  })

  test('is found, changed, deleted and told of', async () => {
    const id = await saved({
      name: 'Findable',
      derived_name: 'Count of needles',
      description: 'about needles',
      favorited: true,
      saved: true,
    })
    const found = async (query: string) =>
      (
        (await manage(world, 'GET', `${INSIGHTS}?${query}`)).body['results'] as { id: number }[]
      ).map((one) => one.id)
    expect(await found('search=NEEDLE')).toEqual([id])
    expect(await found('favorited=true')).toEqual([id])
    expect(await found('search=needle&saved=false')).toEqual([])
    const path = `${INSIGHTS}${id}/`
    const changed = await manage(world, 'PATCH', path, { name: 'Found', saved: false })
    expect(changed.body).toMatchObject({
      name: 'Found',
      derived_name: 'Count of needles',
      saved: false,
      description: 'about needles',
    })
    expect(await found(`short_id=${String(changed.body['short_id'])}`)).toEqual([id])
    expect((await manage(world, 'DELETE', path)).status).toBe(405)
    await manage(world, 'PATCH', path, { deleted: true })
    expect(await found('search=needle')).toEqual([])
    const log = await manage(world, 'GET', `${path}activity/`)
    expect(log.body).toMatchObject({
      results: [
        // Links to an insight have its short id.
        {
          activity: 'deleted',
          scope: 'Insight',
          detail: { short_id: expect.stringMatching(/^\w{8}$/) },
        },
        { activity: 'updated', detail: { changes: [{ field: 'name', before: 'Findable' }, {}] } },
        { activity: 'created' },
      ],
    })
  })
})

test('queries can be asked about both', async () => {
  const board = await manage(world, 'POST', DASHBOARDS, { name: 'Listed' })
  const insight = await saved({ name: 'Listed too', query: node(COUNTS) })
  const query = `
select 'd', id, name from system.dashboards where name = 'Listed'
union all
select 'i', id, name from system.insights where name = 'Listed too'
order by 1`
  const answer = await manage(world, 'POST', `/api/projects/${project_id}/query/`, {
    query: { kind: 'HogQLQuery', query },
    refresh: 'force_blocking',
  })
  expect(answer.body['results']).toEqual([
    ['d', Number(board.body['id']), 'Listed'],
    ['i', insight, 'Listed too'],
  ])
})

describe('a dashboard', () => {
  test('shows its insights with their results, under its own filters, and texts between them', async () => {
    const board = await manage(world, 'POST', DASHBOARDS, {
      name: 'Money',
      tiles: [{ text: { body: '# Read me' }, layouts: { sm: { x: 0 } } }],
    })
    expect(board.status).toBe(201)
    const id = Number(board.body['id'])
    const path = `${DASHBOARDS}${id}/`
    const filtered = `select count() from events where event = 'paid' and {filters}`
    const good = await saved({
      name: 'Paid',
      query: { kind: 'HogQLQuery', query: filtered },
      dashboards: [id],
    })
    const bad = await saved({
      name: 'Broken',
      query: { kind: 'HogQLQuery', query: 'select nothing from events' },
      dashboards: [id],
    })
    await manage(world, 'PATCH', path, {
      filters: { properties: [{ key: 'plan', value: 'pro', operator: 'exact', type: 'event' }] },
    })
    const shown = await manage(world, 'GET', `${path}?refresh=blocking`)
    expect(shown.body).toMatchObject({
      name: 'Money',
      pinned: false,
      restriction_level: 21,
      tiles: [
        { text: { body: '# Read me' }, insight: null, layouts: { sm: { x: 0 } } },
        { text: null, insight: { id: good, dashboards: [id], result: [[1]] } },
        {
          insight: {
            id: bad,
            result: null,
            query_status: { error: true, error_message: expect.stringContaining('nothing') },
          },
        },
      ],
    })
    const alone = await manage(world, 'GET', `${INSIGHTS}${good}/?refresh=blocking`)
    expect(alone.body['result']).toEqual([[2]])
    const tiles = shown.body['tiles'] as { id: number }[]
    const moved = await manage(world, 'PATCH', path, {
      pinned: true,
      tiles: [
        { id: tiles[0]?.id, text: { body: 'Shorter' }, color: 'blue' },
        { id: tiles[1]?.id, show_description: false },
        { id: tiles[2]?.id, deleted: true },
      ],
    })
    expect(moved.body).toMatchObject({
      pinned: true,
      tiles: [
        { text: { body: 'Shorter' }, color: 'blue', layouts: { sm: { x: 0 } } },
        { insight: { id: good, result: null }, color: null, show_description: false },
      ],
    })
    await manage(world, 'PATCH', path, { tiles: [{ id: tiles[1]?.id, show_description: null }] })
    expect((await manage(world, 'GET', path)).body['tiles']).toMatchObject([
      { color: 'blue' },
      { show_description: null },
    ])
    await manage(world, 'PATCH', `${INSIGHTS}${good}/`, { dashboards: [] })
    expect((await manage(world, 'GET', path)).body['tiles']).toHaveLength(1)
  })

  test('is there from the beginning', async () => {
    const { body: project } = await manage(world, 'POST', '/api/projects/', { name: 'Fresh' })
    const root = `/api/projects/${String(project['id'])}/`
    const { body } = await manage(world, 'GET', `${root}dashboards/`)
    expect(body['results']).toMatchObject([
      {
        id: project['primary_dashboard'],
        name: 'My App Dashboard',
        pinned: true,
        last_modified_at: expect.stringMatching(/Z$/),
      },
    ])
  })

  test('may be the first that people of its project see', async () => {
    const made = await manage(world, 'POST', DASHBOARDS, { name: 'First' })
    const set = (primary_dashboard: unknown) =>
      manage(world, 'PATCH', `/api/projects/${project_id}/`, { primary_dashboard })
    expect((await set(made.body['id'])).body['primary_dashboard']).toBe(Number(made.body['id']))
    expect(await set(99_999)).toMatchObject({
      status: 400,
      body: { code: 'does_not_exist', attr: 'primary_dashboard' },
    })
    expect((await set(null)).body['primary_dashboard']).toBe(null)
  })

  test('holds insights of its project only', async () => {
    const { organization_id } = world.first
    const other = createProject(world.needs.control, { organization_id, name: 'x' }, new Date())
    const foreign = await manage(world, 'POST', `/api/projects/${other.id}/dashboards/`, {})
    const refused = await manage(world, 'POST', INSIGHTS, { dashboards: [foreign.body['id']] })
    expect(refused).toMatchObject({
      status: 400,
      body: { code: 'does_not_exist', attr: 'dashboards' },
    })
    const own = await manage(world, 'POST', DASHBOARDS, { name: 'Own' })
    const path = `${DASHBOARDS}${String(own.body['id'])}/`
    expect(await manage(world, 'PATCH', path, { tiles: [{ id: 99_999 }] })).toMatchObject({
      status: 400,
      body: { attr: 'tiles__0__id' },
    })
    expect(await manage(world, 'PATCH', path, { tiles: [{}] })).toMatchObject({
      status: 400,
      body: { attr: 'tiles__0__text' },
    })
    expect((await manage(world, 'GET', `${DASHBOARDS}${String(foreign.body['id'])}/`)).status).toBe(
      404,
    )
  })

  test.each(['actions', 'cohorts', 'dashboards', 'insights'])(
    'has its description cleared by null, as %s have',
    async (family) => {
      const list = DASHBOARDS.replace('dashboards', family)
      const made = await manage(world, 'POST', list, { name: 'Described', description: 'long' })
      const path = `${list}${String(made.body['id'])}/`
      const cleared = await manage(world, 'PATCH', path, { description: null })
      expect([made.body['description'], cleared.body['description']]).toEqual(['long', ''])
      const other = await manage(world, 'POST', list, { name: 'Other', description: null })
      expect([other.status, other.body['description']]).toEqual([201, ''])
    },
  )

  test("is made again from its answer, without the tiles, which are the first one's", async () => {
    const tiles = [{ text: { body: 'Read this' } }]
    const first = await manage(world, 'POST', DASHBOARDS, { name: 'First', tags: ['a'], tiles })
    expect(first.body['tiles']).toHaveLength(1)
    const again = await manage(world, 'POST', DASHBOARDS, first.body)
    const { id, tiles: none } = again.body
    expect(again).toMatchObject({ status: 201, body: { name: 'First', tags: ['a'] } })
    expect([id === first.body['id'], none]).toEqual([false, []])
    const first_path = `${DASHBOARDS}${String(first.body['id'])}/`
    expect((await manage(world, 'PUT', first_path, first.body)).body['tiles']).toEqual(
      first.body['tiles'],
    )
  })

  test('that is deleted is listed no more, and holds nothing until it is restored', async () => {
    const board = await manage(world, 'POST', DASHBOARDS, { name: 'Short-lived' })
    const id = Number(board.body['id'])
    const insight = await saved({ name: 'Left', dashboards: [id] })
    const path = `${DASHBOARDS}${id}/`
    expect((await manage(world, 'DELETE', path)).status).toBe(405)
    await manage(world, 'PATCH', path, { deleted: true })
    const listed = await manage(world, 'GET', `${DASHBOARDS}?search=short`)
    expect(listed.body).toMatchObject({ count: 0 })
    expect((await manage(world, 'GET', `${INSIGHTS}${insight}/`)).body['dashboards']).toEqual([])
    const log = await manage(world, 'GET', `${path}activity/`)
    expect(log.body).toMatchObject({ results: [{ activity: 'deleted', scope: 'Dashboard' }, {}] })
    // A client sends back what it has read.
    await manage(world, 'PATCH', `${INSIGHTS}${insight}/`, { dashboards: [] })
    const restored = await manage(world, 'PATCH', path, { deleted: false })
    expect(restored.body).toMatchObject({ tiles: [{ insight: { id: insight } }] })
  })
})

describe('an annotation', () => {
  const ANNOTATIONS = `/api/projects/${project_id}/annotations/`

  test('notes what happened when, beside everything, a dashboard or an insight', async () => {
    const board = await manage(world, 'POST', DASHBOARDS, { name: 'Releases' })
    const insight = await saved({ name: 'Curve' })
    const made = await manage(world, 'POST', ANNOTATIONS, {
      content: 'v2 is out',
      date_marker: '2026-05-01T12:00:00+02:00',
      scope: 'dashboard_item',
      creation_type: 'GIT',
      dashboard_item: insight,
      dashboard_id: board.body['id'],
    })
    expect(made).toMatchObject({
      status: 201,
      body: {
        content: 'v2 is out',
        date_marker: '2026-05-01T10:00:00.000Z',
        creation_type: 'GIT',
        insight_name: 'Curve',
        dashboard_name: 'Releases',
        created_by: { first_name: 'Owner' },
      },
    })
    const path = `${ANNOTATIONS}${String(made.body['id'])}/`
    await manage(world, 'POST', ANNOTATIONS, { content: 'earlier', scope: 'project' })
    const listed = async (query: string) =>
      (await manage(world, 'GET', `${ANNOTATIONS}?${query}`)).body['results']
    expect(await listed('')).toMatchObject([{ content: 'v2 is out' }, { content: 'earlier' }])
    expect(await listed('scope=project')).toMatchObject([{ content: 'earlier' }])
    expect(await listed('search=V2')).toMatchObject([{ content: 'v2 is out' }])
    expect((await manage(world, 'DELETE', path)).status).toBe(405)
    await manage(world, 'PATCH', path, { deleted: true })
    expect(await listed('search=v2')).toEqual([])
    const log = await manage(world, 'GET', `${path}activity/`)
    expect(log.body).toMatchObject({
      results: [
        { activity: 'deleted', scope: 'Annotation', detail: { name: 'v2 is out' } },
        { activity: 'created' },
      ],
    })
  })

  test('stands on what is there', async () => {
    for (const attr of ['dashboard_item', 'dashboard_id']) {
      expect(await manage(world, 'POST', ANNOTATIONS, { [attr]: 99_999 })).toMatchObject({
        status: 400,
        body: { code: 'does_not_exist', attr },
      })
    }
  })
})

describe('what is deleted', () => {
  test.each([
    ['insights', { name: 'gone' }],
    ['dashboards', { name: 'gone' }],
    ['annotations', { content: 'gone' }],
  ] as const)('of %s is not found, and comes back', async (family, body) => {
    const { body: made } = await manage(
      world,
      'POST',
      `/api/projects/${project_id}/${family}/`,
      body,
    )
    const path = `/api/projects/${project_id}/${family}/${String(made['id'])}/`
    expect((await manage(world, 'PATCH', path, { deleted: true })).status).toBe(200)
    expect((await manage(world, 'GET', path)).status).toBe(404)
    expect((await manage(world, 'PATCH', path, { tags: [] })).status).toBe(404)
    expect((await manage(world, 'PATCH', path, { deleted: false })).status).toBe(200)
    expect((await manage(world, 'GET', path)).body).toMatchObject({ deleted: false })
  })
})

describe('a dashboard that begins with another', () => {
  const DASHBOARDS_17 = `/api/projects/${project_id}/dashboards/`
  const query = {
    kind: 'InsightVizNode',
    source: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'e' }] },
  }
  const dashboardWith = async (name: string) => {
    const { body } = await manage(world, 'POST', DASHBOARDS_17, { name })
    const id = Number(body['id'])
    const insight = await manage(world, 'POST', `/api/projects/${project_id}/insights/`, {
      name: `${name} insight`,
      query,
      dashboards: [id],
    })
    return { id, insight_id: Number(insight.body['id']) }
  }
  type Tiles = readonly { readonly insight: { readonly id: number; readonly name: string } }[]
  const insightsOf = (body: Readonly<Record<string, unknown>>) =>
    (body['tiles'] as Tiles).map(({ insight: { id, name } }) => ({ id, name }))
  const post = (body: object) => manage(world, 'POST', DASHBOARDS_17, { name: 'new', ...body })

  test('shows the same insights, or copies of them', async () => {
    const { id, insight_id } = await dashboardWith('source')
    const same = await post({ use_dashboard: id })
    expect(insightsOf(same.body)).toEqual([{ id: insight_id, name: 'source insight' }])
    expect(same.body['creation_mode']).toBe('duplicate')
    const [copy] = insightsOf((await post({ use_dashboard: id, duplicate_tiles: true })).body)
    expect(copy?.name).toBe('source insight (Copy)')
    expect(copy?.id).not.toBe(insight_id)
  })

  test('needs one that is there, or a template that is known', async () => {
    const refused = async (body: object) => (await post(body)).body
    expect(await refused({ use_dashboard: 99_999 })).toMatchObject({ attr: 'use_dashboard' })
    const templates = ['AARRR', '__proto__', 'constructor']
    for (const use_template of templates) {
      expect(await refused({ use_template })).toMatchObject({ attr: 'use_template' })
    }
  })

  test('moves a tile to another one, and leaves it once where it is already', async () => {
    const { id, insight_id } = await dashboardWith('left')
    const other = await dashboardWith('entered')
    const tileOf = async (dashboard: number) => {
      const { body } = await manage(world, 'GET', `${DASHBOARDS_17}${dashboard}/`)
      return (body['tiles'] as readonly { id: number; insight: { id: number } }[]).map((tile) => ({
        id: tile.id,
        insight_id: tile.insight.id,
      }))
    }
    const [tile] = await tileOf(id)
    const move = (from: number, body: object) =>
      manage(world, 'PATCH', `${DASHBOARDS_17}${from}/move_tile/`, body)
    expect((await move(id, { tile: { id: 99_999 }, toDashboard: other.id })).status).toBe(400)
    expect((await move(id, { tile: { id: tile?.id }, toDashboard: 99_999 })).status).toBe(400)
    expect((await move(id, { tile: { id: tile?.id } })).body).toMatchObject({ code: 'required' })
    const left = await move(id, { tile: { id: tile?.id }, toDashboard: other.id })
    expect([left.status, left.body['id'], left.body['tiles']]).toEqual([200, id, []])
    const entered = new Set((await tileOf(other.id)).map((one) => one.insight_id))
    expect(entered).toEqual(new Set([insight_id, other.insight_id]))
    await manage(world, 'PATCH', `/api/projects/${project_id}/insights/${insight_id}/`, {
      dashboards: [id, other.id],
    })
    const [again] = await tileOf(id)
    await move(id, { tile: { id: again?.id }, toDashboard: other.id })
    expect(await tileOf(id)).toEqual([])
    expect(await tileOf(other.id)).toHaveLength(2)
  })

  test('is deleted with the insights that are on no other, and restored with them', async () => {
    const { id, insight_id } = await dashboardWith('own')
    const shared = await dashboardWith('shared')
    await manage(world, 'PATCH', `/api/projects/${project_id}/insights/${shared.insight_id}/`, {
      dashboards: [shared.id, id],
    })
    const isThere = async (insight: number) =>
      (await manage(world, 'GET', `/api/projects/${project_id}/insights/${insight}/`)).status ===
      200
    await manage(world, 'PATCH', `${DASHBOARDS_17}${id}/`, { deleted: true, delete_insights: true })
    expect([await isThere(insight_id), await isThere(shared.insight_id)]).toEqual([false, true])
    await manage(world, 'PATCH', `${DASHBOARDS_17}${id}/`, { deleted: false })
    expect([await isThere(insight_id), await isThere(shared.insight_id)]).toEqual([true, true])
  })

  test('lends its filters to an insight that is read from it', async () => {
    const { id, insight_id } = await dashboardWith('filtered')
    await manage(world, 'PATCH', `${DASHBOARDS_17}${id}/`, { filters: { date_from: '-14d' } })
    const read = async (search: string) =>
      (
        await manage(
          world,
          'GET',
          `/api/projects/${project_id}/insights/${insight_id}/?refresh=True${search}`,
        )
      ).body
    const daysIn = (body: Readonly<Record<string, unknown>>) =>
      (body['result'] as { days: string[] }[])[0]?.days.length
    const shown = await read(`&from_dashboard=${id}`)
    expect(shown).toMatchObject({ query: { source: { dateRange: { date_from: '-14d' } } } })
    expect(daysIn(shown)).toBe(15)
    expect(daysIn(await read(''))).toBe(8)
    expect(daysIn(await read('&from_dashboard=99999'))).toBe(8)
    const { body } = await manage(world, 'GET', `${DASHBOARDS_17}${id}/run_insights/`)
    const [tile] = body['results'] as { insight: Readonly<Record<string, unknown>> }[]
    expect(daysIn(tile?.insight ?? {})).toBe(15)
  })

  test('computes the tiles that are named alone', async () => {
    const made = await manage(world, 'POST', DASHBOARDS, { name: 'Two tiles' })
    const path = `${DASHBOARDS}${String(made.body['id'])}/`
    for (const name of ['first', 'second']) {
      await manage(world, 'POST', `/api/projects/${project_id}/insights/`, {
        name,
        query: { kind: 'HogQLQuery', query: 'select 1' },
        dashboards: [made.body['id']],
      })
    }
    const run = async (search: string) => {
      const { body } = await manage(world, 'GET', `${path}run_insights/${search}`)
      return body['results'] as { id: number; insight: { name: string } }[]
    }
    const [first, second] = await run('')
    const named = await run(`?tile_ids=${String(second?.id)},99999`)
    expect(named.map(({ insight }) => insight.name)).toEqual(['second'])
    expect(await run(`?tile_ids=${String(first?.id)},${String(second?.id)}`)).toHaveLength(2)
    const refused = await manage(world, 'GET', `${path}run_insights/?tile_ids=first`)
    expect(refused).toMatchObject({ status: 400, body: { attr: 'tile_ids' } })
  })
})

test('dashboards are found by their name, description and tags', async () => {
  await manage(world, 'POST', DASHBOARDS, {
    name: 'Found 1',
    description: 'Quokka',
    tags: ['x'],
  })
  await manage(world, 'POST', DASHBOARDS, { name: 'Found 2', tags: ['quokkas', 'y'] })
  const named = async (search: string) => {
    const { body } = await manage(world, 'GET', `${DASHBOARDS}${search}`)
    return (body['results'] as { name: string }[]).map(({ name }) => name)
  }
  expect(await named('?search=QUOKKA')).toEqual(['Found 1', 'Found 2'])
  expect(await named('?search=found+1')).toEqual(['Found 1'])
  expect(await named('?tags=y')).toEqual(['Found 2'])
  expect(await named('?tags=x&tags=y')).toEqual(['Found 1', 'Found 2'])
  expect(await named('?tags=z')).toEqual([])
})

test('booleans in addresses are read as Python and browsers write them', async () => {
  await manage(world, 'POST', `/api/projects/${project_id}/insights/`, {
    name: 'starred',
    favorited: true,
  })
  const count = async (search: string) =>
    (await manage(world, 'GET', `/api/projects/${project_id}/${search}`)).body['count']
  const starred = await count('insights/?favorited=true')
  expect(starred).toBeGreaterThan(0)
  for (const word of ['True', '1', 'yes', 'TRUE']) {
    expect(await count(`insights/?favorited=${word}`)).toBe(starred)
  }
  expect(await count('insights/?saved=True')).toBe(await count('insights/?saved=true'))
  expect(await count('insights/?saved=False')).toBe(await count('insights/?saved=false'))
  expect(await count('dashboards/?pinned=False')).toBe(await count('dashboards/?pinned=false'))
  expect(await count('insights/?refresh=False')).toBe(await count('insights/'))
})

test('an annotation for the whole organization is read in each of its projects, and changed in its own', async () => {
  const organization = `/api/organizations/${world.first.organization_id}/`
  const sibling = await manage(world, 'POST', `${organization}projects/`, { name: 'Sibling' })
  const root = `/api/projects/${String(sibling.body['id'])}/annotations/`
  const note = async (scope: string) =>
    (
      await manage(world, 'POST', `/api/projects/${project_id}/annotations/`, {
        content: scope,
        scope,
      })
    ).body['id']
  const own = await note('project')
  const wide = await note('organization')
  const { body } = await manage(world, 'GET', root)
  expect(body).toMatchObject({ count: 1, results: [{ id: wide, content: 'organization' }] })
  expect((await manage(world, 'GET', `${root}${String(wide)}/`)).status).toBe(200)
  expect((await manage(world, 'GET', `${root}${String(own)}/`)).status).toBe(404)
  expect((await manage(world, 'PATCH', `${root}${String(wide)}/`, { content: 'x' })).status).toBe(
    403,
  )
})
