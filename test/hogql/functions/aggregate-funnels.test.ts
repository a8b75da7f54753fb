/** aggregate_funnel and its kin in texts: literal events, answers worked by hand. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { openWorld, type World } from '../engine.ts'

setDefaultTimeout(60_000)

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const ID = (number: number): string => `00000000-0000-0000-0000-00000000000${number}`
const event = (second: number, id: number, value: string, steps: string): string =>
  `(toFloat(${second}), toUUID('${ID(id)}'), ${value}, ${steps})`

/** First on the phone, then on the desk. */
const EVENTS = `[${[
  event(10, 1, "'phone'", '[1]'),
  event(30, 2, "'desk'", '[2]'),
  event(40, 3, "'desk'", '[3]'),
].join(', ')}]`

async function one(text: string): Promise<unknown> {
  const [row] = await world.ask(`select ${text}`)
  return row?.[0]
}

const tuple = (...items: readonly unknown[]) =>
  Object.fromEntries(items.map((item, index) => [String(index + 1), item]))

describe('aggregate_funnel', () => {
  test('tells the furthest step, its value, times, events and bits', async () => {
    const call = `aggregate_funnel(3, 30, 'first_touch', 'ordered', ['phone'], [], ${EVENTS})`
    expect(await one(call)).toEqual([
      tuple('2', 'phone', [20, 10], [[ID(1)], [ID(2)], [ID(3)]], '7'),
    ])
    const shorter = `aggregate_funnel(3, 29, 'first_touch', 'ordered', ['phone'], [], ${EVENTS})`
    expect(await one(`${shorter}[1].1`)).toBe('1')
  })

  test('splits by all events, and by a step', async () => {
    const by = (attribution: string): string =>
      `arrayMap(r -> (r.1, r.2), aggregate_funnel(3, 100, '${attribution}', 'ordered', ['phone', 'desk'], [], ${EVENTS}))`
    // With the phone alone there is just the first step, with the desk not even that.
    expect(await one(by('all_events'))).toEqual([tuple('0', 'phone'), tuple('-1', 'desk')])
    expect(await one(by('step_1'))).toEqual([tuple('0', 'phone'), tuple('2', 'desk')])
  })

  test('keeps to order, strictness, exclusions and optional steps', async () => {
    const reached = (order: string, optional: string, events: readonly string[]): string =>
      `aggregate_funnel(3, 100, 'first_touch', '${order}', [''], ${optional}, [${events.join(', ')}])[1].1`
    const at = (second: number, steps: string) => event(second, second, "''", steps)
    const [first, second, third] = [at(1, '[1]'), at(3, '[2]'), at(5, '[3]')]
    const other = at(2, '[]')
    const forbidden = at(2, '[-2]')
    expect(await one(reached('strict', '[]', [first, second, third]))).toBe('2')
    expect(await one(reached('strict', '[]', [first, other, second, third]))).toBe('0')
    expect(await one(reached('ordered', '[]', [first, forbidden, second, third]))).toBe('-1')
    expect(await one(reached('ordered', '[2]', [first, third]))).toBe('2')
    expect(await one(reached('unordered', '[]', [third, first]))).toBe('1')
  })

  test('gathers events of its own', async () => {
    await world.connection.run(`insert into all_events
      select 1, row_number() over (), ('00000000-0000-0000-0000-00000000000' || i)::uuid, e, 'd', '00000000-0000-0000-0000-0000000000aa', 'full',
        timestamp '2024-06-01 00:00:00' + to_minutes(i), timestamp '2024-06-01 00:00:00', '{}', '', '', '', '', '', ''
      from (values (1, 'visit'), (2, 'pay')) as sent(i, e)`)
    const text = `select person_id, f[1].1, f[1].3 from (
      select person_id, aggregate_funnel(2, 3600, 'first_touch', 'ordered', [''], [],
        arraySort(t -> t.1, groupArray((toFloat(timestamp), uuid, '', arrayFilter(x -> x != 0, [1 * (event = 'visit'), 2 * (event = 'pay')]))))) as f
      from events group by person_id)`
    const [row] = await world.ask(text)
    expect(row?.slice(1)).toEqual(['1', [60]])
  })
})

test('aggregate_funnel_trends tells when a funnel is entered, and whether it is gone through', async () => {
  const at = (second: number, bucket: number, id: number, steps: string): string =>
    `(toFloat(${second}), ${bucket}, toUUID('${ID(id)}'), '', ${steps})`
  const events = [at(10, 0, 1, '[1]'), at(20, 0, 2, '[2]'), at(70, 60, 3, '[1]')]
  const call = `aggregate_funnel_trends(0, 1, 2, 30, 'first_touch', 'ordered', [''], [${events.join(', ')}])`
  expect(await one(`arraySort(r -> r.1, ${call})`)).toEqual([
    tuple('0', '1', '', ID(2)),
    tuple('60', '-1', '', ID(3)),
  ])
})

test.each([
  [`aggregate_funnel(3, 30, 'first_touch', 'ordered', [''], [], [1])`, 'array of tuples'],
  [`aggregate_funnel(3, 30)`, 'expects'],
  [`aggregate_funnel(99, 30, 'first_touch', 'ordered', [''], [], ${EVENTS})`, '1 to 25 steps'],
])('%s is refused', async (call, detail) => {
  const refused = await one(call).then(
    () => 'answered',
    (error: Error) => error.message,
  )
  expect(refused).toContain(detail)
})
