/** Pages of rows: offset, limit, and whether there are more. */
import type { SelectQuery } from '../hogql/syntax/ast.ts'
import { integer } from '../hogql/syntax/nodes.ts'
import type { InsightRows, RunTree } from './insight.ts'

/** The requested page. */
type RowPage = { readonly limit: number; readonly offset: number }

/** Default rows of a page. */
const ROWS_DEFAULT = 100

/** Parses the page of a query: a hundred rows from the start by default, at most `rows_max`. */
export function readRowPage(
  input: { readonly limit?: number | null; readonly offset?: number | null },
  { rows_max }: { readonly rows_max: number },
): RowPage {
  return { limit: Math.min(input.limit ?? ROWS_DEFAULT, rows_max), offset: input.offset ?? 0 }
}

/** Runs one page of a tree without a limit; `has_more` tells whether rows follow. */
export async function queryPage(
  tree: SelectQuery,
  { limit, offset }: RowPage,
  { run, rows_max }: { readonly run: RunTree; readonly rows_max: number },
): Promise<InsightRows> {
  const from = { ...tree, offset: offset === 0 ? null : integer(offset) }
  // The largest page cannot read one row more; there the engine reports whether rows follow.
  if (limit >= rows_max) return await run(from)
  const answer = await run({ ...from, limit: integer(limit + 1) })
  return { ...answer, rows: answer.rows.slice(0, limit), has_more: answer.rows.length > limit }
}

/** A tree with the request's offset and limit, if any. */
export function cutToPage(
  tree: SelectQuery,
  input: { readonly limit?: number | null; readonly offset?: number | null },
): SelectQuery {
  const { limit = null, offset = null } = input
  return {
    ...tree,
    limit: limit === null ? null : integer(limit),
    offset: offset === null || offset === 0 ? null : integer(offset),
  }
}

/** The page's members of the envelope. */
export function serializePage(
  { columns, types, has_more }: InsightRows,
  { limit, offset }: RowPage,
) {
  return { columns, types, hasMore: has_more, limit, offset }
}
