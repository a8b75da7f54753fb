/** Files of all rows of a query, which the server streams to the browser's downloads. */
import type { AnyQuery } from './calls/ask.ts'
import { call } from './calls/call.ts'

/** ROW_FILES: files that the server writes row by row, however many there are. */
export const ROW_FILES = [
  { format: 'csv', text: 'CSV', ending: 'csv' },
  { format: 'xlsx', text: 'Excel', ending: 'xlsx' },
  { format: 'ndjson', text: 'JSON lines', ending: 'jsonl' },
  { format: 'arrow', text: 'Arrow', ending: 'arrows' },
  { format: 'parquet', text: 'Parquet', ending: 'parquet' },
] as const

export type RowFileFormat = (typeof ROW_FILES)[number]

/**
 * Begins an export; returns the path from which the browser downloads the file, once and soon. Aborting before stops the
 * query. Throws ApiError.
 */
export async function beginExport(
  project_id: number,
  query: AnyQuery,
  { format, signal }: { readonly format: RowFileFormat['format']; readonly signal: AbortSignal },
): Promise<string> {
  const path = `/api/projects/${project_id}/query/download/`
  const options = { query: { format }, body: { query }, signal }
  return (await call<{ readonly path: string }>('POST', path, options)).path
}
