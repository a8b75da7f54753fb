/** A table that is there already, as a query to the engine: so it is written by what writes all other rows. */
import type { InsightTable } from '../../insights/table.ts'
import type { RowForm, WorkerQuery } from '../engine/protocol.ts'

type TableOptions = {
  readonly project_id: number
  readonly timezone: string
  readonly form: RowForm
  readonly rows_max: number
}

/** How a column crosses the pipe in JSON, and what it is on the other side. */
type CarriedColumn = {
  /** ClickHouse's name. */
  readonly type: string
  /** The engine's type of the JSON value. */
  readonly engine_type: 'BIGINT' | 'BOOLEAN' | 'DATE' | 'DOUBLE' | 'VARCHAR'
  readonly write: (value: unknown) => unknown
  /** The column of what was read from JSON. */
  readonly read: (sql: string) => string
}

/** A query whose rows are those of a table. What has no type of its own in files is written as JSON text. */
export function tableQuery(
  { columns, types, rows }: InsightTable,
  { project_id, timezone, form, rows_max }: TableOptions,
): WorkerQuery {
  const carried = columns.map((_, index) =>
    carriedAs(
      types[index] ?? '',
      rows.map((row) => row[index] ?? null),
    ),
  )
  const input = rows.map((row) =>
    Object.fromEntries(
      carried.map(({ write }, index) => {
        const value = row[index] ?? null
        return [`c${index}`, value === null ? null : write(value)]
      }),
    ),
  )
  const shape = carried.map(({ engine_type }, index) => `"c${index}":"${engine_type}"`)
  const list = carried.map(({ read }, index) => `${read(`r.c${index}`)} as c${index}`)
  return {
    project_id,
    sql: `select ${list.join(', ')} from (select unnest(from_json($1, '[{${shape.join(',')}}]')) as r)`,
    values: [{ type: 'VARCHAR', text: JSON.stringify(input) }],
    types: carried.map(({ type }) => type),
    reads: [],
    timezone,
    rows_max,
    // Whoever reads a file does not see that it ends too early.
    more_is_too_many: true,
    parts: { form, columns },
  }
}

const asIs = {
  write: (value: unknown): unknown => value,
  read: (sql: string): string => sql,
}

const TEXT: CarriedColumn = { ...asIs, type: 'String', engine_type: 'VARCHAR', write: textOf }
const NUMBER: CarriedColumn = { ...asIs, type: 'Float64', engine_type: 'DOUBLE' }
const TRUTH: CarriedColumn = { ...asIs, type: 'Bool', engine_type: 'BOOLEAN' }

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value)
}

type ColumnMapping = {
  readonly types: RegExp
  readonly fits: (value: unknown) => boolean
  readonly carried: (type: string) => CarriedColumn
}

/** Types that are known before any value; they hold if every value is what they say. */
const WAYS: readonly ColumnMapping[] = [
  {
    types: /^DateTime/,
    fits: (value) => instantUs(value) !== null,
    carried: (type) => ({
      type,
      engine_type: 'BIGINT',
      write: instantUs,
      read: (sql) => `make_timestamp(${sql})`,
    }),
  },
  {
    types: /^Date/,
    fits: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value),
    carried: (type) => ({ ...asIs, type, engine_type: 'DATE' }),
  },
  {
    types: /^U?Int/,
    fits: Number.isSafeInteger,
    carried: () => ({ ...asIs, type: 'Int64', engine_type: 'BIGINT' }),
  },
  {
    types: /^(Float|Decimal)/,
    fits: (value) => typeof value === 'number',
    carried: () => NUMBER,
  },
  { types: /^Bool/, fits: (value) => typeof value === 'boolean', carried: () => TRUTH },
]

/** By the type that is known, else by what the values are. */
function carriedAs(type: string, column: readonly unknown[]): CarriedColumn {
  const values = column.filter((value) => value !== null)
  const bare = type.replace(/^(?:(?:Nullable|LowCardinality)\()+/, '')
  const way = WAYS.find(({ types, fits }) => types.test(bare) && values.every(fits))
  if (way !== undefined) return way.carried(type)
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
