/** The few events that examples of trends are worked on by hand. */
import type { TrendsQuery } from '../../../src/contract/insights/trends.ts'
import { InsightWorld } from '../world.ts'

export const NOW = '2024-03-12T12:00:00Z'

/**
 * Four days in New York. On Saturday the 9th Ann (1) sees twice; on Sunday the 10th, when the clocks change, Ann once,
 * Bob (2) twice; on Tuesday the 12th Bob buys. 5 became Bob and saw on the 8th. 7 has no profile and saw on the 11th.
 */
export function trendsWorld(): InsightWorld {
  const world = new InsightWorld()
  world.know({
    timezone: 'America/New_York',
    week_start_day: 1,
    property_types: { 'event:price': 'Numeric', 'event:paid': 'Boolean' },
    cohorts: [{ id: 3, name: 'vip', is_static: false }],
    test_account_filters: [
      { key: 'email', value: '@test', operator: 'not_icontains', type: 'person' },
    ],
    actions: [
      {
        id: 9,
        name: 'looked at prices',
        steps_json: JSON.stringify([
          {
            event: 'seen',
            properties: [{ key: 'price', operator: 'gt', value: 15, type: 'event' }],
            selector: null,
            tag_name: null,
            text: null,
            text_matching: null,
            href: null,
            href_matching: null,
            url: '/pricing',
            url_matching: null,
          },
          {
            event: null,
            properties: [],
            selector: 'div > a.buy',
            tag_name: null,
            text: 'Buy',
            text_matching: 'exact',
            href: null,
            href_matching: null,
            url: null,
            url_matching: null,
          },
        ]),
      },
    ],
  })
  world.addPerson(1, '2024-02-01T00:00:00Z', { plan: 'pro', email: 'ann@x.org' })
  world.addPerson(2, '2024-02-01T00:00:00Z', { plan: 'free', email: 'bob@test.org' })
  world.addGroup(0, 'acme', { size: 'big' })
  const url = 'https://x.org/pricing?'
  world.send(
    { person: 5, at: '2024-03-08T12:00:00Z' },
    {
      person: 1,
      at: '2024-03-09T12:00:00Z',
      properties: { price: 10, paid: true, $current_url: url },
    },
    {
      person: 1,
      at: '2024-03-09T18:00:00Z',
      properties: { price: 20, paid: false, $current_url: url },
    },
    { person: 1, at: '2024-03-10T06:30:00Z', properties: { price: 30 }, groups: ['acme'] },
    {
      person: 2,
      at: '2024-03-10T07:30:00Z',
      properties: { price: 'none', paid: true },
      groups: ['beta'],
    },
    { person: 2, at: '2024-03-10T08:30:00Z', properties: { price: 50 } },
    {
      person: 7,
      at: '2024-03-11T12:00:00Z',
      is_personless: true,
      properties: { $current_url: '' },
    },
    {
      person: 2,
      at: '2024-03-12T12:00:00Z',
      event: 'bought',
      elements_chain: 'a.buy.big:text="Buy"nth-child="1"nth-of-type="1";div:nth-child="1"',
    },
  )
  world.merge(5, 2)
  return world
}

export const DAYS = ['2024-03-09', '2024-03-10', '2024-03-11', '2024-03-12']
export const LABELS = ['9-Mar-2024', '10-Mar-2024', '11-Mar-2024', '12-Mar-2024']
export const FILTER = {
  insight: 'TRENDS',
  date_from: '2024-03-09T00:00:00-05:00',
  date_to: '2024-03-12T23:59:59.999999-04:00',
  entity_type: 'events',
  interval: 'day',
}

export type Series = TrendsQuery['series'][number]

type Events = Extract<Series, { kind: 'EventsNode' }>

export const seen = (members: Partial<Events> = {}): Events => ({
  kind: 'EventsNode',
  event: 'seen',
  ...members,
})
export const BOUGHT: Events = { kind: 'EventsNode', event: 'bought' }

export function query(members: Partial<TrendsQuery> = {}): TrendsQuery {
  return {
    kind: 'TrendsQuery',
    series: [seen()],
    dateRange: { date_from: '2024-03-09', date_to: '2024-03-12' },
    ...members,
  }
}

export type Line = {
  readonly label: string
  readonly data: readonly number[]
  readonly count: number
  readonly aggregated_value?: number
  readonly breakdown_value?: unknown
}

export async function linesOf(
  world: InsightWorld,
  members: Partial<TrendsQuery>,
): Promise<readonly Line[]> {
  return (await world.ask(query(members), NOW)).results as readonly Line[]
}

/** Label and numbers of each line. */
export async function numbersOf(
  world: InsightWorld,
  members: Partial<TrendsQuery>,
): Promise<unknown> {
  const lines = await linesOf(world, members)
  return lines.map(({ label, data, aggregated_value }) => [label, aggregated_value ?? data])
}

export function action(days: readonly string[], members: object = {}): object {
  return {
    id: 'seen',
    name: 'seen',
    type: 'events',
    order: 0,
    days,
    custom_name: null,
    math: null,
    math_property: null,
    math_hogql: null,
    math_group_type_index: null,
    properties: {},
    ...members,
  }
}
