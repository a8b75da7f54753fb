/** Funnels: examples worked by hand, whole answers, and what is refused. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { FunnelsQuery } from '../../../src/contract/insights/funnels.ts'
import { changeCohort } from '../../../src/storage/persons/flag-rows.ts'
import { idOf } from '../../query/world.ts'
import { InsightWorld } from '../world.ts'

setDefaultTimeout(120_000)

const NOW = '2024-03-06T12:00:00Z'
const asBuffer = (id: Uint8Array): Buffer => Buffer.from(id)
const node = (event: string, more: object = {}) => ({
  kind: 'EventsNode' as const,
  event,
  ...more,
})
const funnel = (filter: FunnelsQuery['funnelsFilter'] = {}, more: object = {}): FunnelsQuery => ({
  kind: 'FunnelsQuery',
  series: [node('visit'), node('cart'), node('pay')],
  dateRange: { date_from: '2024-03-01', date_to: '2024-03-05' },
  funnelsFilter: filter,
  ...more,
})

let world: InsightWorld

/** Minutes after the first of March. */
const at = (minute: number): string =>
  new Date(Date.UTC(2024, 2, 1) + minute * 60_000).toISOString()

beforeAll(() => {
  world = new InsightWorld()
  const send = (
    person: number,
    ...events: readonly (readonly [string, number, Record<string, string>?])[]
  ) =>
    world.send(
      ...events.map(([event, minute, properties = {}]) => ({
        person,
        event,
        at: at(minute),
        properties,
      })),
    )
  // 1 goes the whole way, in 10 and 20 minutes, on the phone and then on the desk.
  send(1, ['visit', 0, { plan: 'pro', on: 'phone' }], ['cart', 10, { on: 'desk' }])
  send(1, ['pay', 30, { on: 'desk' }])
  // 2 fills the cart after 20 minutes, and cancels before nothing more.
  send(2, ['visit', 100, { plan: 'free', on: 'phone' }], ['cart', 120, { on: 'phone' }])
  send(2, ['cancel', 130])
  // 3 only visits; 4, who is 3 by another name, pays without a cart.
  send(3, ['visit', 1500, { on: 'desk' }])
  send(4, ['pay', 1510])
  world.merge(4, 3)
  // 5 visits twice, a day apart, and fills the cart within an hour of the second.
  send(5, ['visit', 0, { plan: 'free', on: 'phone' }], ['visit', 1440], ['cart', 1470])
  // 6 never visits.
  send(6, ['cart', 5], ['pay', 6])
})
afterAll(() => world[Symbol.asyncDispose]())

const results = async (query: FunnelsQuery) => (await world.ask(query, NOW)).results
const counts = async (query: FunnelsQuery): Promise<unknown> => {
  const list = await results(query)
  return Array.isArray(list) ? list.map(({ count }) => count) : list
}

describe('FunnelsQuery by steps', () => {
  test('counts who takes each step, and the time they need', async () => {
    const answer = await world.ask(funnel(), NOW)
    const step = (order: number, name: string, count: number, times: readonly unknown[]) => ({
      action_id: name,
      name,
      custom_name: null,
      order,
      people: [],
      count,
      type: 'events',
      average_conversion_time: times[0],
      median_conversion_time: times[1],
    })
    expect(answer.results).toEqual([
      step(0, 'visit', 4, [null, null]),
      // 1: 10 minutes, 2: 20, 5: 30.
      step(1, 'cart', 3, [1200, 1200]),
      step(2, 'pay', 1, [1200, 1200]),
    ])
    expect(answer['hogql']).toBeString()
    expect(answer['resolved_date_range']).toEqual({
      date_from: '2024-03-01T00:00:00+00:00',
      date_to: '2024-03-05T23:59:59.999999+00:00',
    })
  })

  test.each([
    ['a window of 20 minutes, the last included', { funnelWindowInterval: 20 }, [4, 2, 0]],
    ['a window of 19 minutes', { funnelWindowInterval: 19 }, [4, 1, 0]],
    ['a window of 30 minutes', { funnelWindowInterval: 30 }, [4, 3, 1]],
  ])('keeps to %s', async (_, filter, expected) => {
    const asked = { ...filter, funnelWindowIntervalUnit: 'minute' as const }
    expect(await counts(funnel(asked))).toEqual(expected)
  })

  test('takes out who did what is excluded', async () => {
    const exclusions = [{ ...node('cancel'), funnelFromStep: 1, funnelToStep: 2 }]
    expect(await counts(funnel({ exclusions }))).toEqual([3, 2, 1])
    const early = [{ ...node('cancel'), funnelFromStep: 0, funnelToStep: 1 }]
    expect(await counts(funnel({ exclusions: early }))).toEqual([4, 3, 1])
  })

  test('lets nothing come between when strict, and any order when unordered', async () => {
    world.send({ person: 7, event: 'visit', at: at(3000) })
    world.send({ person: 7, event: 'other', at: at(3001) })
    world.send({ person: 7, event: 'cart', at: at(3002) })
    expect(await counts(funnel())).toEqual([5, 4, 1])
    expect(await counts(funnel({ funnelOrderType: 'strict' }))).toEqual([5, 3, 1])
    const unordered = await results(funnel({ funnelOrderType: 'unordered' }))
    // 3 has two steps, 6 too.
    expect(unordered).toMatchObject([
      { action_id: null, name: 'Completed 1 step', count: 6, type: 'events' },
      { action_id: null, name: 'Completed 2 steps', count: 6 },
      { action_id: null, name: 'Completed 3 steps', count: 1 },
    ])
  })

  test('lets optional steps be left out', async () => {
    const series = [node('visit'), node('cart', { optionalInFunnel: true }), node('pay')]
    const found = await results(funnel({}, { series }))
    // 3 pays 10 minutes after the visit, without a cart; 1 pays 20 minutes after it.
    expect(found).toMatchObject([
      { count: 5 },
      { count: 4 },
      { count: 2, average_conversion_time: 900 },
    ])
  })

  test('is as short as one step and as long as twenty', async () => {
    expect(await counts(funnel({}, { series: [node('pay')] }))).toEqual([3])
    for (let step = 0; step < 20; step += 1) {
      world.send({ person: 8, event: `step ${step}`, at: at(4000 + step) })
    }
    const series = Array.from({ length: 20 }, (_, step) => node(`step ${step}`))
    const range = { date_from: '2023-03-01', date_to: '2024-03-05' }
    const found = await counts(funnel({}, { series, dateRange: range }))
    expect(found).toEqual(Array.from({ length: 20 }, () => 1))
    const exclusions = [{ ...node('cancel'), funnelFromStep: 0, funnelToStep: 19 }]
    expect(await counts(funnel({ exclusions }, { series, dateRange: range }))).toEqual(found)
  })

  test('counts groups, and whatever an expression says', async () => {
    const groups = ['acme', 'acme', 'umbrella'] as const
    for (const [person, group] of groups.entries()) {
      const event = person === 1 ? 'close' : 'open'
      world.send({ person: 20 + person, event, at: at(5000 + person), groups: [group] })
    }
    world.send({ person: 29, event: 'open', at: at(5005) })
    const series = [node('open'), node('close')]
    expect(await counts(funnel({}, { series }))).toEqual([3, 0])
    const by_group = { series, aggregation_group_type_index: 0 }
    expect(await counts(funnel({}, by_group))).toEqual([2, 1])
    const by_text = { funnelAggregateByHogQL: "'everybody'" }
    expect(await counts(funnel(by_text, { series }))).toEqual([1, 1])
  })

  test('takes first times of a person only, where a step says so', async () => {
    const enroll = (person: number, second: number, plan: string) =>
      world.send({ person, event: 'enroll', at: at(7000 + second), properties: { plan } })
    // 31 was there long ago; the first time of 32 has another plan; 33 is there for the first time.
    world.send({ person: 31, event: 'enroll', at: '2020-01-01T00:00:00Z' })
    enroll(31, 0, 'pro')
    enroll(32, 1, 'free')
    enroll(32, 2, 'pro')
    enroll(33, 3, 'pro')
    world.send(...[31, 32, 33].map((person) => ({ person, event: 'stay', at: at(7100) })))
    const properties = [{ key: 'plan', value: 'pro', operator: 'exact', type: 'event' }]
    const of = async (math: string | null, more: object = {}) =>
      counts(funnel({}, { series: [{ ...node('enroll'), math, ...more }, node('stay')] }))
    expect(await of(null)).toEqual([3, 3])
    expect(await of('total', { properties })).toEqual([3, 3])
    expect(await of('first_time_for_user')).toEqual([2, 2])
    expect(await of('first_time_for_user', { properties })).toEqual([1, 1])
    expect(await of('first_time_for_user_with_filters', { properties })).toEqual([3, 3])
    // The second step of 33 is a first time too.
    const later = [node('enroll'), { ...node('stay'), math: 'first_time_for_user' }]
    world.send({ person: 31, event: 'stay', at: '2020-01-01T00:00:00Z' })
    expect(await counts(funnel({}, { series: later }))).toEqual([3, 2])
    expect(await counts(funnel({ funnelOrderType: 'strict' }, { series: later }))).toEqual([3, 2])
    expect(await counts(funnel({ funnelOrderType: 'unordered' }, { series: later }))).toEqual([
      3, 2,
    ])
  })

  test('counts nobody where an expression is null or an empty text', async () => {
    for (const [index, visit] of ['a', '', undefined].entries()) {
      const properties = visit === undefined ? {} : { visit }
      world.send({ person: 30, event: 'enter', at: at(6000 + index), properties })
    }
    const by_visit = { funnelAggregateByHogQL: 'properties.visit' }
    expect(await counts(funnel(by_visit, { series: [node('enter')] }))).toEqual([1])
  })

  test('knows actions by their id and name', async () => {
    const step = {
      event: 'pay',
      properties: [],
      selector: null,
      tag_name: null,
      text: null,
      text_matching: null,
      href: null,
      href_matching: null,
      url: null,
      url_matching: null,
    }
    const steps_json = JSON.stringify([step, { ...step, event: 'cart' }])
    world.know({ actions: [{ id: 7, name: 'bought', steps_json }] })
    const action = { kind: 'ActionsNode' as const, id: 7, custom_name: 'Bought it' }
    expect(await results(funnel({}, { series: [node('visit'), action] }))).toMatchObject([
      { action_id: 'visit', type: 'events' },
      { action_id: 7, name: 'bought', custom_name: 'Bought it', type: 'actions', order: 1 },
    ])
  })

  test('begins with the first event where all of time is asked for', async () => {
    expect(await counts(funnel({}, { dateRange: { date_from: 'all' } }))).toEqual([5, 4, 1])
    const ages = { date_from: '0001-01-01', date_to: '9999-12-31' }
    const found = await results(funnel({}, { dateRange: ages }))
    expect(found).toMatchObject([
      { count: 5 },
      { count: 4 },
      { count: 1, average_conversion_time: 1200 },
    ])
  })

  test('has nobody where nothing happened', async () => {
    const found = await results(
      funnel({}, { dateRange: { date_from: '2020-01-01', date_to: '2020-01-02' } }),
    )
    expect(found).toMatchObject([
      { count: 0, average_conversion_time: null },
      { count: 0, average_conversion_time: null, median_conversion_time: null },
      { count: 0 },
    ])
  })
})

describe('FunnelsQuery broken down', () => {
  const series = [node('visit'), node('cart')]
  const split = async (filter: FunnelsQuery['funnelsFilter'], breakdownFilter: object) => {
    const dateRange = { date_from: '2024-03-01', date_to: '2024-03-02' }
    const list = await results(funnel(filter, { series, breakdownFilter, dateRange }))
    if (!Array.isArray(list)) return list
    return list.map((steps) => {
      const [first] = steps
      expect(first.breakdown_value).toEqual(first.breakdown)
      return [first.breakdown, ...steps.map(({ count }: { count: number }) => count)]
    })
  }
  const on = { breakdown: 'on', breakdown_type: 'event' }

  test.each([
    // 1 phone, 2 phone, 5 phone; 3 desk.
    [
      'first_touch',
      [
        [['phone'], 3, 3],
        [['desk'], 1, 0],
      ],
    ],
    // 1 was last on the desk.
    [
      'last_touch',
      [
        [['phone'], 2, 2],
        [['desk'], 2, 1],
      ],
    ],
    // 1 visits on the phone alone, 5's later events have none, which is a value of its own.
    [
      'all_events',
      [
        [['phone'], 3, 1],
        [[''], 1, 1],
        [['desk'], 1, 0],
      ],
    ],
  ] as const)('by %s', async (breakdownAttributionType, expected) => {
    expect(await split({ breakdownAttributionType }, on)).toEqual(expected.map((row) => [...row]))
  })

  test('by the value of a step', async () => {
    const by = (step: number) =>
      split({ breakdownAttributionType: 'step', breakdownAttributionValue: step }, on)
    // 5 fills the cart after both visits, the one on the phone and the one without a value.
    expect(await by(0)).toEqual([
      [['phone'], 3, 3],
      [[''], 1, 1],
      [['desk'], 1, 0],
    ])
    // Who fills no cart has no value of it.
    expect(await by(1)).toEqual([
      [[''], 1, 1],
      [['desk'], 1, 1],
      [['phone'], 1, 1],
    ])
  })

  test('by the value of the first event in any order', async () => {
    const filter = {
      funnelOrderType: 'unordered' as const,
      breakdownAttributionType: 'step' as const,
    }
    // 1 and 3 begin on the desk, 1 with the cart alone; 5 and 6 without a value.
    expect(await split(filter, on)).toEqual([
      [['phone'], 3, 3],
      [[''], 2, 1],
      [['desk'], 2, 0],
    ])
  })

  test('by several things at once', async () => {
    const breakdowns = [
      { property: 'on', type: 'event' },
      { property: 'plan', type: 'event' },
    ]
    expect(await split({}, { breakdowns })).toEqual([
      [['phone', 'free'], 2, 2],
      [['phone', 'pro'], 1, 1],
      [['desk', ''], 1, 0],
    ])
  })

  test('by cohorts, of which somebody may be in several', async () => {
    const { log } = world.world
    const own = { project_id: world.project_id, removed: [] }
    log.transact(() => {
      log.nextChange()
      changeCohort(log.db, { ...own, cohort_id: 5, added: [idOf(1), idOf(3)].map(asBuffer) })
      changeCohort(log.db, { ...own, cohort_id: 6, added: [idOf(1), idOf(2)].map(asBuffer) })
    })
    world.know({
      cohorts: [
        { id: 5, name: 'early', is_static: false },
        { id: 6, name: 'loyal', is_static: true },
      ],
    })
    const found = await results(
      funnel(
        {},
        {
          series,
          dateRange: { date_from: '2024-03-01', date_to: '2024-03-02' },
          breakdownFilter: { breakdown: [5, 6, 'all'], breakdown_type: 'cohort' },
        },
      ),
    )
    expect(found).toMatchObject([
      [{ breakdown: 'early', breakdown_value: 5, count: 2 }, { count: 1 }],
      [{ breakdown: 'loyal', breakdown_value: 6, count: 2 }, { count: 2 }],
      [{ breakdown: 'all users', breakdown_value: 0, count: 4 }, { count: 3 }],
    ])
  })

  test('by the property of a group, which is no list', async () => {
    world.addGroup(0, 'acme', { tier: 'gold' })
    const breakdownFilter = {
      breakdown: 'tier',
      breakdown_type: 'group',
      breakdown_group_type_index: 0,
    }
    const found = await results(funnel({}, { series: [node('open')], breakdownFilter }))
    expect(found).toMatchObject([
      [{ breakdown: '', breakdown_value: '', count: 2 }],
      [{ breakdown: 'gold', breakdown_value: 'gold', count: 1 }],
    ])
  })

  test('tells values beyond the limit together', async () => {
    expect(await split({}, { ...on, breakdown_limit: 1 })).toEqual([
      [['phone'], 3, 3],
      [['Other'], 1, 0],
    ])
    const hides = { breakdown_limit: 1, breakdown_hide_other_aggregation: true }
    expect(await split({}, { ...on, ...hides })).toEqual([[['phone'], 3, 3]])
  })
})

describe('FunnelsQuery by time to convert', () => {
  const series = [node('visit'), node('cart')]
  const view = { funnelVizType: 'time_to_convert' as const }

  test('has as many bins as asked for, and one for the slowest', async () => {
    const dateRange = { date_from: '2024-03-01', date_to: '2024-03-02' }
    // 600, 1200 and 1800 seconds.
    const found = await results(funnel({ ...view, binCount: 3 }, { series, dateRange }))
    expect(found).toEqual({
      bins: [
        [600, 1],
        [1000, 1],
        [1400, 0],
        [1800, 1],
      ],
      average_conversion_time: 1200,
    })
    const auto = await results(funnel(view, { series, dateRange }))
    expect(auto).toEqual({
      bins: [
        [600, 1],
        [1200, 1],
        [1800, 1],
      ],
      average_conversion_time: 1200,
    })
  })

  test('has an empty bin where nobody converts', async () => {
    const nobody = [node('visit'), node('never')]
    expect(await results(funnel(view, { series: nobody }))).toEqual({
      bins: [
        [0, 0],
        [1, 0],
      ],
      average_conversion_time: null,
    })
  })
})

describe('FunnelsQuery by the time of entrance', () => {
  const view = { funnelVizType: 'trends' as const }
  const days = ['2024-03-01', '2024-03-02']
  const labels = ['1-Mar-2024', '2-Mar-2024']
  const dateRange = { date_from: '2024-03-01', date_to: '2024-03-02' }

  test('tells which part of each day comes through', async () => {
    const series = [node('visit'), node('cart')]
    // On the first 1, 2 and 5 enter, and 5 comes through a day later; on the second 5 does again and 3 does not.
    expect(await results(funnel(view, { series, dateRange }))).toEqual([
      { count: 2, data: [100, 50], days, labels },
    ])
    const within = { funnelWindowInterval: 60, funnelWindowIntervalUnit: 'minute' as const }
    expect(await results(funnel({ ...view, ...within }, { series, dateRange }))).toEqual([
      { count: 2, data: [66.67, 50], days, labels },
    ])
  })

  test('looks at the part between two steps', async () => {
    const between = { funnelFromStep: 1, funnelToStep: 2 }
    // Of 1, 2 and (on the second) 5, who have a cart, only 1 pays.
    expect(await results(funnel({ ...view, ...between }, { dateRange }))).toEqual([
      { count: 2, data: [33.33, 0], days, labels },
    ])
  })

  test('has a series for each value', async () => {
    const series = [node('visit'), node('cart')]
    const breakdownFilter = { breakdown: 'plan', breakdown_type: 'event' }
    expect(await results(funnel(view, { series, dateRange, breakdownFilter }))).toEqual([
      { count: 2, data: [0, 0], days, labels, breakdown_value: [''] },
      { count: 2, data: [100, 100], days, labels, breakdown_value: ['free'] },
      { count: 2, data: [100, 0], days, labels, breakdown_value: ['pro'] },
    ])
    const one = { ...breakdownFilter, breakdown_limit: 1 }
    expect(await results(funnel(view, { series, dateRange, breakdownFilter: one }))).toEqual([
      { count: 2, data: [100, 100], days, labels, breakdown_value: ['free'] },
    ])
  })
})

test('a funnel by the time of entrance is broken down by the value of a step', async () => {
  const filter = {
    funnelVizType: 'trends' as const,
    breakdownAttributionType: 'step' as const,
    breakdownAttributionValue: 1,
  }
  const found = await results(
    funnel(filter, {
      series: [node('visit'), node('cart')],
      dateRange: { date_from: '2024-03-01', date_to: '2024-03-02' },
      breakdownFilter: { breakdown: 'on', breakdown_type: 'event' },
    }),
  )
  expect(found).toMatchObject([
    { count: 2, data: [100, 100], breakdown_value: [''] },
    { count: 2, data: [100, 0], breakdown_value: ['desk'] },
    { count: 2, data: [100, 0], breakdown_value: ['phone'] },
  ])
})

describe('FunnelsQuery refuses', () => {
  const exclusion = (funnelFromStep: number, funnelToStep: number, event = 'cancel') => ({
    exclusions: [{ ...node(event), funnelFromStep, funnelToStep }],
  })
  const EXCLUSION = 'query__funnelsFilter__exclusions__0'

  test.each([
    ['no steps', funnel({}, { series: [] }), 'query__series'],
    [
      'too many steps',
      funnel({}, { series: Array.from({ length: 26 }, () => node('visit')) }),
      'query__series',
    ],
    [
      'an exclusion that ends before it begins',
      funnel(exclusion(1, 1)),
      `${EXCLUSION}__funnelToStep`,
    ],
    ['an exclusion beyond the steps', funnel(exclusion(1, 3)), `${EXCLUSION}__funnelToStep`],
    ['an exclusion of a step', funnel(exclusion(0, 1, 'cart')), EXCLUSION],
    [
      'a partial exclusion when unordered',
      funnel({ ...exclusion(1, 2), funnelOrderType: 'unordered' }),
      `${EXCLUSION}__funnelFromStep`,
    ],
    [
      'an optional first step',
      funnel({}, { series: [node('visit', { optionalInFunnel: true }), node('pay')] }),
      'query__series__0__optionalInFunnel',
    ],
    [
      'attribution to a step there is not',
      funnel({ breakdownAttributionType: 'step', breakdownAttributionValue: 3 }),
      'query__funnelsFilter__breakdownAttributionValue',
    ],
    ['an end beyond the steps', funnel({ funnelToStep: 3 }), 'query__funnelsFilter__funnelToStep'],
    [
      'time to convert of one step',
      funnel({ funnelVizType: 'time_to_convert' }, { series: [node('visit')] }),
      'query__funnelsFilter__funnelToStep',
    ],
  ])('%s', async (_, query, attr) => {
    const refused = await world.ask(query, NOW).then(
      () => 'answered',
      (error) => ({ code: error.code, attr: error.attr }),
    )
    expect(refused).toEqual({ code: 'invalid_input', attr })
  })
})

describe('the people behind a funnel', () => {
  const dateRange = { date_from: '2024-03-01', date_to: '2024-03-02' }
  const people = async (asked: object, source = funnel({}, { dateRange })) => {
    const answer = await world.ask({ kind: 'FunnelsActorsQuery', source, ...asked }, NOW)
    const rows: readonly unknown[][] = Array.isArray(answer.results) ? answer.results : []
    return rows.map(([id]) => Number.parseInt(String(id).slice(-4), 16)).toSorted((a, b) => a - b)
  }

  test.each([
    ['took the first step', { funnelStep: 1 }, [1, 2, 3, 5]],
    ['took the second', { funnelStep: 2 }, [1, 2, 5]],
    ['took the last', { funnelStep: 3 }, [1]],
    ['did not take the second', { funnelStep: -2 }, [3]],
    ['took the second and not the last', { funnelStep: -3 }, [2, 5]],
    ['came just so far', { funnelCustomSteps: [1, 3] }, [1, 3]],
  ])('who %s', async (_, asked, expected) => {
    expect(await people(asked)).toEqual(expected)
  })

  test('of one value', async () => {
    const breakdownFilter = { breakdown: 'plan', breakdown_type: 'event' }
    const source = funnel({}, { dateRange, breakdownFilter })
    expect(await people({ funnelStep: 1, funnelStepBreakdown: ['free'] }, source)).toEqual([2, 5])
    expect(await people({ funnelStep: 1, funnelStepBreakdown: 'pro' }, source)).toEqual([1])
    expect(await people({ funnelStep: 1 }, source)).toEqual([1, 2, 3, 5])
  })

  test('of the values beyond the limit, whose name a value may have too', async () => {
    const on = { breakdown: 'on', breakdown_type: 'event', breakdown_limit: 1 }
    const series = [node('visit'), node('cart')]
    const source = funnel({}, { series, dateRange, breakdownFilter: on })
    expect(await results(source)).toMatchObject([
      [{ breakdown: ['phone'], count: 3 }, { count: 3 }],
      [{ breakdown: ['Other'], count: 1 }, { count: 0 }],
    ])
    const other = { funnelStepBreakdown: ['Other'] }
    expect(await people({ funnelStep: 1, ...other }, source)).toEqual([3])
    expect(await people({ funnelStep: 1, funnelStepBreakdown: 'Other' }, source)).toEqual([3])
    expect(await people({ funnelStep: -2, ...other }, source)).toEqual([3])
    expect(await people({ funnelStep: 2, ...other }, source)).toEqual([])
    const wide = { ...source, breakdownFilter: { ...on, breakdown_limit: 2 } }
    expect(await people({ funnelStep: 1, ...other }, wide)).toEqual([])
    const spelled = funnel({}, { series: [node('named')], breakdownFilter: on })
    world.send({ person: 7, event: 'named', at: at(0), properties: { on: 'Other' } })
    expect(await people({ funnelStep: 1, ...other }, spelled)).toEqual([7])
    expect(
      await people(
        { funnelStep: 1, ...other },
        { ...spelled, breakdownFilter: { ...on, breakdown: ['on', 'plan'] } },
      ),
    ).toEqual([])
  })

  test('of an optional step that was left out, whoever went on', async () => {
    const series = [node('visit'), node('cart', { optionalInFunnel: true }), node('pay')]
    const source = funnel({}, { series, dateRange })
    expect(await results(source)).toMatchObject([{ count: 4 }, { count: 3 }, { count: 2 }])
    expect(await people({ funnelStep: -2 }, source)).toEqual([3])
    expect(await people({ funnelStep: -3 }, source)).toEqual([2, 5])
  })

  test('who entered on a day', async () => {
    const series = [node('visit'), node('cart')]
    const filter = {
      funnelVizType: 'trends' as const,
      funnelWindowInterval: 1,
      funnelWindowIntervalUnit: 'hour' as const,
    }
    const entered = (funnelTrendsDropOff: boolean, day: string) =>
      people(
        { funnelTrendsDropOff, funnelTrendsEntrancePeriodStart: day },
        funnel(filter, { series, dateRange }),
      )
    expect(await entered(false, '2024-03-01')).toEqual([1, 2])
    expect(await entered(true, '2024-03-01')).toEqual([5])
    expect(await entered(false, '2024-03-02')).toEqual([5])
    expect(await entered(true, '2024-03-02 00:00:00')).toEqual([3])
  })

  test('of a funnel that is refused: its member is named where it stands', async () => {
    const attempt = people({ funnelStep: 1 }, funnel({}, { series: [] })).catch((error) => error)
    expect(await attempt).toMatchObject({ attr: 'query__source__source__series' })
  })

  test.each([
    [{}, 'funnelStep'],
    [{ funnelStep: 0 }, 'funnelStep'],
    [{ funnelStep: -1 }, 'funnelStep'],
    [{ funnelStep: 4 }, 'funnelStep'],
  ])('%o is refused', async (asked, member) => {
    const refused = await people(asked).catch((error) => error)
    expect(refused).toMatchObject({ attr: `query__source__${member}` })
  })
})
