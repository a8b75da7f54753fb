/** What is remembered of senders is right or nothing, whatever happens to persons and ids meanwhile. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type CachedSender, SenderCache } from '../../../src/storage/persons/sender-cache.ts'
import { randomRuns } from '../../random-runs.ts'

/** Persons of one group of changes each, except the last two, who share theirs. */
const PERSONS = [1, 2, 3, 4, 5].map((number) => {
  const id = new Uint8Array(16).fill(number)
  id[15] = Math.min(number, 4)
  return id
})

const KEYS = Array.from({ length: 40 }, (_, number) => `1:user-${number}`)

test('a sender is known by its own id, with its person and marks', () => {
  const senders = new SenderCache()
  expect(senders.find('1:a')).toBeNull()
  const [person_id = new Uint8Array(16)] = PERSONS
  senders.note('1:a', {
    id: person_id,
    marks_low: 2 ** 30,
    marks_high: 5,
    lasting_hash: 2 ** 32 - 1,
  })
  expect(senders.find('1:a')).toEqual({
    person_id,
    marks_low: 2 ** 30,
    marks_high: 5,
    lasting_hash: 2 ** 32 - 1,
  })
  expect(senders.find('1:b')).toBeNull()
  expect(senders.find('2:a')).toBeNull()
})

type Step =
  | {
      readonly kind: 'note'
      readonly name: string
      readonly person: number
      readonly marks: number
    }
  | { readonly kind: 'change'; readonly person: number }
  | { readonly kind: 'move'; readonly name: string }
  | { readonly kind: 'clear' }

const name = fc.constantFrom(...KEYS)
const person = fc.nat(PERSONS.length - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('note' as const),
      name,
      person,
      marks: fc.nat(2 ** 31 - 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('change' as const), person }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const) }) },
)

/** Takes a step with the senders and in a plain map of what is so. */
function take(senders: SenderCache, truth: Map<string, CachedSender>, one: Step): void {
  switch (one.kind) {
    case 'note': {
      const id = PERSONS[one.person] ?? new Uint8Array(16)
      const known = {
        marks_low: one.marks,
        marks_high: one.marks >> 3,
        lasting_hash: one.marks >> 1,
      }
      senders.note(one.name, { id, ...known })
      truth.set(one.name, { person_id: id, ...known })
      // What was noted last can be relied on to be there.
      expect(senders.find(one.name)).toEqual({ person_id: id, ...known })
      return
    }
    case 'change': {
      const id = PERSONS[one.person] ?? new Uint8Array(16)
      senders.invalidate(id)
      const gone = [...truth].filter(([, { person_id }]) => person_id === id)
      for (const [key] of gone) truth.delete(key)
      return
    }
    case 'move':
      senders.forget(one.name)
      truth.delete(one.name)
      return
    case 'clear':
      senders.clear()
      truth.clear()
  }
}

test('any order of notes and changes leaves nothing known that is not so', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const senders = new SenderCache(32)
      const truth = new Map<string, CachedSender>()
      for (const one of steps) {
        take(senders, truth, one)
        const wrong = KEYS.filter((key) => {
          const found = senders.find(key)
          return found !== null && !Bun.deepEquals(found, truth.get(key))
        })
        expect(wrong).toEqual([])
      }
    }),
    randomRuns(15),
  )
})

test('more senders than have room push each other out, and nobody becomes somebody else', () => {
  const senders = new SenderCache(1000)
  const count = 1200
  const id = new Uint8Array(16)
  const view = new DataView(id.buffer)
  for (let number = 0; number < count; number++) {
    view.setUint32(0, number)
    senders.note(`1:${number}`, { id, marks_low: number, marks_high: 0, lasting_hash: 0 })
  }
  let known = 0
  for (let number = 0; number < count; number++) {
    const found = senders.find(`1:${number}`)
    if (found === null) continue
    known += 1
    view.setUint32(0, number)
    if (found.marks_low !== number || Buffer.compare(found.person_id, id) !== 0) {
      throw new Error(`${number} became ${found.marks_low}`)
    }
  }
  expect(known).toBeGreaterThan(count / 2)
  expect(known).toBeLessThanOrEqual(1000)
})
