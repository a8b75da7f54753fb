/** Correlations: an example worked by hand, and the arithmetic of odds. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { FunnelCorrelationQuery } from '../../../src/contract/insights/correlation.ts'
import {
  computeCorrelations,
  correlationActors,
} from '../../../src/insights/correlation/correlation.ts'
import { InsightWorld, insightContext } from '../world.ts'

setDefaultTimeout(120_000)

const NOW = '2024-03-06T12:00:00Z'
const node = (event: string) => ({ kind: 'EventsNode' as const, event })
const source = {
  kind: 'FunnelsActorsQuery' as const,
  funnelStep: 1,
  source: {
    kind: 'FunnelsQuery' as const,
    series: [node('visit'), node('pay')],
    dateRange: { date_from: '2024-03-01', date_to: '2024-03-05' },
    funnelsFilter: {
      funnelWindowInterval: 1,
      funnelWindowIntervalUnit: 'day' as const,
    },
  },
}
const correlation = (more: Partial<FunnelCorrelationQuery> = {}): FunnelCorrelationQuery => ({
  kind: 'FunnelCorrelationQuery',
  funnelCorrelationType: 'events',
  source,
  ...more,
})
const at = (minute: number): string =>
  new Date(Date.UTC(2024, 2, 1) + minute * 60_000).toISOString()
const CHAIN = 'a.big:href="/x;y"nth-child="1"nth-of-type="2"text="say \\"hi\\""'

let world: InsightWorld
beforeAll(() => {
  world = new InsightWorld()
  // 1, 2 and 3 visit and pay ten minutes later; 4, 5, 6 and 7 only visit.
  for (const person of [1, 2, 3, 4, 5, 6, 7]) {
    world.addPerson(person, '2024-01-01', { plan: person <= 3 ? 'pro' : 'free', lang: 'de' })
    world.send({ person, event: 'visit', at: at(0) })
    if (person <= 3) world.send({ person, event: 'pay', at: at(10) })
  }
  const during = (person: number, event: string, properties: object = {}) =>
    world.send({ person, event, at: at(5), properties: { ...properties } })
  // All who pay read the docs, and one who does not; all but one of the others ask for help, and nobody else.
  for (const person of [1, 2, 3, 4]) during(person, 'docs', { page: person === 4 ? 'faq' : 'api' })
  for (const person of [5, 6, 7]) during(person, 'help')
  // Twice is as good as once, and what is done before or after does not count.
  during(1, 'docs', { page: 'api' })
  world.send(
    { person: 4, event: 'help', at: at(-5) },
    { person: 1, event: 'help', at: at(11) },
    { person: 4, event: 'help', at: at(1441) },
    {
      person: 1,
      event: '$autocapture',
      at: at(6),
      properties: { $event_type: 'click' },
      elements_chain: CHAIN,
    },
    ...[2, 3].map((person) => ({
      person,
      event: '$autocapture',
      at: at(6),
      properties: { $event_type: 'click' },
      elements_chain: CHAIN,
    })),
  )
})
afterAll(() => world[Symbol.asyncDispose]())

const thing = (name: string, [s, f]: readonly [number, number], odds_ratio: number) => ({
  event: { event: name, properties: {}, elements: [] },
  success_count: s,
  failure_count: f,
  odds_ratio,
  correlation_type: odds_ratio > 1 ? 'success' : 'failure',
})

describe('FunnelCorrelationQuery', () => {
  test('tells which events go along with success and with failure', async () => {
    const answer = await world.ask(correlation(), NOW)
    expect(answer.results).toEqual({
      events: [
        // (3 + 1)(4 − 0 + 1) / ((3 − 3 + 1)(0 + 1)) = 20
        thing('$autocapture', [3, 0], 20),
        // (3 + 1)(4 − 1 + 1) / ((3 − 3 + 1)(1 + 1)) = 8
        thing('docs', [3, 1], 8),
        // (0 + 1)(4 − 3 + 1) / ((3 − 0 + 1)(3 + 1)) = 1/8
        thing('help', [0, 3], 0.125),
      ],
      skewed: false,
    })
    expect(answer).toMatchObject({ hasMore: false, limit: 20, offset: 0 })
    expect(answer['hogql']).toBeString()
    expect(answer['columns']).toBeArray()
    expect(answer['types']).toBeArray()
  })

  test('leaves events out that are not asked for', async () => {
    const { results } = await world.ask(
      correlation({ funnelCorrelationExcludeEventNames: ['docs', '$autocapture'] }),
      NOW,
    )
    expect(results).toMatchObject({ events: [{ event: { event: 'help' } }] })
  })

  test('tells properties of people', async () => {
    const asked = { funnelCorrelationType: 'properties' as const }
    const named = await world.ask(
      correlation({ ...asked, funnelCorrelationNames: ['plan', 'lang'] }),
      NOW,
    )
    const plans = [thing('plan::pro', [3, 0], 20), thing('plan::free', [0, 4], 0.05)]
    const everybody = thing('lang::de', [3, 4], 4 / 5)
    const [pro, free] = plans
    expect(named.results).toEqual({ events: [pro, free, everybody], skewed: false })
    const all = correlation({
      ...asked,
      funnelCorrelationNames: ['$all'],
      funnelCorrelationExcludeNames: ['lang'],
    })
    expect((await world.ask(all, NOW)).results).toEqual({ events: plans, skewed: false })
  })

  test('tells properties of events', async () => {
    const asked = {
      funnelCorrelationType: 'event_with_properties' as const,
      funnelCorrelationEventNames: ['docs'],
    }
    // One who reads the queries is too few to tell.
    expect((await world.ask(correlation(asked), NOW)).results).toEqual({
      events: [thing('docs::page::api', [3, 0], 20)],
      skewed: false,
    })
    const without = { ...asked, funnelCorrelationEventExcludePropertyNames: ['page'] }
    expect((await world.ask(correlation(without), NOW)).results).toEqual({
      events: [],
      skewed: false,
    })
  })

  test('tells autocaptured events by their elements', async () => {
    const asked = correlation({
      funnelCorrelationType: 'event_with_properties',
      funnelCorrelationEventNames: ['$autocapture'],
    })
    const name = `$autocapture::elements_chain::click__~~__${CHAIN}`
    expect((await world.ask(asked, NOW)).results).toEqual({
      events: [
        {
          ...thing(name, [3, 0], 20),
          event: {
            event: name,
            properties: { $event_type: 'click' },
            elements: [
              {
                tag_name: 'a',
                text: 'say "hi"',
                href: '/x;y',
                attr_class: ['big'],
                attr_id: null,
                nth_child: 1,
                nth_of_type: 2,
                attributes: {},
                order: 0,
              },
            ],
          },
        },
      ],
      skewed: false,
    })
  })

  test('has nothing to tell where nobody comes through', async () => {
    const never = { ...source.source, series: [node('visit'), node('never')] }
    const { results } = await world.ask(correlation({ source: { ...source, source: never } }), NOW)
    expect(results).toEqual({ events: [], skewed: true })
  })

  test.each([
    [{ funnelCorrelationType: 'properties' as const }, 'funnelCorrelationNames'],
    [{ funnelCorrelationType: 'event_with_properties' as const }, 'funnelCorrelationEventNames'],
  ])('%o is refused', async (more, member) => {
    const refused = await world.ask(correlation(more), NOW).then(
      () => 'answered',
      (error) => error.attr,
    )
    expect(refused).toBe(`query__${member}`)
  })
})

describe('the people behind a correlation', () => {
  const people = async (more: object) => {
    const tree = correlationActors(
      { kind: 'FunnelCorrelationActorsQuery', source: correlation(), ...more },
      insightContext(NOW),
    )
    const rows = await world.rows(tree, NOW)
    return rows.map(([id]) => Number.parseInt(String(id).slice(-4), 16)).toSorted((a, b) => a - b)
  }
  const did = { funnelCorrelationPersonEntity: node('docs') }
  const are = {
    funnelCorrelationPropertyValues: [
      { key: 'plan', value: ['free'], operator: 'exact', type: 'person' },
    ],
  }

  test.each([
    [did, [1, 2, 3, 4]],
    [{ ...did, funnelCorrelationPersonConverted: true }, [1, 2, 3]],
    [{ ...did, funnelCorrelationPersonConverted: false }, [4]],
    [are, [4, 5, 6, 7]],
    [{ ...are, funnelCorrelationPersonConverted: true }, []],
  ])('%o', async (more, expected) => {
    expect(await people(more)).toEqual(expected)
  })

  test('needs something that they did or are', () => {
    const attempt = () =>
      correlationActors(
        { kind: 'FunnelCorrelationActorsQuery', source: correlation() },
        insightContext(NOW),
      )
    expect(attempt).toThrow('No entity for persons specified')
  })
})

describe('a funnel with a breakdown, in which an actor has a row per value', () => {
  const attributed = (breakdownAttributionType: 'all_events' | 'step') =>
    correlation({
      source: {
        ...source,
        source: {
          ...source.source,
          series: [node('begin'), node('finish')],
          breakdownFilter: { breakdown: 'door' },
          funnelsFilter: { ...source.source.funnelsFilter, breakdownAttributionType },
        },
      },
    })

  beforeAll(() => {
    const send = (person: number, event: string, minute: number, door?: string) =>
      world.send({ person, event, at: at(minute), properties: door ? { door } : {} })
    // 11 comes through the front door alone, and fails at two others; 12 comes through the side door.
    send(11, 'begin', 0, 'front')
    send(11, 'finish', 10, 'front')
    send(11, 'begin', 20, 'side')
    send(11, 'ring', 25)
    send(11, 'begin', 30, 'back')
    send(12, 'begin', 20, 'side')
    send(12, 'ring', 25)
    send(12, 'finish', 30, 'side')
  })

  test.each(['all_events', 'step'] as const)(
    'counts actors, and events in the time of their own row: %s',
    async (attribution) => {
      const { results } = await world.ask(attributed(attribution), NOW)
      // Two actors succeed and one fails: (1 + 1)(1 − 1 + 1) / ((2 − 1 + 1)(1 + 1)) = 1/2
      expect(results).toEqual({ events: [thing('ring', [1, 1], 0.5)], skewed: false })
      const behind = async (converted: boolean) => {
        const query = {
          kind: 'FunnelCorrelationActorsQuery' as const,
          source: attributed(attribution),
          funnelCorrelationPersonEntity: node('ring'),
          funnelCorrelationPersonConverted: converted,
        }
        const rows = await world.rows(correlationActors(query, insightContext(NOW)), NOW)
        return rows.map(([id, events]) => [Number.parseInt(String(id).slice(-4), 16), events])
      }
      expect(await behind(true)).toEqual([[12, 1]])
      expect(await behind(false)).toEqual([[11, 1]])
    },
  )
})

describe('odds', () => {
  const type = { funnelCorrelationType: 'events' as const }

  test('of what few people do are not told, and only the ten that tell most on either side', () => {
    const things = Array.from({ length: 30 }, (_, index) => ({
      name: `e${index}`,
      success_count: 10 + index,
      failure_count: 25,
    }))
    const rare = { name: 'rare', success_count: 24, failure_count: 0 }
    const totals = { successes: 10_000, failures: 10_000 }
    const { events, skewed } = computeCorrelations([...things, rare], totals, type)
    expect(skewed).toBe(false)
    expect(events).toHaveLength(20)
    expect(JSON.stringify(events)).not.toContain('rare')
    expect(events[0]).toMatchObject({ event: { event: 'e29' }, correlation_type: 'success' })
    expect(events[10]).toMatchObject({ event: { event: 'e0' }, correlation_type: 'failure' })
  })

  test.each([
    [10, 1, false],
    [11, 1, true],
    [1, 11, true],
  ])('of %d against %d people are skewed: %p', (successes, failures, skewed) => {
    expect(computeCorrelations([], { successes, failures }, type).skewed).toBe(skewed)
  })
})

test('ActorsQuery shows the people behind a correlation', async () => {
  const answer = await world.ask(
    {
      kind: 'ActorsQuery',
      select: ['properties.plan'],
      source: {
        kind: 'FunnelCorrelationActorsQuery',
        source: correlation(),
        funnelCorrelationPersonEntity: node('docs'),
        funnelCorrelationPersonConverted: false,
      },
    },
    NOW,
  )
  expect(answer.results).toEqual([['free']])
})
