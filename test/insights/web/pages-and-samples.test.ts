/** Tables of visits with the project's own names of pages, and of a sample of its users. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { WebOverviewQuery, WebStatsTableQuery } from '../../../src/contract/insights/web.ts'
import { InsightWorld } from '../world.ts'

setDefaultTimeout(120_000)

const NOW = '2024-06-12T12:00:00Z'
const dateRange = { date_from: '2024-06-10', date_to: '2024-06-12' }
const PEOPLE = 200
/** Where the visits of the users of a sample lie. */
const EARLIER = { date_from: '2024-06-01', date_to: '2024-06-02' }

let world: InsightWorld
beforeAll(() => {
  world = new InsightWorld()
  world.know({
    path_cleaning_filters: [{ regex: String.raw`/\d+`, alias: '/:id' }, { alias: 'unfinished' }],
  })
  const view = (person: number, time: string, path: string, more: object = {}) => {
    const $current_url = `https://shop.example${path}`
    const properties = { $session_id: `s${person}`, $pathname: path, $current_url, ...more }
    world.send({ event: '$pageview', person, at: `2024-06-${time}Z`, properties })
  }
  // s1: person 1 sees two users' pages. s2: person 2 begins at another one, and bounces. s3: person 3 sees the list.
  view(1, '10T10:00:00', '/user/7')
  view(1, '10T10:00:40', '/user/8', {
    $prev_pageview_pathname: '/user/7',
    $prev_pageview_duration: 40,
  })
  view(2, '11T10:00:00', '/user/9')
  view(3, '12T10:00:00', '/users')
  world.send({
    event: '$rageclick',
    person: 3,
    at: '2024-06-12T10:00:01Z',
    properties: { $session_id: 's3', $pathname: '/user/1' },
  })
  for (let person = 1000; person < 1000 + PEOPLE; person += 1) {
    for (const second of ['01', '02', '03']) {
      view(person, `01T10:00:${second}`, '/', { $browser: 'Opera' })
    }
  }
})
afterAll(() => world[Symbol.asyncDispose]())

const table = async (more: Partial<WebStatsTableQuery>): Promise<unknown> =>
  (await world.ask({ kind: 'WebStatsTableQuery', breakdownBy: 'Page', dateRange, ...more }, NOW))
    .results

const overview = (sampling: WebOverviewQuery['sampling']) =>
  world.ask({ kind: 'WebOverviewQuery', dateRange: EARLIER, sampling: sampling ?? null }, NOW)

describe('pages', () => {
  test('are one where the project’s rules make them one', async () => {
    const more = { includeBounceRate: true, includeAvgTimeOnPage: true }
    expect(await table({ ...more, doPathCleaning: true })).toEqual([
      // Persons 1 and 2, three views; s1 and s2 begin there and s2 bounces; one view was read for 40 seconds.
      ['/user/:id', [2, null], [3, null], [0.5, null], [40, null]],
      ['/users', [1, null], [1, null], [1, null], [null, null]],
    ])
    expect(await table(more)).toEqual([
      ['/user/7', [1, null], [1, null], [0, null], [40, null]],
      ['/user/8', [1, null], [1, null], [null, null], [null, null]],
      ['/user/9', [1, null], [1, null], [1, null], [null, null]],
      ['/users', [1, null], [1, null], [1, null], [null, null]],
    ])
  })

  test.each([
    [
      'InitialPage',
      [
        ['/user/:id', [2, null], [3, null]],
        ['/users', [1, null], [1, null]],
      ],
    ],
    [
      'ExitPage',
      [
        ['/user/:id', [2, null], [3, null]],
        ['/users', [1, null], [1, null]],
      ],
    ],
    ['PreviousPage', [['/user/:id', [1, null], [1, null]]]],
    ['FrustrationMetrics', [['/user/:id', [1, null], [0, null], [0, null]]]],
  ] as const)('are so as %s too', async (breakdownBy, rows) => {
    expect(JSON.stringify(await table({ breakdownBy, doPathCleaning: true }))).toBe(
      JSON.stringify(rows),
    )
  })
})

describe('a sample', () => {
  test('holds whole users, counted up to all of them', async () => {
    const half = { enabled: true, forceSamplingRate: { numerator: 1, denominator: 2 } }
    const { results, samplingRate } = await overview(half)
    expect(samplingRate).toEqual({ numerator: 1, denominator: 2 })
    const [visitors, views, sessions, duration] = (results as { value: number }[]).map(
      ({ value }) => value,
    )
    // Twice the users of the sample, each with one visit of three views and two seconds.
    expect([(visitors ?? 1) % 2, views, sessions, duration]).toEqual([
      0,
      3 * (visitors ?? 0),
      visitors ?? 0,
      2,
    ])
    expect(visitors).toBeWithin(PEOPLE / 2, PEOPLE * 1.5)
    expect(visitors).not.toBe(PEOPLE)
    const browsers = await table({ breakdownBy: 'Browser', dateRange: EARLIER, sampling: half })
    expect(browsers).toEqual([['Opera', [visitors, null], [views, null]]])
  })

  test('is everybody where it is off, or names no rate', async () => {
    const rate = { numerator: 1, denominator: 2 }
    for (const sampling of [{ enabled: true }, { enabled: false, forceSamplingRate: rate }, null]) {
      const { results, samplingRate } = await overview(sampling)
      expect((results as object[]).slice(0, 3)).toMatchObject([
        { value: PEOPLE },
        { value: 3 * PEOPLE },
        { value: PEOPLE },
      ])
      expect(samplingRate).toEqual({ numerator: 1, denominator: null })
    }
  })

  test('of more than everybody is refused', () => {
    const sampling = { enabled: true, forceSamplingRate: { numerator: 3, denominator: 2 } }
    expect(overview(sampling)).rejects.toMatchObject({
      attr: 'query__sampling__forceSamplingRate',
    })
  })
})
