/** Lifecycles: examples worked by hand, and any history against a plain count over rows. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { lifecycleActors } from '../../../src/insights/activity/lifecycle.ts'
import { FIRST_POINT } from '../../../src/insights/actors/point.ts'
import { InsightWorld, insightContext } from '../world.ts'

setDefaultTimeout(120_000)

const NOW = '2024-03-06T12:00:00Z'
const query = {
  kind: 'LifecycleQuery' as const,
  series: [{ kind: 'EventsNode' as const, event: 'seen' }],
  dateRange: { date_from: '2024-03-02', date_to: '2024-03-05' },
}

function exampleWorld(): InsightWorld {
  const world = new InsightWorld()
  // 1 is new on the 2nd, comes again on the 3rd and comes back on the 5th.
  world.addPerson(1, '2024-03-02T08:00:00Z')
  world.send(
    { person: 1, at: '2024-03-02T08:00:00Z' },
    { person: 1, at: '2024-03-02T09:00:00Z' },
    { person: 1, at: '2024-03-03T08:00:00Z' },
    { person: 1, at: '2024-03-05T08:00:00Z' },
  )
  // 2 was there before, on the 1st, and stays away on the 2nd.
  world.addPerson(2, '2024-01-01T00:00:00Z')
  world.send({ person: 2, at: '2024-03-01T23:59:59Z' })
  // 3 is 2 by another name since they were merged, and was there on the 4th.
  world.send({ person: 3, at: '2024-03-04T10:00:00Z' })
  world.merge(3, 2)
  // 4 has no profile.
  world.send({ person: 4, at: '2024-03-04T10:00:00Z', is_personless: true })
  // Other events do not count.
  world.send({ person: 1, at: '2024-03-04T10:00:00Z', event: 'other' })
  return world
}

const DAYS = ['2024-03-02', '2024-03-03', '2024-03-04', '2024-03-05']
const LABELS = ['2-Mar-2024', '3-Mar-2024', '4-Mar-2024', '5-Mar-2024']

function result(status: string, data: readonly number[], count: number): object {
  return {
    action: { id: 'seen', name: 'seen', type: 'events', order: 0, math: 'total' },
    data,
    count,
    labels: LABELS,
    days: DAYS,
    label: `seen - ${status}`,
    status,
  }
}

describe('LifecycleQuery', () => {
  const world = exampleWorld()
  afterAll(() => world[Symbol.asyncDispose]())

  test('tells new, returning, resurrecting and dormant people per day', async () => {
    const { results, resolved_date_range } = await world.ask(query, NOW)
    expect(results).toEqual([
      result('new', [1, 0, 0, 0], 1),
      result('returning', [0, 1, 0, 0], 1),
      result('resurrecting', [0, 0, 1, 1], 2),
      // 2 after the 1st, 1 after the 3rd, 2 after the 4th.
      result('dormant', [-1, 0, -1, -1], -3),
    ])
    expect(resolved_date_range).toEqual({
      date_from: '2024-03-02T00:00:00+00:00',
      date_to: '2024-03-05T23:59:59.999999+00:00',
    })
  })

  test('counts its last interval whole, also what is after the end of the range', async () => {
    const months = {
      ...query,
      interval: 'month' as const,
      dateRange: { date_from: '2024-03-01', date_to: '2024-03-02' },
    }
    const { results } = await world.ask(months, NOW)
    // 1 is new in March; 2 comes back on the 1st, and on the 4th by another name.
    expect(results).toMatchObject([{ data: [1] }, { data: [0] }, { data: [1] }, { data: [0] }])
  })

  test('finds the people behind each number', async () => {
    const context = insightContext(NOW)
    const people = async (day: string | null, status: string | null): Promise<unknown> => {
      const tree = lifecycleActors(query, { ...FIRST_POINT, day, status }, context)
      const rows = await world.rows(tree, NOW)
      return rows.map(([id]) => Number(String(id).slice(-4))).toSorted((a, b) => a - b)
    }
    expect(await people('2024-03-02', 'new')).toEqual([1])
    expect(await people('2024-03-02', 'dormant')).toEqual([2])
    expect(await people('2024-03-03', 'returning')).toEqual([1])
    expect(await people('2024-03-04', 'resurrecting')).toEqual([2])
    expect(await people('2024-03-04', 'dormant')).toEqual([1])
    expect(await people('2024-03-05', null)).toEqual([1, 2])
    expect(await people(null, 'new')).toEqual([1])
    expect(await people(null, 'returning')).toEqual([1])
    expect(await people(null, 'resurrecting')).toEqual([1, 2])
    expect(await people(null, null)).toEqual([1, 2])
    expect(() => lifecycleActors(query, { ...FIRST_POINT, day: '2024-03-09' }, context)).toThrow(
      'not within the date range',
    )
  })
})

describe('LifecycleQuery of other histories', () => {
  test('tells new groups from others by when they were made', async () => {
    await using world = new InsightWorld()
    world.addGroup(0, 'acme', {}, '2024-03-03T10:00:00Z')
    world.addGroup(0, 'beta', {}, '2024-01-01T10:00:00Z')
    world.send(
      { person: 1, at: '2024-03-03T12:00:00Z', groups: ['acme'] },
      { person: 2, at: '2024-03-03T13:00:00Z', groups: ['beta'] },
      { person: 1, at: '2024-03-04T13:00:00Z', groups: ['beta'] },
      { person: 3, at: '2024-03-04T13:00:00Z' },
    )
    const { results } = await world.ask({ ...query, aggregation_group_type_index: 0 }, NOW)
    expect(results).toMatchObject([
      { status: 'new', data: [0, 1, 0, 0] },
      { status: 'returning', data: [0, 0, 1, 0] },
      { status: 'resurrecting', data: [0, 1, 0, 0] },
      { status: 'dormant', data: [0, 0, -1, -1] },
    ])
  })

  test('of nothing is nothing, for a range of more steps than an integer has bits', async () => {
    await using world = new InsightWorld()
    world.addPerson(1, '2024-02-29T23:00:00Z')
    world.send({ person: 1, at: '2024-03-01T23:00:00Z' }, { person: 1, at: '2024-03-02T00:00:00Z' })
    const asked = { ...query, dateRange: { date_from: '2024-01-01', date_to: '2024-06-30' } }
    const { results } = await world.ask(asked, NOW)
    const data = (results as { data: number[]; days: string[] }[]).map((one) =>
      one.data.flatMap((count, index) => (count === 0 ? [] : [[one.days[index], count]])),
    )
    expect(data).toEqual([[], [['2024-03-02', 1]], [['2024-03-01', 1]], [['2024-03-03', -1]]])
  })
})
