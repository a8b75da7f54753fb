/** Answers as flat tables: what becomes a row, and what a column. */
import { expect, test } from 'bun:test'
import { tableOfInsight } from '../../src/insights/table.ts'

const tableOf = async (results: unknown, metadata: Record<string, unknown> = {}) => {
  const { columns, rows } = await tableOfInsight({ results, metadata, hogql: null })
  return [columns, ...rows]
}

test.each([
  ['nothing', [], [['results']]],
  [
    'items with members of their own',
    [{ a: 1 }, { b: [2] }],
    [
      ['a', 'b'],
      [1, null],
      [null, [2]],
    ],
  ],
  ['lists of items', [[{ a: 1 }], [{ a: 2 }]], [['a'], [1], [2]]],
  [
    'an object',
    { day: null, series: [{ value: 0 }] },
    [
      ['day', 'series'],
      [null, [{ value: 0 }]],
    ],
  ],
  [
    'a heatmap',
    { data: [{ row: 1, column: 2, value: 3 }], allAggregations: 3 },
    [
      ['row', 'column', 'value'],
      [1, 2, 3],
    ],
  ],
  ['correlations', { events: [{ odds_ratio: 2 }], skewed: false }, [['odds_ratio'], [2]]],
  [
    'bins',
    { bins: [[0, 5]], average_conversion_time: 1 },
    [
      ['from_s', 'count'],
      [0, 5],
    ],
  ],
  [
    'series of a total',
    [{ label: 'x', data: [], days: [], aggregated_value: 7, action: {} }],
    [
      ['label', 'aggregated_value'],
      ['x', 7],
    ],
  ],
])('%s', async (_, results, table) => {
  expect(await tableOf(results)).toEqual(table as unknown[][])
})

test('columns in the metadata are those of the rows, with their types in either form', async () => {
  const results = [['x', [1, 2]]]
  const metadata = {
    columns: ['context.columns.page', 'pair'],
    types: [['context.columns.page', 'String'], 'UInt64'],
  }
  expect(await tableOfInsight({ results, metadata, hogql: null })).toEqual({
    columns: ['context.columns.page', 'pair'],
    types: ['String', 'UInt64'],
    rows: results,
  })
})

test('columns in the metadata of no rows do not count', async () => {
  expect(await tableOf({ events: [{ a: 1 }] }, { columns: ['b'] })).toEqual([['a'], [1]])
})
