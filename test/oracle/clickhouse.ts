/** ClickHouse inside this process (chdb), asked for a value, its type, or the rows of a query. */

import type { Json } from '@duckdb/node-api'

/** What a query gives: rows as JSON, or why it was refused. */
export type Reply =
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'rows'; readonly types: readonly string[]; readonly rows: readonly Json[][] }

type Session = { query(sql: string, format: string): string }
type Chdb = { readonly Session: new () => Session }

/** Names that only HogQL has, as ClickHouse functions, so that one text serves both engines. */
const NAMES: readonly string[] = [
  "toInt as x -> accurateCastOrNull(x, 'Int64')",
  "toFloat as x -> accurateCastOrNull(x, 'Float64')",
  'toIntOrZero as x -> toInt64OrZero(x)',
  'toFloatOrZero as x -> toFloat64OrZero(x)',
  'toFloatOrNull as x -> toFloat64OrNull(x)',
  'md5 as x -> hex(MD5(x))',
  'split_part as (s, d, n) -> splitByString(d, s)[n]',
]

/** As the real system asks it, and with JOINs and floats as JSON can show them. */
const SETTINGS =
  'transform_null_in = 1, join_use_nulls = 1, group_by_use_nulls = 1, output_format_json_quote_denormals = 1, ' +
  'output_format_json_quote_64bit_integers = 1, allow_experimental_window_functions = 1, ' +
  "allow_suspicious_low_cardinality_types = 1, output_format_json_named_tuples_as_objects = 0, date_time_output_format = 'iso'"

/** Opens a session. chdb must have been installed by `bun run oracle`: it is no dependency, for its size. */
export async function openClickHouse(): Promise<ClickHouse> {
  const wanted = 'chdb'
  const loaded: { readonly default: Chdb } = await import(wanted)
  return new ClickHouse(new loaded.default.Session())
}

/** One session, its zone standing for the project's. */
export class ClickHouse {
  readonly #session: Session
  #timezone = ''

  constructor(session: Session) {
    this.#session = session
    this.run(`set ${SETTINGS}`)
    for (const name of NAMES) this.run(`create function if not exists ${name}`)
  }

  /** Runs a statement that gives no rows. Throws what ClickHouse refuses. */
  run(sql: string): void {
    this.#session.query(sql, 'CSV')
  }

  /** Answers a query in a zone. */
  ask(sql: string, timezone: string): Reply {
    try {
      if (timezone !== this.#timezone) this.run(`set session_timezone = '${timezone}'`)
      this.#timezone = timezone
      if (/with totals/i.test(sql)) return this.#askTotals(sql)
      const lines = this.#session.query(sql, 'JSONCompactEachRowWithNamesAndTypes').split('\n')
      const [, types, ...rows] = lines.filter((line) => line !== '').map(readRow)
      return { kind: 'rows', types: (types ?? []).map(String), rows }
    } catch (error) {
      return { kind: 'refused', why: String(error).slice(0, 200) }
    }
  }

  /** Totals stand beside the rows there; here they are the last row. */
  #askTotals(sql: string): Reply {
    const told: Told = JSON.parse(this.#session.query(sql, 'JSONCompact'))
    const types = told.meta.map(({ type }) => type)
    return { kind: 'rows', types, rows: [...told.data, [...told.totals]].map((row) => [...row]) }
  }
}

type Told = {
  readonly meta: readonly { readonly type: string }[]
  readonly data: readonly Json[][]
  readonly totals: readonly Json[]
}

function readRow(line: string): Json[] {
  const row: Json = JSON.parse(line)
  if (!Array.isArray(row)) throw new Error(`no row: ${line}`)
  return [...row]
}
