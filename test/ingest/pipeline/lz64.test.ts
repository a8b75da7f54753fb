/** lz64: what the clients' library packs comes out whole, and a bomb does not. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { compressToBase64 } from 'lz-string'
import { expandLz64 } from '../../../src/ingest/pipeline/lz64.ts'
import { codePoint } from '../../code-points.ts'
import { randomRuns } from '../../random-runs.ts'

describe('expandLz64', () => {
  test.each(['', 'a', 'aaaaaaaaaaaa', '{"event":"a"}', 'Zürich 日本 😀', '\0\u0001'.repeat(50)])(
    'gives back %j',
    (text) => {
      expect(expandLz64(compressToBase64(text), 1000)).toEqual({ kind: 'text', text })
    },
  )

  test('gives back whatever the library packed', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 3000 }), (text) => {
        expect(expandLz64(compressToBase64(text), 1_000_000)).toEqual({ kind: 'text', text })
      }),
      randomRuns(15),
    )
  })

  test('gives back a dictionary that outgrew 16 bits', () => {
    const words = Array.from({ length: 100_000 }, (_, index) => `${(index * 7919) % 100_003}`)
    const text = words.join(' ')
    expect(expandLz64(compressToBase64(text), 10_000_000)).toEqual({ kind: 'text', text })
  })

  test('stops at the length it was given', () => {
    const bomb = compressToBase64('a'.repeat(500_000))
    expect(bomb.length).toBeLessThan(4000)
    expect(expandLz64(bomb, 499_999)).toEqual({ kind: 'too_large' })
    expect(expandLz64(bomb, 500_000).kind).toBe('text')
  })

  test('takes no text for packed text without an end', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        expect(['text', 'malformed', 'too_large']).toContain(expandLz64(text, 10_000).kind)
      }),
    )
    expect(expandLz64('', 100)).toEqual({ kind: 'malformed' })
    expect(expandLz64(compressToBase64('{"event":"a"}').slice(0, 8), 100)).toEqual({
      kind: 'malformed',
    })
  })
})
