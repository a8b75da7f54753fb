/** Which identifier is hashed for people who were anonymous before (wire §3.4, experience continuity). */
import { describe, expect, test } from 'bun:test'
import { resolveContinuity } from '../../src/flags/continuity.ts'
import { makeDefinitions, makeFlag } from './make.ts'

const kept = (key: string, part: object = {}) =>
  makeFlag({ key, ensure_experience_continuity: true, ...part })
const definitions = makeDefinitions([
  kept('one'),
  kept('two'),
  kept('inactive', { active: false }),
  makeFlag({ key: 'plain' }),
])
const person = (person_id: string, overrides: Record<string, string> = {}) => ({
  person_id,
  overrides: new Map(Object.entries(overrides)),
})

describe('a request that names an anonymous id', () => {
  test('gives every person found an override for every flag that none of them has one for', () => {
    const people = [person('p1', { one: 'older' }), person('p2')]
    expect(resolveContinuity(definitions, people, 'anon')).toEqual({
      overrides: new Map([
        ['one', 'older'],
        ['two', 'anon'],
      ]),
      to_store: [
        { person_id: 'p1', flag_key: 'two', hash_key: 'anon' },
        { person_id: 'p2', flag_key: 'two', hash_key: 'anon' },
      ],
    })
  })

  test("reads the distinct id's person before the anonymous one's", () => {
    const people = [person('p1', { one: 'mine' }), person('p2', { one: 'other', two: 'other' })]
    const { overrides, to_store } = resolveContinuity(definitions, people, 'anon')
    expect(Object.fromEntries(overrides)).toEqual({ one: 'mine', two: 'other' })
    expect(to_store).toEqual([])
  })

  test('stores nothing when neither id has a person yet: the distinct id is hashed', () => {
    expect(resolveContinuity(definitions, [], 'anon')).toEqual({
      overrides: new Map(),
      to_store: [],
    })
  })
})

test('a request without an anonymous id only reads', () => {
  const { overrides, to_store } = resolveContinuity(definitions, [person('p1', { one: 'x' })], null)
  expect(Object.fromEntries(overrides)).toEqual({ one: 'x' })
  expect(to_store).toEqual([])
})
