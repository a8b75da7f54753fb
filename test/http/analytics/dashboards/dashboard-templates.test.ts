/** Templates of dashboards: each makes a dashboard whose insights all compute. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { TEMPLATES } from '../../../../src/dashboards/templates.ts'
import { joinWorld } from '../../shared-world.ts'
import { capture, manage } from '../../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

const DASHBOARDS = `/api/projects/${project_id}/dashboards/`

beforeAll(async () => {
  await capture(
    world,
    { event: '$pageview', distinct_id: 'a', properties: { $pathname: '/', $browser: 'Firefox' } },
    { event: '$pageview', distinct_id: 'b', properties: { $pathname: '/x', $lib: 'web' } },
  )
})

type Tile = {
  readonly insight: {
    readonly name: string
    readonly result: unknown
    query_status: unknown
  } | null
  readonly text: { readonly body: string } | null
}

describe.each(TEMPLATES)('the template $key', ({ id, key, template_name, tiles }) => {
  test('makes a dashboard whose insights all have a result', async () => {
    const made = await manage(world, 'POST', DASHBOARDS, { use_template: key })
    expect([made.status, made.body['name']]).toEqual([201, template_name])
    expect(made.body['creation_mode']).toBe('template')
    const path = `${DASHBOARDS}${String(made.body['id'])}/?refresh=blocking`
    const shown = (await manage(world, 'GET', path)).body['tiles'] as readonly Tile[]
    expect(shown.map(({ insight }) => insight?.name)).toEqual(
      tiles.flatMap((tile) => (tile.type === 'INSIGHT' ? tile.name : [])),
    )
    const isObject = (result: unknown): boolean => typeof result === 'object' && result !== null
    const empty = shown.filter(({ insight }) => !isObject(insight?.result))
    expect(empty.map(({ insight }) => [insight?.name, insight?.query_status])).toEqual([])
  })

  test('is read by its id, and named by its name too', async () => {
    const read = await manage(
      world,
      'GET',
      `/api/projects/${project_id}/dashboard_templates/${id}/`,
    )
    expect(read.body).toMatchObject({ id, key, template_name, variables: [], scope: 'global' })
    const body = { name: 'Mine', description: 'own words', use_template: template_name }
    const made = await manage(world, 'POST', DASHBOARDS, body)
    expect(made.body).toMatchObject({ name: 'Mine', description: 'own words' })
    expect(made.body['tiles']).toHaveLength(tiles.length)
  })
})

test('the list is searched, and has no templates of a project', async () => {
  const list = async (query: string) =>
    (await manage(world, 'GET', `/api/projects/${project_id}/dashboard_templates/${query}`)).body[
      'count'
    ]
  expect(await list('')).toBe(TEMPLATES.length)
  expect(await list('?search=WEB')).toBe(1)
  expect(await list('?search=nothing+like+it')).toBe(0)
  expect(await list('?scope=team')).toBe(0)
  expect(
    (await manage(world, 'GET', `/api/projects/${project_id}/dashboard_templates/1/`)).status,
  ).toBe(404)
  expect(new Set(TEMPLATES.flatMap(({ id, key }) => [id, key])).size).toBe(TEMPLATES.length * 2)
})

describe('a template in a body', () => {
  const send = (template: unknown) =>
    manage(world, 'POST', `${DASHBOARDS}create_from_template_json/`, { template })
  const source = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: '$pageview' }] }
  const query = { kind: 'InsightVizNode', source }

  test('makes a dashboard with its insights, texts and filters', async () => {
    const made = await send({
      template_name: 'Sent',
      dashboard_description: 'as sent',
      dashboard_filters: { date_from: '-3d' },
      tags: ['a'],
      tiles: [
        { type: 'INSIGHT', name: 'Views', query, layouts: { sm: { x: 0, y: 1 } }, color: 'blue' },
        { type: 'TEXT', body: '# Views', layouts: { sm: { x: 0, y: 0 } } },
      ],
    })
    expect(made).toMatchObject({
      status: 200,
      body: {
        name: 'Sent',
        description: 'as sent',
        filters: { date_from: '-3d' },
        tags: ['a'],
        tiles: [
          { text: { body: '# Views' }, insight: null },
          { text: null, color: 'blue', insight: { name: 'Views', query } },
        ],
      },
    })
  })

  test.each([
    [null, 'template'],
    [{ tiles: [] }, 'template__tiles'],
    [{ tiles: [{ type: 'BUTTON' }] }, 'template__tiles__0'],
    [
      { tiles: Array.from({ length: 101 }, () => ({ type: 'TEXT', body: 'a' })) },
      'template__tiles',
    ],
  ])('that is none is refused (%#)', async (template, attr) => {
    const refused = await send(template)
    expect([refused.status, refused.body['attr']]).toEqual([400, attr])
  })
})
