/** Long JSON arrays: what is read and written in slices is what would be read and written at once. */
import { expect, test } from 'bun:test'
import {
  array,
  assert,
  asyncProperty,
  constant,
  constantFrom,
  jsonValue,
  oneof,
  string,
} from 'fast-check'
import { parseRows, ROW_END, writeArray } from '../../src/threads/sliced-json.ts'
import { randomRuns } from '../random-runs.ts'

const textOf = async (parts: Promise<readonly Uint8Array[]>): Promise<string> =>
  Buffer.concat(await parts).toString()

const rowsText = (rows: readonly unknown[]): string =>
  `[${rows.map((row) => JSON.stringify(row)).join(ROW_END)}]`

test('rows are read as they were written, whatever their texts contain', async () => {
  const row = array(oneof(string({ unit: 'grapheme' }), constant(',\n'), jsonValue()))
  await assert(
    asyncProperty(array(row), constantFrom(1, 4000), async (rows, times) => {
      const many = Array.from({ length: times }, () => rows).flat()
      const text = rowsText(many)
      expect(await parseRows(Buffer.from(text))).toEqual(JSON.parse(text))
    }),
    randomRuns(4),
  )
})

test('an array without ends of rows is read too', async () => {
  const text = JSON.stringify(Array.from({ length: 50_000 }, (_, index) => [index]))
  expect(await parseRows(Buffer.from(text))).toEqual(JSON.parse(text))
})

test('a long array lets others have their turn while it is read and written', async () => {
  const rows = Array.from({ length: 100_000 }, (_, index) => [index, 'x'.repeat(100)])
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 1)
  const text = await textOf(writeArray(rows))
  const written_turns = turns
  await parseRows(Buffer.from(rowsText(rows)))
  clearInterval(timer)
  expect(text).toBe(JSON.stringify(rows))
  expect([written_turns > 0, turns > written_turns]).toEqual([true, true])
})

test('parts of an item stand where the item is', async () => {
  const written = writeArray([1, 2], (item) => ['{"raw":', Buffer.from(`[${item}]`), '}'])
  expect(await textOf(written)).toBe('[{"raw":[1]},{"raw":[2]}]')
})
