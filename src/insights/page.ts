/** Pages of rows: the part of a list that is answered, and whether there is more. */
import type { SelectQuery } from '../hogql/ast.ts'
import { constant } from '../hogql/nodes.ts'
import type { InsightRows, RunTree } from './insight.ts'

/** Where a page begins and how many rows it has, as it was asked for. */
export type RowPage = { readonly limit: number; readonly offset: number }

/** Rows answered where nobody says how many. */
const ROWS_DEFAULT = 100

/** The page a query asks for: a hundred rows from the start, never more than `rows_max`. */
export function readRowPage(
  input: { readonly limit?: number | null; readonly offset?: number | null },
  { rows_max }: { readonly rows_max: number },
): RowPage {
  return { limit: Math.min(input.limit ?? ROWS_DEFAULT, rows_max), offset: input.offset ?? 0 }
}

/** Asks for one page of a tree without a limit of its own; `has_more` says whether rows follow it. */
export async function queryPage(
  tree: SelectQuery,
  { limit, offset }: RowPage,
  { ask, rows_max }: { readonly ask: RunTree; readonly rows_max: number },
): Promise<InsightRows> {
  const from = { ...tree, offset: offset === 0 ? null : constant(BigInt(offset)) }
  // The largest page has no room for the one row more that tells; there the engine counts.
  if (limit >= rows_max) return await ask(from)
  const request = await ask({ ...from, limit: constant(BigInt(limit + 1)) })
  return { ...request, rows: request.rows.slice(0, limit), has_more: request.rows.length > limit }
}

/** The part of a tree that was asked for, all of it where nobody says how much. */
export function cutToPage(
  tree: SelectQuery,
  input: { readonly limit?: number | null; readonly offset?: number | null },
): SelectQuery {
  const { limit = null, offset = null } = input
  return {
    ...tree,
    limit: limit === null ? null : constant(BigInt(limit)),
    offset: offset === null || offset === 0 ? null : constant(BigInt(offset)),
  }
}

/** What an envelope says about a page. */
export function serializePage(
  { columns, types, has_more }: InsightRows,
  { limit, offset }: RowPage,
) {
  return { columns, types, hasMore: has_more, limit, offset }
}
