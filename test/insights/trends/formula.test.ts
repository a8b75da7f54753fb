/** Formulas: what they come to, and what is none. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { readFormula } from '../../../src/insights/trends/formula.ts'
import { randomRuns } from '../../random-runs.ts'

const evaluate = (text: string, values: readonly number[]): number =>
  readFormula(text, values.length, 'formula')(values)

test.each([
  ['A+B', [1, 2], 3],
  ['a - b * 2', [10, 3], 4],
  ['(A - B) * 2', [10, 3], 14],
  ['A / B', [1, 4], 0.25],
  ['A / B', [1, 0], 0],
  ['A % B', [7, 4], 3],
  // As in Python, the remainder has the sign of the divisor.
  ['A % B', [-7, 4], 1],
  ['2 ** 3 ** 2', [], 512],
  ['-A ^ 2', [3], -9],
  ['--A', [3], 3],
  ['A * .5 + 1.', [3], 2.5],
  ['C', [1, 2, 3], 3],
  ['0 ** -1', [], 0],
])('%s of %j is %d', (text, values, expected) => {
  expect(evaluate(text, values)).toBe(expected)
})

test.each([
  ['', 'The formula ends too early.'],
  ['A +', 'The formula ends too early.'],
  ['(A', 'does not fit|ends too early'],
  ['A B', 'B does not fit in the formula.'],
  ['A)', '\\) does not fit in the formula.'],
  ['B', 'The formula names series B, which there is not.'],
  ['A; drop', 'cannot be read'],
  ['AB', 'cannot be read'],
  ['alert(1)', 'cannot be read'],
  ['('.repeat(60) + 'A' + ')'.repeat(60), 'nested more than 50 deep'],
  ['-'.repeat(5000) + 'A', 'nested more than 50 deep'],
])('%s is refused', (text, detail) => {
  expect(() => evaluate(text, [1])).toThrow(new RegExp(detail))
})

/** A sum of products and differences, with what it comes to. */
const SUM: fc.Arbitrary<{ text: string; value: number }> = fc
  .array(fc.tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 99 }), fc.nat(9)), {
    minLength: 1,
    maxLength: 30,
  })
  .map((terms) => ({
    text: `0 ${terms.map(([sign, left, right]) => `${sign} ${left} * (${right})`).join(' ')}`,
    value: terms.reduce(
      (sum, [sign, left, right]) => sum + (sign === '+' ? 1 : -1) * left * right,
      0,
    ),
  }))

test('any sum of products comes to what it should', () => {
  fc.assert(
    fc.property(SUM, ({ text, value }) => {
      expect(evaluate(text, [])).toBe(value)
    }),
  )
})

test('any text is read or refused, never anything else', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), (text) => {
      try {
        expect(Number.isFinite(evaluate(text, [1, 2, 3]))).toBe(true)
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid_input', attr: 'formula' })
      }
    }),
    randomRuns(500),
  )
})
