/** Long answers are written in slices: the process answers others meanwhile, and what is written is the same. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { type DuckDBConnection, type DuckDBDataChunk, DuckDBInstance } from '@duckdb/node-api'
import { rowWriter } from '../../../../src/query/worker/formats/json-rows.ts'
import { ROW_FORMS } from '../../../../src/query/worker/formats/row-forms.ts'

let connection: DuckDBConnection
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(':memory:')).connect()
})

async function chunkOf(sql: string): Promise<DuckDBDataChunk> {
  const chunk = await (await connection.stream(sql)).fetchChunk()
  if (chunk === null) throw new Error('no rows')
  return chunk
}

const writtenOf = async (sql: string, types: readonly string[]): Promise<string> => {
  const parts = await Array.fromAsync(
    rowWriter(types, 'UTC').writeChunk(await chunkOf(sql), 10_000),
    (text) => Buffer.from(text),
  )
  return Buffer.concat(parts).toString()
}

/** Counts the turns that others have while something is written. */
async function turnsDuring(write: () => Promise<unknown>): Promise<number> {
  let turns = 0
  const timer = setInterval(() => {
    turns += 1
  }, 0)
  await write()
  clearInterval(timer)
  return turns
}

const ITEMS = 30_000
const numbers = Array.from({ length: ITEMS }, (_, index) => index)

/** [SQL of one value, ClickHouse type, the value] */
const LONG_VALUES: readonly (readonly [string, string, unknown])[] = [
  [`range(${ITEMS})`, 'Array(Int64)', numbers],
  [`[range(${ITEMS}), null, []]`, 'Array(Array(Int64))', [numbers, null, []]],
  [
    `list_transform(range(${ITEMS}), x -> {a: x % 2 = 0, b: [x]})`,
    'Array(Tuple(Bool, Array(Int64)))',
    numbers.map((at) => [at % 2 === 0, [at]]),
  ],
  [`{a: range(${ITEMS}), b: null}`, 'Tuple(Array(Int64), Nullable(String))', [numbers, null]],
  [
    `map_from_entries(list_transform(range(${ITEMS}), x -> {k: x, v: x % 2 = 0}))`,
    'Map(Int64, UInt8)',
    Object.fromEntries(numbers.map((at) => [at, at % 2 === 0 ? 1 : 0])),
  ],
  // Pieces of texts end within no character: each place of the pair is once at the end of one.
  [`'"' || repeat('a😀', 800_000)`, 'String', `"${'a😀'.repeat(800_000)}`],
  [`repeat('😀', 800_000) || 'ä'`, 'String', `${'😀'.repeat(800_000)}ä`],
]

describe('a long value', () => {
  test.each(LONG_VALUES)('%s is written whole', async (sql, type, value) => {
    const text = await writtenOf(`select ${sql} as v from range(2)`, [type])
    expect(JSON.parse(`[${text}]`)).toEqual([[value], [value]])
  })
})

describe('many rows', () => {
  test('are written in parts, with the same between all of them', async () => {
    const sql = `select range as n, repeat('x', 1000) as t from range(2000)`
    const text = await writtenOf(sql, ['Int64', 'String'])
    expect(text).toBe(
      numbers
        .slice(0, 2000)
        .map((at) => `[${at},"${'x'.repeat(1000)}"]`)
        .join(',\n'),
    )
  })

  test('of more columns than others have time to wait for are written in several turns', async () => {
    const columns = Array.from({ length: 3000 }, (_, index) => `'pageview' as c${index}`)
    const types = columns.map(() => 'String')
    const chunk = await chunkOf(`select ${columns.join(', ')} from range(100)`)
    const head = { columns, types, engine_types: [], timezone: 'UTC' }
    const csv = (await ROW_FORMS.csv())(head)
    const write = () => Array.fromAsync(rowWriter(types, 'UTC').writeChunk(chunk, 100))
    expect(await turnsDuring(write)).toBeGreaterThan(2)
    expect(await turnsDuring(() => csv.add(chunk, 100))).toBeGreaterThan(2)
  })

  test.each(['arrow', 'parquet'] as const)(
    'of many columns are several batches of %s, with turns between',
    async (form) => {
      const columns = Array.from({ length: 400 }, (_, index) => `range * ${index} as c${index}`)
      const result = await connection.stream(`select ${columns.join(', ')} from range(2048)`)
      const chunk = await result.fetchChunk()
      if (chunk === null) throw new Error('no rows')
      const types = columns.map(() => 'Int64')
      const engine_types = result.columnTypes()
      const sink = (await ROW_FORMS[form]())({ columns, types, engine_types, timezone: 'UTC' })
      let parts: readonly Uint8Array[] = []
      const turns = await turnsDuring(async () => {
        parts = await sink.add(chunk, 2048)
      })
      // 13 MB of values, 2 MiB at once.
      expect(parts.length).toBeGreaterThanOrEqual(5)
      expect(turns).toBeGreaterThanOrEqual(5)
    },
  )
})
