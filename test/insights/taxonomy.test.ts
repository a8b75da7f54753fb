/** Look-ups over the server's own door: events, their properties, values of persons' and groups' properties. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Histories, type History, openHistories } from './history.ts'

setDefaultTimeout(120_000)

const NOW = '2024-06-12T12:00:00Z'

let histories: Histories
let history: History
beforeAll(async () => {
  histories = await openHistories(NOW)
  history = await histories.open()
  const at = (event: string, distinct_id: string, properties: object, day = '2024-06-11') => ({
    event,
    distinct_id,
    timestamp: `${day}T10:00:00Z`,
    properties: { ...properties },
  })
  await history.send([
    at('view', 'a', { path: '/a', n: 1, deep: { x: 1 }, none: null, $set: { plan: 'pro' } }),
    at('view', 'b', { path: '/b', n: 1, ok: true, $set: { plan: 'pro' } }),
    at('view', 'c', { path: '/a', long: 'x'.repeat(500), $set: { plan: 'free' } }),
    at('view', 'a', { path: '/long-ago' }, '2024-04-01'),
    at('buy', 'a', { price: 5 }),
    at('$groupidentify', 'a', { $group_type: 'team', $group_key: 't', $group_set: { size: 3 } }),
  ])
})
afterAll(() => histories.close())

async function results(query: object): Promise<unknown> {
  const { status, body } = await history.ask(query)
  expect([status, body['detail']]).toEqual([200, undefined])
  return body['results']
}

describe('TeamTaxonomyQuery', () => {
  test('lists events of the last thirty days, the most frequent first', async () => {
    expect(await results({ kind: 'TeamTaxonomyQuery' })).toEqual([
      { event: 'view', count: 3 },
      { event: '$groupidentify', count: 1 },
      { event: 'buy', count: 1 },
    ])
  })
})

describe('EventTaxonomyQuery', () => {
  test('lists properties with their most frequent values; what is null or nested has none', async () => {
    expect(await results({ kind: 'EventTaxonomyQuery', event: 'view' })).toEqual([
      { property: 'path', sample_values: ['/a', '/b'], sample_count: 2 },
      { property: 'long', sample_values: ['x'.repeat(128)], sample_count: 1 },
      { property: 'n', sample_values: ['1'], sample_count: 1 },
      { property: 'ok', sample_values: ['true'], sample_count: 1 },
    ])
    const only = {
      kind: 'EventTaxonomyQuery',
      event: 'view',
      properties: ['path'],
      maxPropertyValues: 1,
    }
    expect(await results(only)).toEqual([
      { property: 'path', sample_values: ['/a'], sample_count: 2 },
    ])
    expect(await results({ kind: 'EventTaxonomyQuery', event: 'never' })).toEqual([])
  })

  test('needs an event or an action that there is', async () => {
    for (const query of [{}, { actionId: 77 }]) {
      const { status } = await history.ask({ kind: 'EventTaxonomyQuery', ...query })
      expect(status).toBe(400)
    }
  })
})

describe('ActorsPropertyTaxonomyQuery', () => {
  test('tells the values of properties of persons and groups', async () => {
    const query = { kind: 'ActorsPropertyTaxonomyQuery', properties: ['plan', 'never'] }
    expect(await results(query)).toEqual([
      { sample_values: ['pro', 'free'], sample_count: 2 },
      { sample_values: [], sample_count: 0 },
    ])
    expect(await results({ ...query, properties: ['size'], groupTypeIndex: 0 })).toEqual([
      { sample_values: ['3'], sample_count: 1 },
    ])
  })
})
