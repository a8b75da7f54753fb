/** Columns that travel from ClickHouse to the query process in a Parquet file: their types there, in the file and here. */

import { groupKeyIdentity } from '../resolve/grouping.ts'
import {
  type ColumnExpr,
  type Output,
  queryColumns,
  type ResolvedExpr,
  type Statement,
  selectFrom,
} from '../sql/ir.ts'
import { bindInt, joinFragments, NULL_VALUE, sql } from '../sql/sql-fragments.ts'
import { duckdbName, STRING, type Type, UNKNOWN } from '../types/types.ts'
import { refuseInClickHouse } from './refuse-in-clickhouse.ts'

/** The expressions that are read from one file, each once. */
export class GatheredColumns {
  readonly relation: number
  readonly takes_aggregates: boolean
  readonly #nextId: () => number
  readonly #columns = new Map<string, Output>()

  constructor(relation: number, nextId: () => number, takes_aggregates = false) {
    this.relation = relation
    this.#nextId = nextId
    this.takes_aggregates = takes_aggregates
  }

  /** The column of the file with an expression's values. */
  read(expr: ResolvedExpr): ColumnExpr {
    const key = groupKeyIdentity(expr)
    const known = this.#columns.get(key) ?? { id: this.#nextId(), expr }
    this.#columns.set(key, known)
    return { kind: 'column', relation: this.relation, name: `c${known.id}`, type: expr.type }
  }

  /** The columns that ClickHouse selects: a number where nothing but the count of rows is needed. */
  outputs(): readonly Output[] {
    const all = [...this.#columns.values()]
    return all.length > 0 ? all : [{ id: this.#nextId(), expr: bindInt(1) }]
  }
}

/** Whether values of a type keep their meaning in a file. */
export function fitsFile(type: Type): boolean {
  if (type.kind === 'array') return fitsItem(type.of)
  if (type.kind === 'map') return fitsItem(type.key) && fitsItem(type.value)
  if (type.kind === 'tuple') return type.items.every(fitsItem)
  return type.kind !== 'interval' && type.kind !== 'lambda' && type.kind !== 'state'
}

const fitsItem = (type: Type): boolean => type.kind !== 'datetime' && fitsFile(type)

/** Whether ClickHouse writes a type otherwise than DuckDB reads it: integers of 128 bits are raw bytes in a file. */
export const isSentAsText = (type: Type): boolean => type.kind === 'int' && type.bits > 64

/** The select that reads the answer of a statement from its file. */
export function readAnswer({ query }: Statement): Statement | null {
  const outputs = queryColumns(query)
  const fits = outputs.every(
    ({ type }) => fitsFile(type) && !isSentAsText(type) && type.kind !== 'null',
  )
  if (!fits) return null
  const file = { kind: 'gathered', id: 1, file: 0 } as const
  const columns = outputs.map(({ id, type }) => ({ id, expr: fromFile(file.id, id, type) }))
  return { ctes: [], query: selectFrom(columns, file) }
}

/** A value as it is written into the file. */
export function toFile(expr: ResolvedExpr): ResolvedExpr {
  if (expr.type.kind === 'null') return bindInt(0)
  return isSentAsText(expr.type) ? sql`toString(${expr})`(STRING) : expr
}

/** A column of the file as a value of its type here. Refuses types that have no form there. */
export function fromFile(relation: number, id: number, type: Type): ResolvedExpr {
  if (!fitsFile(type))
    return refuseInClickHouse('A fold beside times in lists, intervals or states')
  if (type.kind === 'null') return NULL_VALUE
  const column: ColumnExpr = { kind: 'column', relation, name: `c${id}`, type: UNKNOWN }
  // Instants have a zone in the file, and none here.
  if (type.kind === 'datetime') return sql`make_timestamp(epoch_us(${column}))`(type)
  return joinFragments(['(', '', `)::${duckdbName(type)}`], [column], type)
}
