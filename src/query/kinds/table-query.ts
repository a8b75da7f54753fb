/** Turns a computed table into a worker query, so that the worker's row formats write it like any other answer. */

import { NO_READS } from '../../hogql/query-reads.ts'
import type { InsightTable } from '../../insights/table.ts'
import { mapInSlices, writeArray } from '../../threads/sliced-json.ts'
import type { RowForm, WorkerQuery } from '../engine/protocol.ts'

type TableOptions = {
  readonly project_id: number
  readonly timezone: string
  readonly form: RowForm
  readonly rows_max: number
}

/** A column that is sent as JSON and read back as a DuckDB column. */
type TransferColumn = {
  /** ClickHouse type name. */
  readonly type: string
  /** DuckDB type of the JSON value. */
  readonly engine_type: 'BIGINT' | 'BOOLEAN' | 'DATE' | 'DOUBLE' | 'VARCHAR'
  readonly write: (value: unknown) => unknown
  /** Converts the SQL of the JSON value to the SQL of the column. */
  readonly read: (sql: string) => string
}

/** Builds a query with a table's rows, in slices. Values without a column type are written as JSON text. */
export async function tableQuery(
  { columns, types, rows }: InsightTable,
  { project_id, timezone, form, rows_max }: TableOptions,
): Promise<WorkerQuery> {
  const transferred = await mapInSlices([...columns.keys()], (index) =>
    transferColumn(
      types[index] ?? '',
      rows.map((row) => row[index] ?? null),
    ),
  )
  const input = await writeArray(rows, (row) => {
    const cells = transferred.map(({ write }, index) => {
      const value = row[index] ?? null
      return [`c${index}`, value === null ? null : write(value)]
    })
    return [JSON.stringify(Object.fromEntries(cells))]
  })
  const shape = transferred.map(({ engine_type }, index) => `"c${index}":"${engine_type}"`)
  const list = transferred.map(({ read }, index) => `${read(`r.c${index}`)} as c${index}`)
  return {
    project_id,
    sql: `select ${list.join(', ')} from (select unnest(from_json($1, '[{${shape.join(',')}}]')) as r)`,
    values: [{ type: 'VARCHAR', text: Buffer.concat(input).toString() }],
    types: transferred.map(({ type }) => type),
    reads: NO_READS,
    timezone,
    rows_max,
    // A reader of the file could not see that rows are missing.
    more_is_too_many: true,
    parts: { form, columns },
  }
}

const unchanged = {
  write: (value: unknown): unknown => value,
  read: (sql: string): string => sql,
}

const TEXT: TransferColumn = { ...unchanged, type: 'String', engine_type: 'VARCHAR', write: textOf }
const NUMBER: TransferColumn = { ...unchanged, type: 'Float64', engine_type: 'DOUBLE' }
const TRUTH: TransferColumn = { ...unchanged, type: 'Bool', engine_type: 'BOOLEAN' }

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value)
}

type ColumnMapping = {
  readonly types: RegExp
  readonly fits: (value: unknown) => boolean
  readonly transferred: (type: string) => TransferColumn
}

/** Column types by ClickHouse type name; a line applies if all values fit. */
const COLUMN_MAPPINGS: readonly ColumnMapping[] = [
  {
    types: /^DateTime/,
    fits: (value) => instantUs(value) !== null,
    transferred: (type) => ({
      type,
      engine_type: 'BIGINT',
      write: instantUs,
      read: (sql) => `make_timestamp(${sql})`,
    }),
  },
  {
    types: /^Date/,
    fits: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value),
    transferred: (type) => ({ ...unchanged, type, engine_type: 'DATE' }),
  },
  {
    types: /^U?Int/,
    fits: Number.isSafeInteger,
    transferred: () => ({ ...unchanged, type: 'Int64', engine_type: 'BIGINT' }),
  },
  {
    types: /^(Float|Decimal)/,
    fits: (value) => typeof value === 'number',
    transferred: () => NUMBER,
  },
  { types: /^Bool/, fits: (value) => typeof value === 'boolean', transferred: () => TRUTH },
]

/** Chooses a column by its type name, or by its values. */
function transferColumn(type: string, column: readonly unknown[]): TransferColumn {
  const values = column.filter((value) => value !== null)
  const bare = type.replace(/^(?:(?:Nullable|LowCardinality)\()+/, '')
  const mapping = COLUMN_MAPPINGS.find(({ types, fits }) => types.test(bare) && values.every(fits))
  if (mapping !== undefined) return mapping.transferred(type)
  if (values.length === 0) return TEXT
  if (values.every((value) => typeof value === 'number')) return NUMBER
  return values.every((value) => typeof value === 'boolean') ? TRUTH : TEXT
}

/** ISO 8601 with an offset, of up to six digits of a second. */
const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)$/

/** Microseconds since 1970; null for anything that is no instant. */
function instantUs(value: unknown): number | null {
  const [, seconds, fraction = '', offset] = INSTANT.exec(String(value)) ?? []
  const ms = Date.parse(`${seconds}${offset}`)
  return Number.isFinite(ms) ? ms * 1000 + Number(fraction.padEnd(6, '0')) : null
}
