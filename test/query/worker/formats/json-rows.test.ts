/** DuckDB values on the wire, each asked of a real engine. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { QueryEngine } from '../../../../src/query/engine/engine.ts'
import { query, World } from '../../world.ts'

setDefaultTimeout(60_000)

const NOON = `timestamp '2024-07-01 12:00:00'`

/** [SQL, ClickHouse type, project zone, JSON text of the value] */
const CASES: readonly (readonly [string, string, string, string])[] = [
  ['null', 'Nullable(Nothing)', 'UTC', 'null'],
  ['true', 'Bool', 'UTC', 'true'],
  ['1 = 1', 'UInt8', 'UTC', '1'],
  ['1 = 2', 'Nullable(UInt8)', 'UTC', '0'],
  ['[true, false]', 'Array(UInt8)', 'UTC', '[1,0]'],
  ['[true, false]', 'Array(Bool)', 'UTC', '[true,false]'],
  ['42::utinyint', 'UInt8', 'UTC', '42'],
  ['9223372036854775807', 'Int64', 'UTC', '9223372036854775807'],
  ['(2::hugeint ** 100)::hugeint', 'Int128', 'UTC', '1267650600228229401496703205376'],
  ['18446744073709551615::ubigint', 'UInt64', 'UTC', '18446744073709551615'],
  ['1.5::double', 'Float64', 'UTC', '1.5'],
  ['1e300::double', 'Float64', 'UTC', '1e+300'],
  ['-0.0::double', 'Float64', 'UTC', '0'],
  [`'nan'::double`, 'Float64', 'UTC', 'null'],
  [`'-inf'::double`, 'Float64', 'UTC', 'null'],
  ['12.340::decimal(10, 3)', 'Decimal(10, 3)', 'UTC', '12.340'],
  ['-0.5::decimal(3, 2)', 'Decimal(3, 2)', 'UTC', '-0.50'],
  [`'a"b\\\n\u2028'`, 'String', 'UTC', JSON.stringify('a"b\\\n\u2028')],
  [`'{"a":1}'::json`, 'String', 'UTC', '"{\\"a\\":1}"'],
  [`'ab'::blob`, 'String', 'UTC', '"ab"'],
  [
    `'00112233-4455-6677-8899-AABBCCDDEEFF'::uuid`,
    'UUID',
    'UTC',
    '"00112233-4455-6677-8899-aabbccddeeff"',
  ],
  [
    `'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`,
    'UUID',
    'UTC',
    '"ffffffff-ffff-ffff-ffff-ffffffffffff"',
  ],
  [`date '2024-02-29'`, 'Date', 'Europe/Berlin', '"2024-02-29"'],
  [`date '0001-01-01'`, 'Date32', 'UTC', '"0001-01-01"'],
  [`'infinity'::date`, 'Date', 'UTC', 'null'],
  [NOON, 'DateTime', 'UTC', '"2024-07-01T12:00:00Z"'],
  [NOON, 'DateTime', 'Europe/Berlin', '"2024-07-01T14:00:00+02:00"'],
  [`${NOON} - interval 6 month`, 'DateTime', 'Europe/Berlin', '"2024-01-01T13:00:00+01:00"'],
  [NOON, `DateTime64(6, 'UTC')`, 'Europe/Berlin', '"2024-07-01T12:00:00Z"'],
  [NOON, `Nullable(DateTime64(6, 'Asia/Kathmandu'))`, 'UTC', '"2024-07-01T17:45:00+05:45"'],
  [NOON, `DateTime('America/St_Johns')`, 'UTC', '"2024-07-01T09:30:00-02:30"'],
  [
    `timestamp '2024-12-31 23:59:59.000001'`,
    'DateTime',
    'Asia/Tokyo',
    '"2025-01-01T08:59:59.000001+09:00"',
  ],
  [`timestamp '1969-12-31 23:59:59.5'`, 'DateTime', 'UTC', '"1969-12-31T23:59:59.500000Z"'],
  [`timestamp '1850-01-01 12:00:00'`, 'DateTime', 'Europe/Paris', '"1850-01-01T12:09:21+00:09:21"'],
  [`'infinity'::timestamp`, 'DateTime', 'UTC', 'null'],
  [`timestamp '294000-01-01 00:00:00'`, 'DateTime', 'UTC', '"9999-12-31T23:59:59.999999Z"'],
  [
    `timestamp '9999-12-31 23:00:00'`,
    'DateTime',
    'Europe/Paris',
    '"9999-12-31T23:59:59.999999+01:00"',
  ],
  [`date '5000-01-01 (BC)'`, 'Date', 'UTC', '"0001-01-01"'],
  ['[1, null, 3]', 'Array(Nullable(Int32))', 'UTC', '[1,null,3]'],
  [`[]::varchar[]`, 'Array(String)', 'UTC', '[]'],
  [`{'1': 'a', '2': 2.5::double}`, 'Tuple(String, Float64)', 'UTC', '["a",2.5]'],
  [
    `{'1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': 6, '7': 7, '8': 8, '9': 9, '10': 10, '11': true}`,
    `Tuple(Int8, Int8, Int8, Int8, Int8, Int8, Int8, Int8, Int8, Int8, UInt8)`,
    'UTC',
    '[1,2,3,4,5,6,7,8,9,10,1]',
  ],
  [
    `[{'1': ${NOON}, '2': [${NOON}]}]`,
    `Array(Tuple(DateTime('UTC'), Array(DateTime64(3, 'Asia/Tokyo'))))`,
    'UTC',
    '[["2024-07-01T12:00:00Z",["2024-07-01T21:00:00+09:00"]]]',
  ],
  [`map {'a': 1 = 1, 'b': null}`, 'Map(String, Nullable(UInt8))', 'UTC', '{"a":1,"b":null}'],
  ['map {1: [2]}', 'Map(Int32, Array(Int32))', 'UTC', '{"1":[2]}'],
  [`map {date '2024-07-01': 1}`, 'Map(Date, UInt8)', 'UTC', '{"2024-07-01":1}'],
  [`map {${NOON}: 1}`, `Map(DateTime, UInt8)`, 'Asia/Tokyo', '{"2024-07-01T21:00:00+09:00":1}'],
  [`map {['a']: 1}`, 'Map(Array(String), UInt8)', 'UTC', '{"[\\"a\\"]":1}'],
  [`'b'::enum('a', 'b')`, 'String', 'UTC', '"b"'],
]

describe('a row', () => {
  let world: World
  let engine: QueryEngine
  beforeAll(() => {
    world = new World()
    engine = world.openEngine()
  })
  afterAll(() => world[Symbol.asyncDispose]())

  test.each(CASES)('writes %s as %s in %s as %s', async (sql, type, timezone, text) => {
    const asked = query(`select ${sql}, $1`, { types: [type, 'Int64'], timezone })
    const { rows_json } = await engine.run(asked, { timeout_ms: 30_000 })
    expect(Buffer.from(rows_json).toString()).toBe(`[[${text},1]]`)
  })

  test('is one of as many as there are, over several chunks', async () => {
    const asked = query('select a::varchar, $1 from range(10000) t(a) order by a')
    const { rows_json, row_count } = await engine.run(asked, { timeout_ms: 30_000 })
    const rows = JSON.parse(Buffer.from(rows_json).toString())
    expect(row_count).toBe(10_000)
    expect(rows).toEqual(Array.from({ length: 10_000 }, (_, index) => [String(index), 1]))
  })

  test.each([
    ['BIGINT', '-9223372036854775808', '-9223372036854775808'],
    [
      'HUGEINT',
      '-170141183460469231731687303715884105728',
      '-170141183460469231731687303715884105728',
    ],
    ['DOUBLE', '-0', '0'],
    ['DOUBLE', 'Infinity', 'null'],
    ['DOUBLE', '5e-324', '5e-324'],
    ['BOOLEAN', 'false', 'false'],
    ['DATE', '-1', '"1969-12-31"'],
    ['TIMESTAMP', '-1', '"1969-12-31T23:59:59.999999Z"'],
    ['UUID', 'ffffffff-0000-0000-0000-000000000001', '"ffffffff-0000-0000-0000-000000000001"'],
    ['VARCHAR', `'; drop table tail; -- "\u0000`, JSON.stringify(`'; drop table tail; -- "\u0000`)],
    ['VARCHAR', null, 'null'],
  ])('gives a bound %s %s back', async (type, text, written) => {
    const sql = `select $2::${type}, $1`
    const asked = query(sql, { values: [{ type, text }] })
    const { rows_json } = await engine.run(asked, { timeout_ms: 30_000 })
    expect(Buffer.from(rows_json).toString()).toBe(`[[${written},1]]`)
  })
})
