/** Answers as Arrow and Parquet: what DuckDB and Arrow's own reader find in them is what was asked for. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { type Table, tableFromIPC } from 'apache-arrow'
import type { QueryEngine } from '../../../../src/query/engine/engine.ts'
import type { RowForm } from '../../../../src/query/engine/protocol.ts'
import { query, World } from '../../world.ts'

setDefaultTimeout(60_000)

let world: World
let engine: QueryEngine
let reader: DuckDBConnection
beforeAll(async () => {
  world = new World()
  engine = world.openEngine()
  reader = await (await DuckDBInstance.create(':memory:')).connect()
})
afterAll(() => world[Symbol.asyncDispose]())

type Asked = {
  readonly columns: readonly string[]
  readonly types: readonly string[]
  readonly timezone?: string
}

/** Everything that came, and in how many parts. */
async function partsOf(sql: string, form: RowForm, { columns, types, timezone = 'UTC' }: Asked) {
  const parts: Uint8Array[] = []
  const asked = query(sql, { types, timezone, rows_max: 1_000_000, parts: { form, columns } })
  await engine.run(asked, {
    timeout_ms: 50_000,
    onPart: async (bytes) => {
      parts.push(Uint8Array.from(bytes))
    },
  })
  return { bytes: Buffer.concat(parts), part_count: parts.length }
}

async function rowsOf(sql: string): Promise<unknown[][]> {
  const result = await reader.runAndReadAll(sql)
  return result.getRowsJson()
}

let files = 0
function fileWith(bytes: Uint8Array): string {
  files += 1
  const path = join(world.data_dir, `${files}.parquet`)
  writeFileSync(path, bytes)
  return `'${path}'`
}

const NOON = `timestamp '2024-07-01 12:00:00.123456'`

/** [SQL, ClickHouse type, DuckDB's type of the Parquet column, Arrow's type, the value as Arrow's reader shows it] */
const CASES: readonly (readonly [string, string, string, string, string])[] = [
  ['null::varchar', 'Nullable(String)', 'VARCHAR', 'Utf8', 'null'],
  ['true', 'Bool', 'BOOLEAN', 'Bool', 'true'],
  ['1 = 1', 'UInt8', 'UTINYINT', 'Uint8', '1'],
  ['(-8)::tinyint', 'Int8', 'TINYINT', 'Int8', '-8'],
  ['(-300)::smallint', 'Int16', 'SMALLINT', 'Int16', '-300'],
  ['65535::usmallint', 'UInt16', 'USMALLINT', 'Uint16', '65535'],
  ['(-70000)::integer', 'Int32', 'INTEGER', 'Int32', '-70000'],
  ['4294967295::uinteger', 'UInt32', 'UINTEGER', 'Uint32', '4294967295'],
  ['-9223372036854775807', 'Int64', 'BIGINT', 'Int64', '-9223372036854775807'],
  ['18446744073709551615::ubigint', 'UInt64', 'UBIGINT', 'Uint64', '18446744073709551615'],
  [
    '(-(2::hugeint ** 100))::hugeint',
    'Int128',
    'DECIMAL(38,0)',
    'Decimal[38e0]',
    '-1267650600228229401496703205376',
  ],
  ['0.1::double', 'Float64', 'DOUBLE', 'Float64', '0.1'],
  ['0.5::float', 'Float32', 'FLOAT', 'Float32', '0.5'],
  [`'nan'::double`, 'Float64', 'DOUBLE', 'Float64', 'NaN'],
  ['-12.340::decimal(10, 3)', 'Decimal(10, 3)', 'DECIMAL(10,3)', 'Decimal[10e+3]', '-12340'],
  [
    '99999999999999999999999999.99::decimal(38, 2)',
    'Decimal(38, 2)',
    'DECIMAL(38,2)',
    'Decimal[38e+2]',
    '9999999999999999999999999999',
  ],
  [`'ä"\\,\n🌊' || chr(0)`, 'String', 'VARCHAR', 'Utf8', 'ä"\\,\n🌊\u0000'],
  [`''`, 'String', 'VARCHAR', 'Utf8', ''],
  [`'{"a":1}'::json`, 'String', 'VARCHAR', 'Utf8', '{"a":1}'],
  [`'\\x00\\xFF'::blob`, 'String', 'BLOB', 'Binary', '0,255'],
  [
    `'00112233-4455-6677-8899-aabbccddeeff'::uuid`,
    'UUID',
    'UUID',
    'FixedSizeBinary[16]',
    '0,17,34,51,68,85,102,119,136,153,170,187,204,221,238,255',
  ],
  [`date '1969-12-30'`, 'Date', 'DATE', 'Date32<DAY>', '-172800000'],
  [
    `'infinity'::timestamp`,
    'DateTime',
    'TIMESTAMP WITH TIME ZONE',
    'Timestamp<MICROSECOND, Europe/Berlin>',
    'null',
  ],
  [
    NOON,
    `DateTime64(6, 'UTC')`,
    'TIMESTAMP WITH TIME ZONE',
    'Timestamp<MICROSECOND, UTC>',
    '1719835200123.456',
  ],
  [`[1, null, 3]`, 'Array(Nullable(Int32))', 'INTEGER[]', 'List<Int32>', '[1,null,3]'],
  [`[]::varchar[]`, 'Array(String)', 'VARCHAR[]', 'List<Utf8>', '[]'],
  [
    `[['a'], [], null]`,
    'Array(Array(String))',
    'VARCHAR[][]',
    'List<List<Utf8>>',
    '[["a"],[],null]',
  ],
  [
    `{'1': 'a', '2': 2.5::double, '3': [1 = 1]}`,
    'Tuple(String, Float64, Array(UInt8))',
    'STRUCT("1" VARCHAR, "2" DOUBLE, "3" UTINYINT[])',
    'Struct<{1:Utf8, 2:Float64, 3:List<Uint8>}>',
    '{"1":"a","2":2.5,"3":[1]}',
  ],
  [
    `[{'1': 'a', '2': null::bigint}, null]`,
    'Array(Tuple(String, Nullable(Int64)))',
    'STRUCT("1" VARCHAR, "2" BIGINT)[]',
    'List<Struct<{1:Utf8, 2:Int64}>>',
    '[{"1":"a","2":null},null]',
  ],
  [
    `map {'a': [1::bigint], 'b': null}`,
    'Map(String, Array(Int64))',
    'MAP(VARCHAR, BIGINT[])',
    'Map<{key:Utf8, value:List<Int64>}>',
    '{"a":["1"],"b":null}',
  ],
  [`'b'::enum('a', 'b')`, 'String', 'VARCHAR', 'Utf8', 'b'],
]

/** What a value is compared as where the file has another type for the same. */
const SAME: Readonly<Record<string, (sql: string) => string>> = {
  'TIMESTAMP WITH TIME ZONE': (sql) => `nullif(timezone('UTC', ${sql}), 'infinity'::timestamptz)`,
  'DECIMAL(38,0)': (sql) => `(${sql})::decimal(38, 0)`,
}

function shown(value: unknown): string {
  if (value === null || typeof value !== 'object') return String(value)
  if (value instanceof Uint8Array) return String(value)
  if (value instanceof Uint32Array) return unscaledText(value)
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part))
}

/** Arrow's reader gives a decimal as four words, the least significant first. */
function unscaledText(words: Uint32Array): string {
  const unsigned = [...words].reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n)
  return String(BigInt.asIntN(128, unsigned))
}

describe('a value', () => {
  test.each(CASES)('%s of type %s is a %s in Parquet', async (sql, type, parquet_type) => {
    const { bytes } = await partsOf(`select ${sql}, $1`, 'parquet', {
      columns: ['v', 'n'],
      types: [type, 'Int64'],
    })
    const file = fileWith(bytes)
    const [[, found_type] = []] = await rowsOf(`describe select v from read_parquet(${file})`)
    expect(found_type).toBe(parquet_type)
    const same = (SAME[parquet_type] ?? String)(sql)
    const compared = `select v is not distinct from ${same}, n, count(*) over () from read_parquet(${file})`
    expect(await rowsOf(compared)).toEqual([[true, '1', '1']])
  })

  test.each(CASES)('%s of type %s, a %s, is a %s in Arrow, and there %j', async (...row) => {
    const [sql, type, , arrow_type, text] = row
    const { bytes } = await partsOf(`select ${sql}, $1`, 'arrow', {
      columns: ['v', 'n'],
      types: [type, 'Int64'],
      timezone: 'Europe/Berlin',
    })
    const table = tableFromIPC(bytes)
    expect(table.numRows).toBe(1)
    const column = table.getChildAt(0)
    expect(String(column?.type)).toBe(arrow_type)
    expect(shown(column?.get(0))).toBe(text)
    expect(table.getChildAt(1)?.get(0)).toBe(1n)
  })
})

test('an instant has its zone in Arrow, microseconds and all; a uuid says that it is one', async () => {
  const { bytes } = await partsOf(`select ${NOON}, ${NOON}, uuid() where $1 = 1`, 'arrow', {
    columns: ['of_project', 'of_type', 'id'],
    types: ['DateTime', `DateTime64(6, 'Asia/Tokyo')`, 'UUID'],
    timezone: 'Europe/Berlin',
  })
  const { fields } = tableFromIPC(bytes).schema
  expect(fields.map(({ type }) => type.timezone)).toEqual([
    'Europe/Berlin',
    'Asia/Tokyo',
    undefined,
  ])
  expect(fields[2]?.metadata.get('ARROW:extension:name')).toBe('arrow.uuid')
})

const MANY = `select a, case when a % 3 = 0 then null else 'text ' || a end, [a, null],
  case when a % 5 = 0 then null else {'1': a, '2': [a::varchar]} end from range(120000) t(a) where $1 = 1 order by a`
const MANY_TYPES = ['Int64', 'String', 'Array(Int64)', 'Tuple(Int64, Array(String))']

test('many rows are row groups in Parquet, and all of them are there', async () => {
  const asked = { columns: ['a', 'b', 'c', 'd'], types: MANY_TYPES }
  const { bytes, part_count } = await partsOf(MANY, 'parquet', asked)
  expect(part_count).toBeGreaterThan(2)
  const file = fileWith(bytes)
  const difference = `with f as (select * from read_parquet(${file})), q as (${MANY.replace('$1', '1')})
    select (select count(*) from f), (select count(*) from (from f except all from q)),
      (select count(distinct row_group_id) from parquet_metadata(${file}))`
  expect(await rowsOf(difference)).toEqual([['120000', '0', '8']])
})

test('many rows are record batches in Arrow, and all of them are there', async () => {
  const asked = { columns: ['a', 'b', 'c', 'd'], types: MANY_TYPES }
  const { bytes, part_count } = await partsOf(MANY, 'arrow', asked)
  expect(part_count).toBeGreaterThan(10)
  const table: Table = tableFromIPC(bytes)
  expect([table.numRows, table.batches.length]).toEqual([120_000, part_count])
  for (const row of [0, 1, 4, 10_239, 119_999]) {
    const cells = [0, 1, 2, 3].map((index) => shown(table.getChildAt(index)?.get(row)))
    expect(cells).toEqual([
      String(row),
      row % 3 === 0 ? 'null' : `text ${row}`,
      `["${row}",null]`,
      row % 5 === 0 ? 'null' : `{"1":"${row}","2":["${row}"]}`,
    ])
  }
})

test('an answer without rows still says what its columns are', async () => {
  const asked = { columns: ['a', 'a', 'b.c'], types: ['Int64', 'String', 'Array(String)'] }
  const none = `select 1::bigint, 'x', ['y'] where $1 = 2`
  const parquet = fileWith((await partsOf(none, 'parquet', asked)).bytes)
  expect(await rowsOf(`select count(*) from read_parquet(${parquet})`)).toEqual([['0']])
  const described = await rowsOf(`describe from read_parquet(${parquet})`)
  expect(described.map(([name, type]) => [name, type])).toEqual([
    ['a', 'BIGINT'],
    ['a_2', 'VARCHAR'],
    ['b.c', 'VARCHAR[]'],
  ])
  const { schema, numRows } = tableFromIPC((await partsOf(none, 'arrow', asked)).bytes)
  expect([numRows, ...schema.fields.map(({ name }) => name)]).toEqual([0, 'a', 'a_2', 'b.c'])
})

test.each(['arrow', 'parquet'] as const)('%s refuses an integer of 39 digits', async (form) => {
  const asked = { columns: ['a'], types: ['Int128'] }
  const answer = partsOf(`select '1${'0'.repeat(38)}'::hugeint * $1`, form, asked)
  expect(await answer.catch((error) => error.code)).toBe('query_failed')
})
