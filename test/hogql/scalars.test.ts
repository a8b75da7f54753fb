/** What this program computes for the engine: NULL passes through, sizes are guarded, nobody calls it by its inner name. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { assert, asyncProperty, string } from 'fast-check'
import { Refusal } from '../../src/errors.ts'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { cityHash } from '../../src/hogql/scalars/city-hash.ts'
import { HOGQL_SCALARS } from '../../src/hogql/scalars/scalars.ts'
import { randomRuns } from '../random-runs.ts'
import { CONTEXT, openWorld, type World } from './engine.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

describe('scalar functions', () => {
  test('are NULL for NULL, row by row', async () => {
    const query = `select base58Encode(x), cityHash64(x) is null from
      (select arrayJoin(['a', NULL, 'hello']) as x) order by x`
    expect(await world.ask(query)).toEqual([
      ['2g', 0],
      ['Cn8eVZg', 0],
      [null, 1],
    ])
  })

  test('work on more rows than one chunk of the engine holds', async () => {
    const query = `select uniq(cityHash64(toString(number))), min(length(base58Encode(toString(number))))
      from numbers(5000)`
    expect(await world.ask(query)).toEqual([['5000', '1']])
  })

  test('read back what they wrote, whatever the text', async () => {
    await assert(
      asyncProperty(string({ unit: 'grapheme', maxLength: 60 }), async (text) => {
        const values = new Map([['text', text]])
        const rows = await world.ask('select base58Decode(base58Encode({text}))', { values })
        expect(rows).toEqual([[text.toWellFormed()]])
      }),
      randomRuns(15),
    )
  })

  test('hash bytes of every length to 64 bits', () => {
    const seen = new Set<bigint>()
    for (let length = 0; length < 300; length += 1) {
      const hash = cityHash(new Uint8Array(length).fill(length % 7))
      expect(hash >= 0n && hash < 1n << 64n).toBe(true)
      seen.add(hash)
    }
    expect(seen.size).toBe(300)
  })

  test.each([
    ["select base58Encode(repeat('a', 4001))", 'Base 58 is limited to 4000 characters'],
    ["select base58Decode('0OIl')", 'base58Decode was given a text that is not base 58'],
    ["select bitSlice('Hello', 10, 7)", 'bytes that are not UTF-8 cannot be answered'],
    ["select convertCharset('é', 'UTF-8', 'latin1')", 'bytes that are not UTF-8'],
    ["select convertCharset('a', 'klingon', 'UTF-8')", 'That character set is not known'],
    ["select windowFunnel(5, 'strict_x')(number, number = 1) from numbers(3)", 'has no mode'],
    [
      "select windowFunnel(5, 'allow_reentry')(number, number = 1) from numbers(3)",
      "beside 'strict_order' only",
    ],
    [
      "select sequenceMatch('.*.*.*.*.*(?t>=1)(?2)')(number, 1, number > 400) from numbers(400)",
      'too many ways to match',
    ],
    ['select geohashesInBox(-180., -90., 180., 90., 9)', 'limited to 10000 cells'],
  ])('refuse what cannot be answered: %s', async (query, sentence) => {
    const refused = await Promise.try(() => world.ask(query)).then(() => 'answered', String)
    expect(refused).toContain(sentence)
  })

  test.each(HOGQL_SCALARS.map(({ name }) => name))('%s is no name of HogQL', (name) => {
    expect(() => compileHogQL(`select ${name}('a')`, CONTEXT)).toThrow(Refusal)
  })
})
