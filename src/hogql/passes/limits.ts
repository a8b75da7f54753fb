/** Pass: LIMIT BY and WITH TIES, which the engine has not, and how many rows an answer may have. */

import { COMPILE_LIMITS, type CompileContext } from '../context.ts'
import type { Expr } from '../ir.ts'
import type { Query, Select } from '../ir-queries.ts'
import { bindInt, constantInt, gather, spellList, sql } from '../spell.ts'
import { INT64, TRUTH, UINT64 } from '../types.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Rewrites LIMIT BY and WITH TIES as conditions on row numbers and ranks. */
export const limitBy: Pass = (statement) =>
  mapStatement(statement, { select: (select) => withTies(withLimitBy(select)) })

function withLimitBy(select: Select): Select {
  const { limit_by } = select
  if (limit_by === null) return select
  const row = gather('row_number', [], UINT64)
  const numbered: Expr = {
    ...row,
    over: { partition_by: limit_by.keys, order_by: select.order_by, frame: null },
  }
  const offset = limit_by.offset ?? bindInt(0, true)
  const kept = sql`(${numbered} > ${offset} AND ${numbered} <= ${offset} + ${limit_by.count})`(
    TRUTH,
  )
  return { ...select, limit_by: null, qualify: both(select.qualify, kept) }
}

function withTies(select: Select): Select {
  if (!select.with_ties || select.limit === null) return select
  const ranked: Expr = {
    ...gather('rank', [], UINT64),
    over: { partition_by: [], order_by: select.order_by, frame: null },
  }
  const kept = sql`(${ranked} <= ${select.limit})`(TRUTH)
  return { ...select, with_ties: false, limit: null, qualify: both(select.qualify, kept) }
}

function both(first: Expr | null, second: Expr): Expr {
  return first === null ? second : spellList(['(', ' AND ', ')'], [first, second], TRUTH)
}

/** The LIMIT and OFFSET of a question that names none of its own; null when it does. */
export type Page = { readonly limit: number; readonly offset: number }

/** What page an answer is: the default one, one row more being asked for so that "has more" is known. */
export function pageOf(query: Query, context: CompileContext): Page | null {
  if (query.limit !== null) return null
  return { limit: (context.limits ?? COMPILE_LIMITS).rows_default, offset: constantOffset(query) }
}

function constantOffset(query: Query): number {
  return Number(constantInt(query.offset ?? undefined) ?? 0n)
}

/** Bounds the rows of the answer: the default page and one row, or the question's own LIMIT up to the most there is. */
export const answerLimit: Pass = (statement, context) => {
  const { query } = statement
  const { rows_default, rows_max } = context.limits ?? COMPILE_LIMITS
  const page = pageOf(query, context)
  const limit = page === null ? capped(query, rows_max) : bindInt(rows_default + 1, true)
  return { ...statement, query: { ...query, limit } }
}

function capped(query: Query, rows_max: number): Expr | null {
  const { limit } = query
  if (limit === null || query.limit_percent) return limit
  const constant = constantInt(limit)
  const most = bindInt(rows_max, true)
  if (constant === null) return sql`least(${limit}, ${most})`(INT64)
  return constant > BigInt(rows_max) ? most : limit
}
