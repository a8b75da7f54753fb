/** Answers as workbooks: what a reader of ZIP and XML finds in them is what was asked for. */
import { describe, expect, test } from 'bun:test'
import { DuckDBInstance } from '@duckdb/node-api'
import * as fc from 'fast-check'
import { strFromU8, unzipSync } from 'fflate'
import { xlsxSink } from '../../../../src/query/worker/formats/xlsx-rows.ts'
import { codePoint } from '../../../code-points.ts'
import { randomRuns } from '../../../random-runs.ts'

const LIMITS = { sheet_rows_max: 100, bytes_max: 10_000_000 }

type Sheets = Readonly<Record<string, string>>

/** Writes the rows of a SELECT; returns the files of the workbook by name. */
async function bookOf(
  sql: string,
  types: readonly string[],
  sheet_rows_max = 100,
): Promise<Sheets> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const result = await connection.run(sql)
  const columns = result.columnNames()
  const sink = xlsxSink({ ...LIMITS, columns, types, timezone: 'UTC', sheet_rows_max })
  const parts: Uint8Array[] = []
  for await (const chunk of result) parts.push(...(await sink.add(chunk, chunk.rowCount)))
  parts.push(...sink.end())
  const files = Object.entries(unzipSync(Buffer.concat(parts)))
  return Object.fromEntries(files.map(([name, bytes]) => [name, strFromU8(bytes)]))
}

const CELL =
  /<c\/>|<c><v>([^<]*)<\/v><\/c>|<c t="b"><v>([01])<\/v><\/c>|<c t="inlineStr"><is><t[^>]*>([^<]*)<\/t><\/is><\/c>/g
const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&amp;': '&' }

/** The cells of a sheet, as a spreadsheet reads them. */
function cellsOf(sheet = ''): readonly (readonly unknown[])[] {
  return [...sheet.matchAll(/<row>(.*?)<\/row>/gs)].map(([, row = '']) =>
    [...row.matchAll(CELL)].map(([, number, boolean, text]) => {
      if (number !== undefined) return Number(number)
      if (boolean !== undefined) return boolean === '1'
      return text === undefined ? null : readText(text)
    }),
  )
}

const readText = (text: string): string =>
  text
    .replaceAll(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity] ?? '')
    .replaceAll(/_x([0-9A-F]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))

describe('a workbook', () => {
  test('has each value as a cell of its type, and nothing that is evaluated', async () => {
    const sql = `select 1::bigint as n, 2.5 as f, true as b, null::varchar as nothing, '=1+1<&>' as "t<",
      9007199254740993::bigint as long, [1, 2] as list, timestamp '2024-07-01 12:00:00' as at`
    const types = [
      'Int64',
      'Float64',
      'Bool',
      'Nullable(String)',
      'String',
      'Int64',
      'Array(Int32)',
    ]
    const book = await bookOf(sql, [...types, "DateTime64(6, 'UTC')"])
    expect(cellsOf(book['xl/worksheets/sheet1.xml'])).toEqual([
      ['n', 'f', 'b', 'nothing', 't<', 'long', 'list', 'at'],
      [1, 2.5, true, null, '=1+1<&>', '9007199254740993', '[1,2]', '2024-07-01T12:00:00Z'],
    ])
    expect(Object.keys(book).toSorted()).toEqual([
      '[Content_Types].xml',
      '_rels/.rels',
      'xl/_rels/workbook.xml.rels',
      'xl/workbook.xml',
      'xl/worksheets/sheet1.xml',
    ])
  })

  test('continues on the next sheet, under the same head', async () => {
    const book = await bookOf('select range as n from range(5)', ['Int64'], 3)
    const sheets = [1, 2, 3, 4].map((id) => cellsOf(book[`xl/worksheets/sheet${id}.xml`]))
    expect(sheets).toEqual([[['n'], [0], [1]], [['n'], [2], [3]], [['n'], [4]], []])
    expect(book['xl/workbook.xml']).toContain('name="Sheet3"')
    expect(book['[Content_Types].xml']).toContain('/xl/worksheets/sheet3.xml')
  })

  test('of no rows is a head alone', async () => {
    const book = await bookOf('select 1 as n where false', ['Int32'])
    expect(cellsOf(book['xl/worksheets/sheet1.xml'])).toEqual([['n']])
  })

  test('refuses more than a ZIP file holds', async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const result = await connection.run("select repeat('x', 1000) as t from range(400)")
    const head = { columns: ['t'], types: ['String'], timezone: 'UTC' }
    const sink = xlsxSink({ ...head, sheet_rows_max: 100, bytes_max: 300_000 })
    const chunk = await result.fetchChunk()
    if (chunk === null) throw new Error('no rows')
    const write = async (): Promise<unknown> => [await sink.add(chunk, chunk.rowCount), sink.end()]
    expect(write()).rejects.toThrow('A workbook holds at most 4 GB.')
  })

  test('gives any texts back, and is XML whatever they are', async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const texts = fc.array(fc.string({ unit: codePoint, maxLength: 40 }), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(texts, async (drawn) => {
        // DuckDB's JSON has no NUL in a text.
        const rows = drawn.map((text) => text.replaceAll('\0', ''))
        const result = await connection.run('select unnest($1::json::varchar[]) as t', [
          JSON.stringify(rows),
        ])
        const sink = xlsxSink({ ...LIMITS, columns: ['t'], types: ['String'], timezone: 'UTC' })
        const parts: Uint8Array[] = []
        for await (const chunk of result) parts.push(...(await sink.add(chunk, chunk.rowCount)))
        const book = unzipSync(Buffer.concat([...parts, ...sink.end()]))
        const sheet = strFromU8(book['xl/worksheets/sheet1.xml'] ?? new Uint8Array())
        expect(cellsOf(sheet).slice(1)).toEqual(rows.map((text) => [text]))
        // oxlint-disable-next-line no-control-regex
        expect(sheet).not.toMatch(/[\0-\u0008\u000b-\u001f\uffff]/)
      }),
      randomRuns(4),
    )
  })
})
