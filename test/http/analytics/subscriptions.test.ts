/** Subscriptions of dashboards, by a clock that is set: when they are posted, what, and to whom not. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { nextDelivery } from '../../../src/dashboards/subscription.ts'
import { Deliveries } from '../../../src/http/analytics/alerts/deliveries.ts'
import { Pictures } from '../../../src/pictures/pictures.ts'
import { Addresses } from '../../../src/plugins/addresses.ts'
import { capture, manage } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

const SUBSCRIPTIONS = '/api/projects/1/subscriptions/'
const START = new Date('2026-05-02T08:00:00Z')
const HOUR_MS = 3_600_000

let clock = START
let world: World
let deliveries: Deliveries
let board = 0
let receiver: ReturnType<typeof Bun.serve>
const messages: Readonly<Record<string, unknown>>[] = []
let status = 200
/** Runs while a message waits for its answer. */
let meanwhile: (() => Promise<unknown>) | null = null

beforeAll(async () => {
  receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      messages.push((await request.json()) as Record<string, unknown>)
      await meanwhile?.()
      return new Response(null, { status })
    },
  })
  world = await openWorld({ now: () => clock, addresses: new Addresses(['127.0.0.0/8']) })
  // As on a machine without Chromium, which takes 0.6 s of processor time for a picture: one test draws one.
  const pictures = new Pictures(null, world.needs.log)
  deliveries = new Deliveries({ ...world.needs, pictures })
  await capture(world, { event: 'paid', distinct_id: 'a', timestamp: '2026-05-01T10:00:00Z' })
  const made = await manage(world, 'POST', '/api/projects/1/dashboards/', { name: 'Money' })
  board = Number(made.body['id'])
  const query = { kind: 'HogQLQuery', query: 'select event, count() from events group by event' }
  const dashboards = [board]
  await manage(world, 'POST', '/api/projects/1/insights/', { name: 'Paid', query, dashboards })
})
afterAll(async () => {
  await deliveries.close()
  await receiver.stop(true)
  await world.close()
})

const body = (rest: object = {}) => ({
  dashboard: board,
  title: 'Every morning',
  target_type: 'webhook',
  target_value: receiver.url.href,
  frequency: 'daily',
  start_date: START.toISOString(),
  ...rest,
})

async function make(rest: object): Promise<string> {
  const made = await manage(world, 'POST', SUBSCRIPTIONS, body(rest))
  return `${SUBSCRIPTIONS}${String(made.body['id'])}/`
}

async function later(hours: number): Promise<void> {
  clock = new Date(clock.getTime() + hours * HOUR_MS)
  await deliveries.look()
}

describe('a subscription', () => {
  test('posts the figures at its time, once a day, and once after a pause of the server', async () => {
    const made = await manage(world, 'POST', SUBSCRIPTIONS, body())
    expect(made).toMatchObject({ status: 201, body: { next_delivery_date: START.toISOString() } })
    const drawing = new Deliveries(world.needs)
    await drawing.look()
    await drawing.close()
    expect(messages).toEqual([
      expect.objectContaining({
        type: 'subscription',
        text: expect.stringContaining('Every morning: '),
        dashboard: expect.objectContaining({
          name: 'Money',
          tiles: [
            expect.objectContaining({
              insight: expect.objectContaining({ name: 'Paid', result: [['paid', 1]] }),
            }),
          ],
        }),
      }),
    ])
    // Base64 of a PNG begins so; without Chromium there is none.
    const picture = messages[0]?.['picture_png_base64']
    if (picture !== null) expect(picture).toEqual(expect.stringMatching(/^iVBORw0K/))
    await later(1)
    expect(messages).toHaveLength(1)
    await later(5 * 24)
    await later(0)
    expect(messages).toHaveLength(2)
    expect(messages[1]).toMatchObject({ picture_png_base64: null })
    const path = `${SUBSCRIPTIONS}${String(made.body['id'])}/`
    expect((await manage(world, 'GET', path)).body).toMatchObject({
      last_error: null,
      last_delivery_date: '2026-05-07T09:00:00.000Z',
      next_delivery_date: '2026-05-08T08:00:00.000Z',
    })
    status = 500
    await later(24)
    expect((await manage(world, 'GET', path)).body['last_error']).toBe('The webhook: answered 500.')
    status = 200
    await manage(world, 'PATCH', path, { deleted: true })
    await later(48)
    expect(messages).toHaveLength(3)
    expect((await manage(world, 'GET', path)).status).toBe(404)
  }, 60_000)

  test('of a dashboard whose figures take too long is left until the next day', async () => {
    clock = START
    const made = await manage(world, 'POST', SUBSCRIPTIONS, body())
    const path = `${SUBSCRIPTIONS}${String(made.body['id'])}/`
    const count = messages.length
    const hasty = new Deliveries(world.needs, 0)
    await hasty.look()
    await hasty.close()
    expect((await manage(world, 'GET', path)).body).toMatchObject({
      last_error: 'The figures of the dashboard took too long.',
      next_delivery_date: '2026-05-03T08:00:00.000Z',
    })
    expect(messages).toHaveLength(count)
    await manage(world, 'PATCH', path, { deleted: true })
  })

  test('that is due stays due when its own answer is sent back, whole or member by member', async () => {
    const path = await make({ start_date: clock.toISOString() })
    clock = new Date(clock.getTime() + HOUR_MS)
    const { body: due } = await manage(world, 'GET', path)
    const single = Object.entries(due).map(([name, value]) => ({ [name]: value }))
    for (const sent of [{}, due, ...single])
      for (const method of ['PATCH', 'PUT'])
        expect(await manage(world, method, path, sent)).toMatchObject({ status: 200, body: due })
    await manage(world, 'PATCH', path, { deleted: true })
  })

  test('keeps its schedule after a clock that was ahead is set back', async () => {
    clock = START
    const path = await make({ frequency: 'monthly' })
    const upcoming = await make({ start_date: '2026-05-20T08:00:00Z' })
    await later(90 * 24)
    expect((await manage(world, 'GET', path)).body['next_delivery_date']).toStartWith('2026-08-02')
    clock = START
    await later(24)
    expect((await manage(world, 'GET', path)).body['next_delivery_date']).toStartWith('2026-06-02')
    expect((await manage(world, 'GET', upcoming)).body).toMatchObject({
      next_delivery_date: '2026-05-20T08:00:00.000Z',
    })
    await manage(world, 'PATCH', path, { deleted: true })
    await manage(world, 'PATCH', upcoming, { deleted: true })
  })

  test('that begins with its creation begins anew when the clock that dated it was ahead', async () => {
    clock = new Date('2027-05-02T08:00:00Z')
    const path = await make({ start_date: undefined })
    const upcoming = await make({ start_date: '2027-06-02T08:00:00Z' })
    clock = START
    const before = messages.length
    await deliveries.look()
    expect(messages).toHaveLength(before + 1)
    expect((await manage(world, 'GET', path)).body).toMatchObject({
      start_date: START.toISOString(),
      next_delivery_date: '2026-05-03T08:00:00.000Z',
    })
    expect((await manage(world, 'GET', upcoming)).body).toMatchObject({
      next_delivery_date: '2027-06-02T08:00:00.000Z',
    })
    await manage(world, 'PATCH', path, { deleted: true })
    await manage(world, 'PATCH', upcoming, { deleted: true })
  })

  test('that is changed while it is posted keeps its new schedule', async () => {
    clock = START
    const made = await manage(world, 'POST', SUBSCRIPTIONS, body({ frequency: 'monthly' }))
    const path = `${SUBSCRIPTIONS}${String(made.body['id'])}/`
    meanwhile = () => manage(world, 'PATCH', path, { frequency: 'daily' })
    await deliveries.look()
    meanwhile = null
    expect((await manage(world, 'GET', path)).body).toMatchObject({
      frequency: 'daily',
      last_delivery_date: START.toISOString(),
      next_delivery_date: '2026-05-03T08:00:00.000Z',
    })
    await manage(world, 'PATCH', path, { deleted: true })
  })

  test('of a deleted dashboard posts nothing', async () => {
    const made = await manage(world, 'POST', '/api/projects/1/dashboards/', { name: 'Gone' })
    const dashboard = Number(made.body['id'])
    await manage(world, 'POST', SUBSCRIPTIONS, body({ dashboard }))
    await manage(world, 'PATCH', `/api/projects/1/dashboards/${dashboard}/`, { deleted: true })
    const before = messages.length
    await later(48)
    expect(messages).toHaveLength(before)
  })

  test.each([
    [{ dashboard: 99_999 }, 'does_not_exist', 'dashboard'],
    [{ target_type: 'email' }, 'invalid_choice', 'target_type'],
    [{ target_value: 'http://169.254.169.254/' }, 'invalid_input', 'target_value'],
    [{ frequency: 'secondly' }, 'invalid_choice', 'frequency'],
    [{ interval: 0 }, 'invalid_input', 'interval'],
    [{ start_date: 'tomorrow' }, 'invalid_input', 'start_date'],
  ])('with %j is refused', async (wrong, code, attr) => {
    const answer = await manage(world, 'POST', SUBSCRIPTIONS, body(wrong))
    expect([answer.status, answer.body['code'], answer.body['attr']]).toEqual([400, code, attr])
  })
})

describe('the next delivery', () => {
  const moment = fc.date({
    min: new Date('2020-01-01'),
    max: new Date('2030-01-01'),
    noInvalidDate: true,
  })

  test('is after now, and not more than one step away', () => {
    const days = { daily: 1, weekly: 7, monthly: 31 } as const
    fc.assert(
      fc.property(
        moment,
        moment,
        fc.constantFrom('daily', 'weekly', 'monthly'),
        fc.integer({ min: 1, max: 5 }),
        (start_date, now, frequency, interval) => {
          const next = nextDelivery({ frequency, interval, start_date }, now, false)
          expect(next > now).toBe(true)
          const far_ms = days[frequency] * interval * 86_400_000
          const from_ms = Math.max(now.getTime(), start_date.getTime())
          expect(next.getTime() - from_ms).toBeLessThanOrEqual(far_ms)
        },
      ),
    )
  })

  test('of a month keeps its day, or takes the last one', () => {
    const start_date = new Date('2026-01-31T08:00:00Z')
    const schedule = { frequency: 'monthly', interval: 1, start_date } as const
    const next = (now: string) => nextDelivery(schedule, new Date(now), false).toISOString()
    expect(next('2026-02-01T00:00:00Z')).toBe('2026-02-28T08:00:00.000Z')
    expect(next('2026-02-28T08:00:00Z')).toBe('2026-03-31T08:00:00.000Z')
  })
})
