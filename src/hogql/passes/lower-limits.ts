/** Pass: LIMIT BY and WITH TIES, which the engine has not, and how many rows an answer may have. */

import { Refusal } from '../../errors.ts'
import { COMPILE_LIMITS, type CompileContext } from '../context.ts'
import {
  NO_LIMITS,
  type Output,
  type ResolvedExpr,
  type ResolvedQuery,
  type ResolvedSelect,
} from '../ir.ts'
import { groupKeyIdentity } from '../resolve/grouping.ts'
import { aggregateFragment, bindInt, constantInt, sql } from '../sql-fragments.ts'
import { INT64, TRUTH, UINT64 } from '../types.ts'
import { mapChildren, mapStatement, type Pass, someExpr } from './walk.ts'

/** Rewrites LIMIT BY and WITH TIES as conditions on row numbers and ranks. */
export const lowerLimitBy: Pass = (statement) => mapStatement(statement, { select: counted })

/** Rows are counted when all else is done: after QUALIFY and DISTINCT, LIMIT BY first. */
function counted(select: ResolvedSelect): ResolvedSelect {
  if (select.limit_by === null && !hasTies(select)) return select
  const keys = [...select.order_by.map(({ expr }) => expr), ...(select.limit_by?.keys ?? [])]
  const is_late =
    select.distinct || select.qualify !== null || keys.some((key) => someExpr(key, isWindow))
  const numbered = withLimitBy(is_late ? around(select) : select)
  if (!hasTies(numbered)) return numbered
  return withTies(numbered.qualify === null ? numbered : around(numbered))
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
  const remaining = sql`(${numbered} > ${offset} AND ${numbered} <= ${offset} + ${limit_by.count})`(
    TRUTH,
  )
  return { ...select, limit_by: null, qualify: remaining }
}

/** Whoever ties with the last row that the limit lets through is let through; `with_ties` stays to tell of it. */
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

/** Generated relations and columns have smaller numbers. */
const FIRST_ID = 2_000_000

/** The same rows, ordered and cut by a select of their own. */
function around(select: ResolvedSelect): ResolvedSelect {
  const { columns, order_by, limit, offset, limit_percent, with_ties, limit_by } = select
  const id = FIRST_ID + (columns[0]?.id ?? 0)
  const inner: Output[] = [...columns]
  const outside = (expr: ResolvedExpr): ResolvedExpr => {
    const shown = (part: ResolvedExpr): ResolvedExpr => {
      const same = groupKeyIdentity(part)
      const column = inner.find((one) => groupKeyIdentity(one.expr) === same)
      if (column === undefined) return part
      return { kind: 'column', relation: id, name: `c${column.id}`, type: part.type }
    }
    const within = (part: ResolvedExpr): ResolvedExpr => {
      const column = shown(part)
      return column === part ? mapChildren(part, within, asItIs) : column
    }
    const found = shown(expr)
    if (found !== expr) return found
    // Of rows that are alike one is left: no other column may tell them apart again.
    if (select.distinct) return amongColumns(mapChildren(expr, within, asItIs), id)
    inner.push({ id: FIRST_ID + inner.length, expr })
    return shown(expr)
  }
  const outer = {
    columns: columns.map((column) => ({ ...column, expr: outside(column.expr) })),
    order_by: order_by.map((order) => ({ ...order, expr: outside(order.expr) })),
    limit_by: limit_by === null ? null : { ...limit_by, keys: limit_by.keys.map(outside) },
  }
  return {
    kind: 'select',
    distinct: false,
    from: {
      kind: 'derived',
      id,
      query: { ...select, ...NO_LIMITS, columns: inner, limit_by: null },
    },
    where: null,
    known: [],
    group_by: null,
    having: null,
    qualify: null,
    limit,
    offset,
    limit_percent,
    with_ties,
    ...outer,
  }
}

const asItIs = (query: ResolvedQuery): ResolvedQuery => query

function amongColumns(key: ResolvedExpr, relation: number): ResolvedExpr {
  if (!someExpr(key, (part) => part.kind === 'column' && part.relation !== relation)) return key
  const detail = 'With DISTINCT, LIMIT BY and WITH TIES go by columns of the select'
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}

/** The LIMIT and OFFSET of a query that names none of its own; null when it does. */
export type RowWindow = { readonly limit: number; readonly offset: number }

/** What page an answer is: the default one, one row more being asked for so that "has more" is known. */
export function rowWindow(query: ResolvedQuery, context: CompileContext): RowWindow | null {
  if (query.limit !== null) return null
  return { limit: (context.limits ?? COMPILE_LIMITS).rows_default, offset: constantOffset(query) }
}

function constantOffset(query: ResolvedQuery): number {
  return Number(constantInt(query.offset ?? undefined) ?? 0n)
}

/** Bounds the rows of the answer: the default page and one row, or the query's own LIMIT up to the most there is. */
export const limitOutput: Pass = (statement, context) => {
  const { query } = statement
  const { rows_default, rows_max } = context.limits ?? COMPILE_LIMITS
  const page = rowWindow(query, context)
  const limit =
    page === null || query.with_ties ? capped(query, rows_max) : bindInt(rows_default + 1, true)
  return { ...statement, query: { ...query, limit } }
}

function capped(query: ResolvedQuery, rows_max: number): ResolvedExpr {
  const { limit } = query
  const most = bindInt(rows_max, true)
  if (limit === null) return most
  if (query.limit_percent) return limit
  const constant = constantInt(limit)
  if (constant === null) return sql`least(${limit}, ${most})`(INT64)
  return constant > BigInt(rows_max) ? most : limit
}
