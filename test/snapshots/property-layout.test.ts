/** Packed files: properties come back byte for byte, however they were spelled. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import * as fc from 'fast-check'
import { prepareContent } from '../../src/snapshots/writer/content.ts'
import { openInstance } from '../../src/storage/duckdb/duckdb.ts'
import {
  columnName,
  fromJson,
  type PropertyColumn,
  sortColumns,
} from '../../src/storage/files/property-columns.ts'
import { unpackProperties } from '../../src/storage/files/property-layout.ts'
import { EVENT_COLUMNS } from '../../src/storage/files/replication-sources.ts'

setDefaultTimeout(60_000)

const COLUMNS = sortColumns([
  { kind: 'text', name: 'a' },
  { kind: 'number', name: 'A' },
  { kind: 'boolean', name: '__proto__' },
  { kind: 'number', name: 'b' },
  { kind: 'boolean', name: 'c' },
  { kind: 'text', name: 'd/e~"f' },
  { kind: 'number', name: 'é\u2028' },
] satisfies PropertyColumn[])

/** What is spelled in more than one way, or read in more than one. */
const ODD_KEYS = ['x', '', 'a\u001fb', 'a\u001eb', 'a\u0000', '1', '$']
const ODD_VALUES = [
  ['1', '-0', '1.0', '1.50', '1e5', '1E+2', '0.1', '1e15', '1e16', '1e-7', '1e400'],
  ['12345678901234567890', '123456789012345678901234567890', 'true', 'false', 'null'],
  ['"true"', '"5"', '"\\u0000"', '"a\\/b"', '"\\u00e9"', '"\u007f"', '""', ' 1'],
  ['[]', '{}', '[1, 2]', '[1,2]', '{"a":null,"a":1}'],
].flat()

const key = fc.oneof(
  fc.constantFrom(...COLUMNS.map(({ name }) => name)),
  fc.constantFrom(...ODD_KEYS),
)
const value = fc.oneof(
  fc.constantFrom(...ODD_VALUES),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
)
const member = fc.tuple(key, value).map(([name, text]) => `${JSON.stringify(name)}:${text}`)
const properties = fc.array(member, { maxLength: 6 }).map((members) => `{${members.join(',')}}`)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-packing-'))
let connection: DuckDBConnection

beforeAll(async () => {
  const instance = await openInstance({ memory_mb: 512, threads: 1, spill_dir: folder })
  connection = await instance.connect()
})
afterAll(() => {
  connection.closeSync()
  rmSync(folder, { recursive: true, force: true })
})

/** What the rows with these properties read as, and how many of them are taken apart. */
async function packAndUnpack(sent: readonly string[]): Promise<{ read: string[]; apart: number }> {
  const columns = EVENT_COLUMNS.map(([name, type]) => `"${name}" ${type}`).join(', ')
  await connection.run(`create or replace table log (${columns})`)
  for (const [seq, text] of sent.entries()) {
    await connection.run('insert into log (seq, properties) values ($1, $2)', [seq, text])
  }
  const content = await prepareContent({ source: 'log', columns: COLUMNS }, connection)
  const rows = await connection.runAndReadAll(
    `select ${unpackProperties(content.columns)}, shape is not null from (${content.select}) order by seq`,
  )
  const all = rows.getRows()
  return {
    read: all.map(([text]) => String(text)),
    apart: all.filter(([, is_apart]) => is_apart === true).length,
  }
}

test('come back as they were sent, whatever they are', async () => {
  const sent = fc.sample(properties, 600)
  const { read, apart } = await packAndUnpack(sent)
  expect(read).toEqual(sent)
  expect(apart).toBeGreaterThan(20)
})

test('have in their columns what their JSON says, and nothing where it says nothing', async () => {
  const numbers = ['1e21', '1.7976931348623157e308', '5e-324', '-1.5e-10', '123456789.123456789']
  const sent = [
    ...fc.sample(properties, 600),
    ...[...numbers, 'true', 'false', '"true"', '{"a":[1]}'].flatMap((json) =>
      COLUMNS.map(({ name }) => `{${JSON.stringify(name)}:${json}}`),
    ),
  ]
  await packAndUnpack(sent)
  const { select } = await prepareContent({ source: 'log', columns: COLUMNS }, connection)
  for (const column of COLUMNS) {
    const found = await connection.runAndReadAll(`
select count(*), count(parsed) from (
  select p."${columnName(column)}" as kept, ${fromJson(column, 'log.properties')} as parsed
  from (${select}) as p join log using (seq)
) where kept is not distinct from parsed`)
    const [same, values] = (found.getRows()[0] ?? []).map(Number)
    expect([column.name, same]).toEqual([column.name, sent.length])
    expect(values).toBeGreaterThan(2)
  }
})

test('are taken apart when they are spelled in the usual way, and only then', async () => {
  const usual = ['{"a":"x","b":1.5,"c":true}', '{"c":false,"x":{"y":[1,"2"]},"b":-3}', '{"a":5}']
  expect(await packAndUnpack(usual)).toEqual({ read: usual, apart: usual.length })
  const unusual = ['{"a": "x"}', '{"a":"x","a":"y"}', '{"b":1.50}', '{"a\\u001fb":1}', '{}']
  expect(await packAndUnpack(unusual)).toEqual({ read: unusual, apart: 0 })
})
