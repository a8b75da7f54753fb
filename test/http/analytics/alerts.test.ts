/** Alerts on insights, by a clock that is set: when they fire, what they tell, and when they keep still. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { judgePoint } from '../../../src/dashboards/alert-verdict.ts'
import { AlertChecks } from '../../../src/http/analytics/alerts/alert-checks.ts'
import { Addresses } from '../../../src/plugins/addresses.ts'
import { capture, manage } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

const ALERTS = '/api/projects/1/alerts/'
const TRENDS = {
  kind: 'TrendsQuery',
  series: [{ kind: 'EventsNode', event: 'paid' }],
  interval: 'day',
  dateRange: { date_from: '-7d' },
}

/** Noon of the day after the events. */
const START = new Date('2026-05-02T12:00:00Z')
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let clock = START
let world: World
let checks: AlertChecks
let insight = 0
let receiver: ReturnType<typeof Bun.serve>
let messages: Readonly<Record<string, unknown>>[] = []
let status = 200

beforeAll(async () => {
  receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = (await request.json()) as Record<string, unknown>
      if (status === 200) messages.push(body)
      return new Response(null, { status })
    },
  })
  world = await openWorld({ now: () => clock, addresses: new Addresses(['127.0.0.0/8']) })
  checks = new AlertChecks(world.needs)
  // Four events on 30 April, ten on 1 May, and one of today: what came before is complete.
  await capture(
    world,
    ...paid(4, '2026-04-30T10:00:00Z'),
    ...paid(10, '2026-05-01T10:00:00Z'),
    ...paid(1, '2026-05-02T08:00:00Z'),
  )
  const made = await manage(world, 'POST', '/api/projects/1/insights/', {
    name: 'Sales',
    query: { kind: 'InsightVizNode', source: TRENDS },
  })
  insight = Number(made.body['id'])
})
afterAll(async () => {
  await checks.close()
  await receiver.stop(true)
  await world.close()
})
beforeEach(() => {
  clock = START
  messages = []
  status = 200
})

const paid = (count: number, timestamp: string): readonly object[] =>
  Array.from({ length: count }, (_, index) => ({
    event: 'paid',
    distinct_id: `p${index}`,
    timestamp,
  }))

type AlertOptions = { readonly condition?: string; readonly type?: string; readonly rest?: object }

async function make(bounds: object, options: AlertOptions = {}) {
  const { condition = 'absolute_value', type = 'absolute', rest = {} } = options
  const { status: code, body } = await manage(world, 'POST', ALERTS, {
    name: 'Sales',
    insight,
    condition: { type: condition },
    threshold: { configuration: { type, bounds } },
    config: { type: 'TrendsAlertConfig', series_index: 0 },
    calculation_interval: 'hourly',
    webhook_url: receiver.url.href,
    ...rest,
  })
  expect([code, body['detail']]).toEqual([201, undefined])
  return `${ALERTS}${String(body['id'])}/`
}

const read = async (path: string) => (await manage(world, 'GET', path)).body
const remove = (path: string) => manage(world, 'DELETE', path)

async function later(hours: number): Promise<void> {
  clock = new Date(clock.getTime() + hours * HOUR_MS)
  await checks.look()
}

describe('an alert', () => {
  test('judges the last whole day, tells a change of state once, and keeps a history', async () => {
    const path = await make({ upper: 9 })
    await checks.look()
    const [check] = (await read(path))['checks'] as readonly { readonly id: unknown }[]
    // The Terraform provider of PostHog reads texts only.
    expect(check?.id).toBeString()
    expect(await read(path)).toMatchObject({
      state: 'Firing',
      last_checked_at: START.toISOString(),
      next_check_at: new Date(START.getTime() + HOUR_MS).toISOString(),
      checks: [{ calculated_value: 10, state: 'Firing', targets_notified: true, error: null }],
    })
    expect(messages).toEqual([
      expect.objectContaining({
        type: 'alert',
        state: 'Firing',
        value: 10,
        value_before: 4,
        text: expect.stringContaining('Sales: Firing'),
      }),
    ])
    // A server that was off, or only slow, makes up for nothing.
    await later(5)
    await later(1)
    expect(messages).toHaveLength(1)
    expect((await read(path))['checks']).toHaveLength(3)
    await manage(world, 'PATCH', path, {
      threshold: { configuration: { type: 'absolute', bounds: { upper: 20 } } },
    })
    await later(0)
    expect(messages.map(({ state }) => state)).toEqual(['Firing', 'Not firing'])
    await remove(path)
    expect((await manage(world, 'GET', path)).status).toBe(404)
  })

  test('that skips weekends is checked on Monday, by the clocks of the project', async () => {
    await manage(world, 'PATCH', '/api/projects/1/', { timezone: 'America/New_York' })
    const path = await make({ upper: 0 }, { rest: { skip_weekend: true } })
    expect(await read(path)).toMatchObject({ skip_weekend: true, state: 'Not firing' })
    await checks.look()
    // Sunday, 22:00 and 23:00 there.
    clock = new Date('2026-05-04T02:00:00Z')
    await checks.look()
    await later(1)
    expect(await read(path)).toMatchObject({ state: 'Not firing', checks: [] })
    await later(1)
    expect((await read(path))['checks']).toHaveLength(1)
    await manage(world, 'PATCH', path, { skip_weekend: false })
    expect(await read(path)).toMatchObject({ skip_weekend: false })
    await remove(path)
    await manage(world, 'PATCH', '/api/projects/1/', { timezone: 'UTC' })
  })

  test.each([
    [{ lower: 11 }, 'absolute_value', 'absolute', 'Firing'],
    [{ lower: 10 }, 'absolute_value', 'absolute', 'Not firing'],
    [{ upper: 10 }, 'absolute_value', 'absolute', 'Not firing'],
    [{ upper: 5 }, 'relative_increase', 'absolute', 'Firing'],
    [{ upper: 6 }, 'relative_increase', 'absolute', 'Not firing'],
    [{ upper: 1.4 }, 'relative_increase', 'percentage', 'Firing'],
    [{ upper: 1.5 }, 'relative_increase', 'percentage', 'Not firing'],
    [{ upper: 0.1 }, 'relative_decrease', 'percentage', 'Not firing'],
  ])('with %j of %s (%s) is %s', async (bounds, condition, type, state) => {
    const path = await make(bounds, { condition, type })
    await checks.look()
    expect((await read(path))['state']).toBe(state)
    await remove(path)
  })

  test('is silent while it is snoozed, and tells again afterwards what is still wrong', async () => {
    const path = await make({ upper: 9 })
    await checks.look()
    const until = new Date(START.getTime() + 3 * HOUR_MS).toISOString()
    expect((await manage(world, 'PATCH', path, { snoozed_until: until })).body).toMatchObject({
      state: 'Snoozed',
      snoozed_until: until,
    })
    await later(2)
    expect((await read(path))['state']).toBe('Snoozed')
    expect(messages).toHaveLength(1)
    await later(1)
    expect(await read(path)).toMatchObject({ state: 'Firing', snoozed_until: null })
    expect(messages).toHaveLength(2)
    await remove(path)
  })

  test('is listed page by page, the newest first, also those of one insight', async () => {
    const paths = [await make({ upper: 1 }), await make({ upper: 2 }), await make({ upper: 3 })]
    const listed = async (search: string) => {
      const { count, results } = await read(`${ALERTS}?${search}`)
      const ids = (results as readonly { readonly id: string }[]).map(({ id }) => id)
      return [count, ids.map((id) => paths.indexOf(`${ALERTS}${id}/`))]
    }
    expect(await listed('')).toEqual([3, [2, 1, 0]])
    expect(await listed('limit=1&offset=1')).toEqual([3, [1]])
    expect(await listed(`insight=${insight}&limit=2&offset=2`)).toEqual([3, [0]])
    expect(await listed('insight=77')).toEqual([0, []])
    for (const path of paths) await remove(path)
  })

  test('is checked after a clock that was ahead is set back, but not while it is snoozed', async () => {
    const path = await make({ upper: 9 })
    const snoozed = await make({ upper: 9 })
    const until = new Date(START.getTime() + 60 * DAY_MS).toISOString()
    await later(90 * 24)
    clock = START
    await manage(world, 'PATCH', snoozed, { snoozed_until: until })
    await later(1)
    expect(await read(path)).toMatchObject({
      last_checked_at: clock.toISOString(),
      next_check_at: new Date(clock.getTime() + HOUR_MS).toISOString(),
    })
    expect(await read(snoozed)).toMatchObject({ state: 'Snoozed', next_check_at: until })
    await remove(path)
    await remove(snoozed)
  })

  test('tells again that it fires once its rule was changed, and not at each check', async () => {
    const path = await make({ upper: 9 })
    await checks.look()
    const threshold = { configuration: { type: 'absolute', bounds: { upper: 8 } } }
    expect((await manage(world, 'PATCH', path, { threshold })).body).toMatchObject({
      state: 'Not firing',
    })
    await checks.look()
    await later(1)
    expect(messages.map(({ state, threshold: told }) => [state, told])).toEqual([
      ['Firing', { configuration: { type: 'absolute', bounds: { upper: 9 } } }],
      ['Firing', threshold],
    ])
    await remove(path)
  })

  test('stays as it is when its own answer is sent back, whole or member by member', async () => {
    const path = await make({ upper: 9 }, { rest: { snoozed_until: null } })
    await checks.look()
    clock = new Date(clock.getTime() + HOUR_MS / 2)
    const alert = await read(path)
    expect(alert['state']).toBe('Firing')
    const single = Object.entries(alert).map(([name, value]) => ({ [name]: value }))
    for (const body of [{}, alert, ...single])
      for (const method of ['PATCH', 'PUT'])
        expect(await manage(world, method, path, body)).toMatchObject({ status: 200, body: alert })
    await remove(path)
  })

  test('that is off is not checked', async () => {
    const path = await make({ upper: 9 }, { rest: { enabled: false } })
    await later(100)
    expect(await read(path)).toMatchObject({
      last_checked_at: null,
      next_check_at: null,
      checks: [],
    })
    await remove(path)
  })

  test('says why it cannot judge, once, and when it can again', async () => {
    const path = await make(
      { upper: 9 },
      { rest: { config: { type: 'TrendsAlertConfig', series_index: 7 } } },
    )
    await checks.look()
    await later(1)
    expect(await read(path)).toMatchObject({
      state: 'Errored',
      checks: [{ error: 'The insight has no series 8.' }, {}],
    })
    expect(messages.map(({ state }) => state)).toEqual(['Errored'])
    await remove(path)
  })

  test.each([
    { kind: 'StickinessQuery', series: TRENDS.series },
    { kind: 'FunnelsQuery', series: [...TRENDS.series, ...TRENDS.series] },
    { kind: 'HogQLQuery', query: 'select null' },
  ])('whose insight has become another kind says so, at its usual times: %j', async (source) => {
    const own = await manage(world, 'POST', '/api/projects/1/insights/', { query: TRENDS })
    const path = await make({ upper: 9 }, { rest: { insight: own.body['id'] } })
    const query = source.kind === 'HogQLQuery' ? source : { kind: 'InsightVizNode', source }
    await manage(world, 'PATCH', `/api/projects/1/insights/${String(own.body['id'])}/`, { query })
    await checks.look()
    const error = 'The insight is no longer a trend.'
    expect(await read(path)).toMatchObject({
      state: 'Errored',
      next_check_at: new Date(START.getTime() + HOUR_MS).toISOString(),
      checks: [{ state: 'Errored', error }],
    })
    expect(messages).toMatchObject([{ state: 'Errored', error }])
    await later(0.1)
    expect((await read(path))['checks']).toHaveLength(1)
    await remove(path)
  })

  test('that fails on our side says so too, and is tried at its usual time', async () => {
    const path = await make({ upper: 9 })
    const broken = new AlertChecks({
      ...world.needs,
      query_service: new Proxy(world.needs.query_service, {
        get: (service, name) =>
          name === 'answerInParts'
            ? () => Promise.reject(new Error('a bug'))
            : Reflect.get(service, name, service),
      }),
    })
    await broken.look()
    await broken.close()
    expect(await read(path)).toMatchObject({
      state: 'Errored',
      next_check_at: new Date(START.getTime() + HOUR_MS).toISOString(),
      checks: [{ error: 'Something went wrong on our side.' }],
    })
    await remove(path)
  })

  test('sends a message again that did not arrive', async () => {
    status = 400
    const refused = await make({ upper: 9 })
    await checks.look()
    expect(await read(refused)).toMatchObject({
      state: 'Firing',
      last_notified_at: null,
      checks: [{ targets_notified: false, error: 'The webhook: answered 400.' }],
    })
    await remove(refused)
    status = 503
    const failing = await make({ upper: 9 })
    await checks.look()
    expect((await read(failing))['checks']).toEqual([
      expect.objectContaining({ error: 'The webhook: answered 503.' }),
    ])
    status = 200
    await later(0.2)
    expect(messages.map(({ state }) => state)).toEqual(['Firing'])
    await remove(failing)
  })
})

describe('late data', () => {
  test('fires no alert on a lack of events until it is over, or believed', async () => {
    const path = await make({ lower: 5 })
    // Nothing has arrived of the new day, which is an hour old: the day before may be incomplete.
    clock = new Date('2026-05-03T01:00:00Z')
    await checks.look()
    expect(await read(path)).toMatchObject({ state: 'Not firing', checks: [] })
    await later(1)
    expect(messages).toEqual([])
    await later(5)
    expect(await read(path)).toMatchObject({ state: 'Firing', checks: [{ calculated_value: 1 }] })
    expect(messages).toHaveLength(1)
    await remove(path)
  })

  test('is over once an event of the new interval is there; too much is too much at once', async () => {
    const [lack, excess] = [await make({ lower: 5 }), await make({ upper: 0 })]
    clock = new Date('2026-05-03T01:00:00Z')
    await checks.look()
    expect((await read(lack))['state']).toBe('Not firing')
    expect((await read(excess))['state']).toBe('Firing')
    await capture(world, { event: 'open', distinct_id: 'x', timestamp: '2026-05-03T00:30:00Z' })
    await later(1)
    expect((await read(lack))['state']).toBe('Firing')
    await Promise.all([remove(lack), remove(excess)])
  })

  test('believes a lack of events by hour once the hour has been over for another one, though none comes any more', async () => {
    const query = { ...TRENDS, interval: 'hour', dateRange: { date_from: '-24h' } }
    const own = await manage(world, 'POST', '/api/projects/1/insights/', { query })
    const path = await make({ lower: 1 }, { rest: { insight: own.body['id'] } })
    clock = new Date('2026-05-04T12:20:00Z')
    await capture(world, ...paid(1, '2026-05-04T10:30:00Z'))
    await checks.look()
    expect(await read(path)).toMatchObject({ state: 'Not firing', checks: [] })
    await later(1)
    expect(await read(path)).toMatchObject({ state: 'Firing', checks: [{ calculated_value: 0 }] })
    expect(messages).toHaveLength(1)
    await remove(path)
  })

  test.each([
    ['month', '2026-02-01T00:00:00Z', '2026-03-31T12:00:00Z'],
    ['week', '2026-03-22T00:00:00Z', '2026-04-04T12:00:00Z'],
    ['hour', '2026-03-31T11:00:00Z', '2026-03-31T12:30:00Z'],
  ])('a %s that is not over yet is not judged, since %s', async (interval, date_from, now) => {
    clock = new Date(now)
    const source = {
      ...TRENDS,
      interval,
      dateRange: { date_from, date_to: now, explicitDate: true },
    }
    const made = await manage(world, 'POST', '/api/projects/1/insights/', {
      name: interval,
      query: { kind: 'InsightVizNode', source },
    })
    await capture(world, ...paid(3, now))
    const path = await make({ upper: 1 }, { rest: { insight: made.body['id'] } })
    await checks.look()
    // The interval before has no events.
    expect(await read(path)).toMatchObject({
      state: 'Not firing',
      checks: [{ calculated_value: 0, state: 'Not firing' }],
    })
    await remove(path)
  })

  test('judges the hour that is over while the clocks show the next one for the second time', async () => {
    const zone = (timezone: string) => manage(world, 'PATCH', '/api/projects/1/', { timezone })
    await zone('Europe/Berlin')
    // 02:20 in Berlin, twenty minutes after it was 02:59.
    clock = new Date('2026-10-25T01:20:00Z')
    await capture(world, ...paid(3, '2026-10-25T00:30:00Z'))
    const query = { ...TRENDS, interval: 'hour', dateRange: { date_from: '-5h' } }
    const own = await manage(world, 'POST', '/api/projects/1/insights/', { query })
    const path = await make({ lower: 2 }, { rest: { insight: own.body['id'] } })
    await checks.look()
    expect(await read(path)).toMatchObject({
      state: 'Not firing',
      checks: [{ calculated_value: 3 }],
    })
    await remove(path)
    await zone('UTC')
  })

  test('says that a range without an interval that is over cannot be judged', async () => {
    const made = await manage(world, 'POST', '/api/projects/1/insights/', {
      name: 'This month',
      query: { ...TRENDS, interval: 'month', dateRange: { date_from: 'mStart' } },
    })
    const path = await make({ lower: 1 }, { rest: { insight: made.body['id'] } })
    await checks.look()
    expect(await read(path)).toMatchObject({
      state: 'Errored',
      checks: [{ error: 'The range of the insight has no interval that is over.' }],
    })
    await remove(path)
  })

  test('an interval that is not over yet is judged only where that is asked for, and never for a lack', async () => {
    const config = { type: 'TrendsAlertConfig', series_index: 0, check_ongoing_interval: true }
    const [few, many] = [
      await make({ lower: 5 }, { rest: { config } }),
      await make({ upper: 0 }, { rest: { config } }),
    ]
    await checks.look()
    expect(await read(few)).toMatchObject({
      state: 'Not firing',
      checks: [{ calculated_value: 1 }],
    })
    expect(await read(many)).toMatchObject({ state: 'Firing', checks: [{ calculated_value: 1 }] })
    await Promise.all([remove(few), remove(many)])
  })
})

describe('refused is', () => {
  const rule = () => ({
    insight,
    condition: { type: 'absolute_value' },
    threshold: { configuration: { type: 'absolute', bounds: { upper: 1 } } },
    config: { type: 'TrendsAlertConfig', series_index: 0 },
  })

  test.each([
    [{ insight: 99_999 }, 'does_not_exist', 'insight'],
    [
      { threshold: { configuration: { type: 'absolute', bounds: {} } } },
      'required',
      'threshold__configuration__bounds',
    ],
    [{ webhook_url: 'http://10.0.0.1/' }, 'invalid_input', 'webhook_url'],
    [{ webhook_url: 'file:///etc/passwd' }, 'invalid_input', 'webhook_url'],
    [{ snoozed_until: 'tomorrow' }, 'invalid_input', 'snoozed_until'],
    [{ calculation_interval: 'secondly' }, 'invalid_choice', 'calculation_interval'],
  ])('%j', async (wrong, code, attr) => {
    const answer = await manage(world, 'POST', ALERTS, { ...rule(), ...wrong })
    expect([answer.status, answer.body['code'], answer.body['attr']]).toEqual([400, code, attr])
  })

  test('an insight that is no trend', async () => {
    const query = { kind: 'HogQLQuery', query: 'select 1' }
    const made = await manage(world, 'POST', '/api/projects/1/insights/', { query })
    const answer = await manage(world, 'POST', ALERTS, { ...rule(), insight: made.body['id'] })
    expect([answer.status, answer.body['attr']]).toEqual([400, 'insight'])
  })
})

describe('a verdict', () => {
  const number = fc.integer({ min: -1000, max: 1000 })

  test('is a breach exactly outside of the bounds', () => {
    fc.assert(
      fc.property(number, number, number, (value, lower, upper) => {
        const threshold = { type: 'absolute', bounds: { lower, upper } } as const
        const verdict = judgePoint(
          { condition: 'absolute_value', threshold },
          { value, before: null },
        )
        expect(verdict.is_breached).toBe(value < lower || value > upper)
      }),
    )
  })

  test('of an increase is that of the decrease the other way round', () => {
    fc.assert(
      fc.property(number, number, number, (value, before, upper) => {
        const threshold = { type: 'absolute', bounds: { upper } } as const
        const up = judgePoint({ condition: 'relative_increase', threshold }, { value, before })
        const turned = { value: before, before: value }
        const down = judgePoint({ condition: 'relative_decrease', threshold }, turned)
        expect(up.is_breached).toBe(down.is_breached)
      }),
    )
  })

  test('is never a breach without a value before', () => {
    const threshold = { type: 'percentage', bounds: { upper: 0 } } as const
    const rule = { condition: 'relative_increase', threshold } as const
    expect(judgePoint(rule, { value: 5, before: null }).is_breached).toBe(false)
    expect(judgePoint(rule, { value: 5, before: 0 }).is_breached).toBe(true)
    expect(judgePoint(rule, { value: 0, before: 0 }).is_breached).toBe(false)
  })
})
