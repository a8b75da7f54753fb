/** Which names of a request may need a definition: those that were not told within a quarter of an hour. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { DefinitionTracker } from '../../../src/ingest/notes/definition-tracker.ts'
import { randomRuns } from '../../random-runs.ts'

const MINUTE_US = 60_000_000

test('a name is told once in a quarter of an hour', () => {
  const watch = new DefinitionTracker()
  const tell = (now: number) => {
    const list = watch.list(1, now)
    for (let event = 0; event < 3; event++) list.note('seen', { plan: 'pro', price: 1 })
    return list.close()
  }
  const all = { events: ['seen'], properties: { plan: 'pro', price: 1 } }
  const nothing = { events: [], properties: {} }
  expect(tell(0)).toEqual(all)
  expect(tell(14 * MINUTE_US)).toEqual(nothing)
  expect(tell(15 * MINUTE_US)).toEqual(all)
})

test('an event that has one property more than those like it before tells of it', () => {
  const watch = new DefinitionTracker()
  const first = watch.list(1, 0)
  first.note('seen', { plan: 'pro', price: 1 })
  first.close()
  const list = watch.list(1, 1)
  const told = { plan: 'pro', price: 1 }
  for (const properties of [told, told, told, { plan: 'pro' }, {}, { ...told, coupon: true }]) {
    list.note('seen', properties)
  }
  list.note('left', told)
  expect(list.close()).toEqual({ events: ['left'], properties: { coupon: true } })
})

test('the first value with a type is told, whatever comes later', () => {
  const list = new DefinitionTracker().list(1, 0)
  for (const state of [null, [1], 'undefined', 'true', 7]) list.note('seen', { state })
  expect(list.close().properties).toEqual({ state: 'undefined' })
})

test('a list stays short: no long names, no long examples', () => {
  const list = new DefinitionTracker().list(1, 0)
  const long = 'x'.repeat(100_000)
  list.note(long, { [long]: 1, text: long, list: [long], tree: { long }, plan: 'pro' })
  expect(list.close()).toEqual({
    events: [],
    properties: { text: '', list: null, tree: null, plan: 'pro' },
  })
})

type Sent = { readonly event: string; readonly properties: { readonly [name: string]: unknown } }

/** What one name after the other would be told, with nothing remembered about whole events. */
class PlainWatch {
  readonly #told = new Map<string, number>()

  tell(
    events: readonly Sent[],
    now: number,
  ): ReturnType<ReturnType<DefinitionTracker['list']>['close']> {
    const isRecent = (name: string) => now - (this.#told.get(name) ?? -Infinity) < 15 * MINUTE_US
    const names = new Set<string>()
    const properties = new Map<string, unknown>()
    for (const sent of events) {
      if (!isRecent(`event ${sent.event}`)) names.add(sent.event)
      for (const [name, value] of Object.entries(sent.properties)) {
        if (isRecent(`typed ${name}`)) continue
        const is_listed = (properties.get(name) ?? null) !== null
        if (value !== null && !is_listed) properties.set(name, value)
        else if (!isRecent(`untyped ${name}`) && !properties.has(name)) properties.set(name, null)
      }
    }
    for (const name of names) this.#told.set(`event ${name}`, now)
    for (const [name, value] of properties) {
      this.#told.set(`${value === null ? 'untyped' : 'typed'} ${name}`, now)
    }
    return { events: [...names], properties: Object.fromEntries(properties) }
  }
}

test('whatever is sent, the same names are told as if each were looked at', () => {
  const properties = fc.uniqueArray(
    fc.tuple(fc.constantFrom('a', 'b', 'c', '7', '__proto__'), fc.constantFrom(null, 1, 'x')),
    { selector: ([name]) => name },
  )
  const sent = fc.record({
    event: fc.constantFrom('seen', 'left', '__proto__'),
    properties: properties.map((entries): Sent['properties'] => Object.fromEntries(entries)),
  })
  const request = fc.record({
    after_minutes: fc.integer({ min: 0, max: 10 }),
    events: fc.array(sent, { maxLength: 12 }),
  })
  fc.assert(
    fc.property(fc.array(request, { maxLength: 12 }), (requests) => {
      const watch = new DefinitionTracker()
      const plain = new PlainWatch()
      let now = 0
      for (const { after_minutes, events } of requests) {
        now += after_minutes * MINUTE_US
        const list = watch.list(1, now)
        for (const { event, properties: sent_properties } of events) {
          list.note(event, sent_properties)
        }
        expect(list.close()).toEqual(plain.tell(events, now))
      }
    }),
    randomRuns(50),
  )
})
