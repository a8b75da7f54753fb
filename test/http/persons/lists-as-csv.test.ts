/** Lists as CSV: how large a table one item may make of all. */
import { expect, test } from 'bun:test'
import { answerCsv } from '../../../src/http/persons/lists-as-csv.ts'

test('a list within one item makes no table that nobody can open', async () => {
  const wide = { id: 1, tags: Array.from({ length: 50_000 }, (_, index) => index) }
  const thin = Array.from({ length: 99 }, (_, index) => ({ id: index }))
  const refusal = answerCsv([wide, ...thin]).catch((error: unknown) => error)
  expect(await refusal).toMatchObject({
    code: 'query_too_large',
    detail: 'The table has more than 2000000 cells: ask for fewer items.',
    attr: 'limit',
  })
  const [head] = (await (await answerCsv([wide])).text()).split('\r\n')
  expect(head?.split(',')).toHaveLength(50_001)
})
