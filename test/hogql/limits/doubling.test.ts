/** Functions that print an argument twice, inside one another: each level doubles the statement, so it is refused in time. */
import { expect, test } from 'bun:test'
import { INLINE_BUDGET } from '../../../src/hogql/budget.ts'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { CONTEXT } from '../engine.ts'

const LEVELS = 32
/** Without a limit the first of these takes hours. */
const BUDGET_MS = 2000

test.each([
  ['arraySort(x -> x, ', '[2, 1]', ')'],
  ['arrayReverseSort(x -> x, ', '[2, 1]', ')'],
  ['(', '1', ' between 1 and 2)'],
  ['(', 'timestamp', ' > now())'],
  ['transform(', '1', ', 1, 2)'],
  ['positiveModulo(1, ', '1', ')'],
  ['max2(1, ', 'properties.a', ')'],
  ['floor(1.5, ', 'length(event)', ')'],
  ['hasTokenOrNull(1, ', '1', ')'],
  ['IPv6CIDRToRange(1, ', '1', ')'],
])('%s%s%s is refused, 32 times over', (before, inner, after) => {
  const text = `select ${before.repeat(LEVELS)}${inner}${after.repeat(LEVELS)} from events`
  const compile = (): unknown => compileHogQL(text, { ...CONTEXT, budget: INLINE_BUDGET })
  const started = performance.now()
  expect(compile).toThrow('The query is too large')
  expect(performance.now() - started).toBeLessThan(BUDGET_MS)
})

test('a few times over is compiled', () => {
  const text = `select ${'arraySort(x -> x, '.repeat(4)}[2, 1]${')'.repeat(4)}`
  expect(compileHogQL(text, CONTEXT).columns).toHaveLength(1)
})
