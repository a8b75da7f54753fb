/** Whether a pattern may match an empty text: examples, a law beside the engine of this runtime, and patterns that grow. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { mayMatchEmpty } from '../../../src/hogql/functions/text/empty-match.ts'
import { randomRuns } from '../../random-runs.ts'

test.each([
  ['a', false],
  ['a*', true],
  ['a+b?', false],
  ['(x|)y', false],
  ['x|', true],
  ['(a|b*)', true],
  ['(\\d+)', false],
  ['[]a]', false],
  ['[[:alpha:]]+', false],
  ['(?i)', true],
  ['(?i)a', false],
  ['(?P<name>a?)', true],
  ['^$', true],
  ['\\bword', false],
  ['', true],
  ['a{0,3}', true],
])('%j: %j', (pattern, expected) => {
  expect(mayMatchEmpty(pattern)).toBe(expected)
})

/** What this runtime's engine says; a pattern that it refuses matches nothing. */
function matchesEmpty(pattern: string): boolean {
  try {
    return new RegExp(pattern, 's').test('')
  } catch {
    return false
  }
}

test('what is said to need a character never matches an empty text', () => {
  const piece = fc.constantFrom(
    'a',
    '.',
    '[b]',
    '\\d',
    '\\b',
    '^',
    '$',
    '(',
    '(?:',
    ')',
    '|',
    '*',
    '+',
    '?',
    '{2}',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const pattern = pieces.join('')
      if (!mayMatchEmpty(pattern)) expect(matchesEmpty(pattern)).toBe(false)
    }),
    randomRuns(300),
  )
})

test.each(['(', '[', '{', 'a{', '(?', '[[:', '|', 'a?', '(|)', '\\'])(
  '%j a million times is read once',
  (piece) => {
    const started = performance.now()
    mayMatchEmpty(piece.repeat(1_000_000 / piece.length))
    expect(performance.now() - started).toBeLessThan(2000)
  },
)
