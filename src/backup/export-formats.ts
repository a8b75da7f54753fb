/** The formats of exports: NDJSON and Parquet, with the same content. */

import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { textLiteral } from '../storage/duckdb/duckdb-text.ts'

/** A format, by the extension of its files. */
export const EXPORT_FORMATS = ['jsonl', 'parquet'] as const

export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** Writes the rows of a SELECT into a new file; returns their number. */
type Write = (connection: DuckDBConnection, select: string, path: string) => Promise<number>

/** The writer of each format. */
export const WRITERS: Readonly<Record<ExportFormat, Write>> = {
  jsonl: writeLines,
  parquet: async (connection, select, path) => {
    const written = await connection.run(
      `copy (${select}) to ${textLiteral(path)} (format parquet, compression zstd)`,
    )
    return written.rowsChanged
  },
}

/** Columns with JSON text, which is written unchanged. */
const JSON_COLUMNS: ReadonlySet<string> = new Set(['properties'])

/**
 * The lines that a SELECT's rows make, a chunk of rows at a time: columns that are NULL are left out, times are ISO 8601
 * in UTC.
 */
export async function* streamLines(
  connection: DuckDBConnection,
  select: string,
): AsyncGenerator<readonly string[]> {
  const result = await connection.stream(selectLines(await columnsOf(connection, select), select))
  for await (const rows of result.yieldRows()) yield rows.map(([line]) => String(line))
}

async function writeLines(
  connection: DuckDBConnection,
  select: string,
  path: string,
): Promise<number> {
  const out = createWriteStream(path)
  let count = 0
  for await (const lines of streamLines(connection, select)) {
    count += lines.length
    if (!out.write(`${lines.join('\n')}\n`)) await once(out, 'drain')
  }
  out.end()
  await finished(out)
  return count
}

type NamedType = { readonly name: string; readonly type: string }

async function columnsOf(
  connection: DuckDBConnection,
  select: string,
): Promise<readonly NamedType[]> {
  const described = await connection.runAndReadAll(`describe ${select}`)
  return described.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }))
}

function selectLines(columns: readonly NamedType[], select: string): string {
  const members = columns.map(({ name, type }) => {
    const value = JSON_COLUMNS.has(name)
      ? `"${name}"`
      : `to_json(${printColumn(name, type)})::varchar`
    return `${textLiteral(`${JSON.stringify(name)}:`)} || ${value}`
  })
  return `select '{' || concat_ws(',', ${members.join(', ')}) || '}' from (${select})`
}

const printColumn = (name: string, type: string): string =>
  type === 'TIMESTAMP' ? `strftime("${name}", '%Y-%m-%dT%H:%M:%S.%fZ')` : `"${name}"`
