/**
 * Passes lowerLimitBy and limitOutput: LIMIT BY and WITH TIES, which the engine lacks, become
 * conditions; every result gets a limit.
 *
 *   SELECT … LIMIT 2 BY event
 *   → SELECT … QUALIFY row_number() OVER (PARTITION BY event) <= 2 LIMIT 101
 */

import { Refusal } from '../../../errors.ts'
import { COMPILE_LIMITS, type CompileContext } from '../../context.ts'
import { groupKeyIdentity } from '../../resolve/grouping.ts'
import {
  NO_LIMITS,
  type Output,
  type ResolvedExpr,
  type ResolvedQuery,
  type ResolvedSelect,
  selectFrom,
} from '../../sql/ir.ts'
import { aggregateFragment, bindInt, constantInt, sql } from '../../sql/sql-fragments.ts'
import { INT64, TRUTH, UINT64 } from '../../types/types.ts'
import { keepQuery, mapChildren, mapStatement, type Pass, someExpr } from '../walk.ts'

/** Rewrites LIMIT BY and WITH TIES, which the engine lacks, as conditions on row numbers and ranks. */
export const lowerLimitBy: Pass = (statement) => mapStatement(statement, { select: lowerSelect })

/** Both apply after QUALIFY and DISTINCT, LIMIT BY first; where those exist, in a select around this one. */
function lowerSelect(select: ResolvedSelect): ResolvedSelect {
  if (select.limit_by === null && !hasTies(select)) return select
  const keys = [...select.order_by.map(({ expr }) => expr), ...(select.limit_by?.keys ?? [])]
  const is_late =
    select.distinct || select.qualify !== null || keys.some((key) => someExpr(key, isWindow))
  const numbered = withLimitBy(is_late ? wrapSelect(select) : select)
  if (!hasTies(numbered)) return numbered
  return withTies(numbered.qualify === null ? numbered : wrapSelect(numbered))
}

const hasTies = ({ with_ties, limit }: ResolvedSelect): boolean => with_ties && limit !== null

const isWindow = (expr: ResolvedExpr): boolean => expr.kind === 'aggregate' && expr.over !== null

function withLimitBy(select: ResolvedSelect): ResolvedSelect {
  const { limit_by } = select
  if (limit_by === null) return select
  const row = aggregateFragment('row_number', [], UINT64)
  const numbered: ResolvedExpr = {
    ...row,
    over: { partition_by: limit_by.keys, order_by: select.order_by, frame: null },
  }
  const offset = limit_by.offset ?? bindInt(0, true)
  const is_within = sql`(${numbered} > ${offset} AND ${numbered} <= ${offset} + ${limit_by.count})`(
    TRUTH,
  )
  return { ...select, limit_by: null, qualify: is_within }
}

/** Rows that tie with the last row of the limit pass too. `with_ties` remains set, for limitOutput. */
function withTies(select: ResolvedSelect): ResolvedSelect {
  const { limit, offset, limit_percent } = select
  if (limit === null) return select
  const ranked: ResolvedExpr = {
    ...aggregateFragment('rank', [], UINT64),
    over: { partition_by: [], order_by: select.order_by, frame: null },
  }
  const all: ResolvedExpr = {
    ...aggregateFragment('count', [], UINT64),
    over: { partition_by: [], order_by: [], frame: null },
  }
  const count = limit_percent ? sql`floor(${all} * ${limit} / 100)`(INT64) : limit
  const last = offset === null ? count : sql`(${count} + ${offset})`(INT64)
  const qualify = sql`(${ranked} <= ${last})`(TRUTH)
  return { ...select, limit: null, limit_percent: false, qualify }
}

/** Ids of the relations and columns made here; others are smaller. */
const FIRST_ID = 2_000_000

/** Wraps the select: the outer one orders and limits the inner one's rows. */
function wrapSelect(select: ResolvedSelect): ResolvedSelect {
  const { columns, order_by, limit, offset, limit_percent, with_ties, limit_by } = select
  const id = FIRST_ID + (columns[0]?.id ?? 0)
  const inner: Output[] = [...columns]
  const readOutside = (expr: ResolvedExpr): ResolvedExpr => {
    const readShown = (part: ResolvedExpr): ResolvedExpr => {
      const same = groupKeyIdentity(part)
      const column = inner.find((output) => groupKeyIdentity(output.expr) === same)
      if (column === undefined) return part
      return { kind: 'column', relation: id, name: `c${column.id}`, type: part.type }
    }
    const replaceWithin = (part: ResolvedExpr): ResolvedExpr => {
      const column = readShown(part)
      return column === part ? mapChildren(part, replaceWithin, keepQuery) : column
    }
    const shown_column = readShown(expr)
    if (shown_column !== expr) return shown_column
    // After DISTINCT, a further column would split equal rows again.
    if (select.distinct) return requireShownColumns(mapChildren(expr, replaceWithin, keepQuery), id)
    inner.push({ id: FIRST_ID + inner.length, expr })
    return readShown(expr)
  }
  const outer = {
    columns: columns.map((column) => ({ ...column, expr: readOutside(column.expr) })),
    order_by: order_by.map((order) => ({ ...order, expr: readOutside(order.expr) })),
    limit_by: limit_by === null ? null : { ...limit_by, keys: limit_by.keys.map(readOutside) },
  }
  const query = { ...select, ...NO_LIMITS, columns: inner, limit_by: null }
  const from = { kind: 'derived', id, query } as const
  return {
    ...selectFrom(outer.columns, from),
    limit,
    offset,
    limit_percent,
    with_ties,
    ...outer,
  }
}

function requireShownColumns(key: ResolvedExpr, relation: number): ResolvedExpr {
  if (!someExpr(key, (part) => part.kind === 'column' && part.relation !== relation)) return key
  const detail = 'With DISTINCT, LIMIT BY and WITH TIES go by columns of the select'
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}

/** The default page of a query without LIMIT, with the OFFSET it has. */
type RowWindow = { readonly limit: number; readonly offset: number }

/** The default page; null when the query has a LIMIT. */
export function rowWindow(query: ResolvedQuery, context: CompileContext): RowWindow | null {
  if (query.limit !== null) return null
  return { limit: (context.limits ?? COMPILE_LIMITS).rows_default, offset: constantOffset(query) }
}

function constantOffset(query: ResolvedQuery): number {
  return Number(constantInt(query.offset ?? undefined) ?? 0n)
}

/** Bounds the rows of the result: the default page and one row, or the query's LIMIT up to the maximum. */
export const limitOutput: Pass = (statement, context) => {
  const { query } = statement
  const { rows_default, rows_max } = context.limits ?? COMPILE_LIMITS
  const page = rowWindow(query, context)
  const limit =
    page === null || query.with_ties
      ? cappedLimit(query, rows_max)
      : bindInt(rows_default + 1, true)
  return { ...statement, query: { ...query, limit } }
}

function cappedLimit(query: ResolvedQuery, rows_max: number): ResolvedExpr {
  const { limit } = query
  const max_rows = bindInt(rows_max, true)
  if (limit === null) return max_rows
  if (query.limit_percent) return limit
  const constant = constantInt(limit)
  if (constant === null) return sql`least(${limit}, ${max_rows})`(INT64)
  return constant > BigInt(rows_max) ? max_rows : limit
}
