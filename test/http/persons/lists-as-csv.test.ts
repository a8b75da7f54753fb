/** Lists as CSV: how large a table one item may make of all. */
import { expect, test } from 'bun:test'
import { Refusal } from '../../../src/errors.ts'
import { answerCsv } from '../../../src/http/persons/lists-as-csv.ts'

test('a list within one item makes no table that nobody can open', async () => {
  const wide = { id: 1, tags: Array.from({ length: 50_000 }, (_, index) => index) }
  const thin = Array.from({ length: 99 }, (_, index) => ({ id: index }))
  expect(() => answerCsv([wide, ...thin])).toThrow(
    new Refusal('query_too_large', 'The table has more than 2000000 cells: ask for fewer items.'),
  )
  const [head] = (await answerCsv([wide]).text()).split('\r\n')
  expect(head?.split(',')).toHaveLength(50_001)
})
