/** What was clicked, and what is known of sessions, through the management API. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createProject } from '../../../src/projects/settings/project.ts'
import { joinWorld } from '../shared-world.ts'
import { capture, manage } from '../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

setDefaultTimeout(60_000)

const ROOT = `/api/environments/${project_id}/`
const SESSION = '0193e000-0000-7000-8000-0000000000'
const BUY = 'a.big.blue:attr__href="/buy"attr_id="buy"href="/buy"nth-child="2"text="Buy"'
const HELP = 'a:href="/help"text="Get help"'

/** When the oldest click was, not in the last millisecond of its day. */
let oldest_ms: number
beforeAll(async () => {
  const now = Date.now()
  oldest_ms = now - 30 * 86_400_000 - (now % 2)
  const clicked = (distinct_id: string, chain: string, rest: object = {}) => ({
    event: '$autocapture',
    distinct_id,
    timestamp: new Date(now - 60_000),
    properties: {
      $elements_chain: chain,
      $session_id: `${SESSION}0${distinct_id}`,
      $current_url: `https://a.example/${distinct_id}`,
      ...rest,
    },
  })
  await capture(
    world,
    clicked('1', BUY, { plan: 'pro' }),
    clicked('2', BUY),
    clicked('2', HELP),
    { ...clicked('3', HELP), event: '$dead_click' },
    { ...clicked('4', HELP), timestamp: new Date(oldest_ms) },
    { event: '$autocapture', distinct_id: '3', properties: {} },
  )
})

const got = async (path: string): Promise<unknown> => {
  const { status, body } = await manage(world, 'GET', ROOT + path)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body
}
type Stats = {
  readonly next: string | null
  readonly previous: string | null
  readonly results: readonly { readonly count: number; readonly elements: readonly object[] }[]
}
const counts = async (search: string) =>
  ((await got(`elements/stats/${search}`)) as Stats).results.map(({ count }) => count)

describe('elements', () => {
  test('are counted as they were clicked, the most frequent first', async () => {
    expect(await got('elements/stats/')).toEqual({
      next: null,
      previous: null,
      results: [
        {
          count: 2,
          hash: null,
          type: '$autocapture',
          elements: [
            {
              text: 'Buy',
              tag_name: 'a',
              attr_class: ['big', 'blue'],
              href: '/buy',
              attr_id: 'buy',
              nth_child: 2,
              nth_of_type: null,
              attributes: { attr__href: '/buy' },
              order: 0,
            },
          ],
        },
        expect.objectContaining({
          count: 1,
          elements: [expect.objectContaining({ text: 'Get help' })],
        }),
      ],
    })
  })

  test.each([
    ['?include=$dead_click', [1]],
    ['?include=$autocapture&include=$dead_click', [2, 1, 1]],
    ['?date_from=-90d', [2, 2]],
    ['?date_from=all', [2, 2]],
    ['?date_to=-1d', []],
    [`?properties=${encodeURIComponent('[{"key":"plan","value":"pro"}]')}`, [1]],
    ['?limit=1', [2]],
    ['?limit=1&offset=1', [1]],
  ])('%s counts %j', async (search, wanted) => {
    expect(await counts(search)).toEqual(wanted)
  })

  test('come page by page', async () => {
    const { next, previous } = (await got('elements/stats/?limit=1')) as Stats
    expect([next, previous]).toEqual([expect.stringContaining('limit=1&offset=1'), null])
  })

  test('are counted from the beginning of the first day, whatever time it has', async () => {
    const date_from = new Date(oldest_ms + 1).toISOString()
    expect(await counts(`?date_from=${date_from}`)).toEqual([2, 2])
  })

  test.each([
    ['tag_name', '', [{ name: 'a', count: 4 }]],
    [
      'text',
      '',
      [
        { name: 'Buy', count: 2 },
        { name: 'Get help', count: 2 },
      ],
    ],
    ['text', 'HELP', [{ name: 'Get help', count: 2 }]],
    [
      'attr_class',
      'b',
      [
        { name: 'big', count: 2 },
        { name: 'blue', count: 2 },
      ],
    ],
    ['href', 'buy', [{ name: '/buy', count: 2 }]],
  ])('have %s with %j: %j', async (key, value, wanted) => {
    expect(await got(`elements/values/?key=${key}&value=${value}`)).toEqual(wanted)
  })

  test.each([
    ['elements/stats/?include=$pageview', 'include'],
    ['elements/stats/?date_from=soon', 'date_from'],
    ['elements/stats/?properties=3', 'properties'],
    ['elements/values/?key=__proto__', 'key'],
  ])('%s is refused', async (path, attr) => {
    const { status, body } = await manage(world, 'GET', ROOT + path)
    expect([status, body['attr']]).toEqual([400, attr])
  })

  test('of one project are not those of another', async () => {
    const { organization_id } = world.first
    const other = createProject(world.needs.control, { organization_id, name: 'other' }, new Date())
    const { body } = await manage(world, 'GET', `/api/projects/${other.id}/elements/stats/`)
    expect(body['results']).toEqual([])
  })
})

describe('sessions', () => {
  test.each([
    [
      '$entry_current_url',
      '',
      [
        { name: 'https://a.example/1', count: 1 },
        { name: 'https://a.example/2', count: 1 },
        { name: 'https://a.example/3', count: 1 },
      ],
    ],
    ['$entry_pathname', '2', [{ name: '/2', count: 1 }]],
    ['$entry_pathname', '%', []],
    [
      '$autocapture_count',
      '',
      [
        { name: 0, count: 1 },
        { name: 1, count: 1 },
        { name: 2, count: 1 },
      ],
    ],
    ['plan', '', []],
    ['__proto__', '', []],
  ])('have %s with %j: %j', async (key, value, wanted) => {
    const search = new URLSearchParams({ key, value })
    expect(await got(`sessions/values/?${search.toString()}`)).toEqual(wanted)
  })

  test('have properties, each of which has values that can be asked for', async () => {
    const { results } = (await got('sessions/property_definitions/')) as {
      readonly results: readonly { readonly name: string }[]
    }
    expect(results.map(({ name }) => name)).toContain('$session_duration')
    for (const { name } of results) {
      expect(Array.isArray(await got(`sessions/values/?key=${name}`))).toBe(true)
    }
    expect(await got('sessions/property_definitions/?search=DURATION')).toMatchObject({
      count: 1,
      results: [{ name: '$session_duration', property_type: 'Numeric', is_numerical: true }],
    })
  })
})
