/**
 * LIMIT … WITH TIES over all rows of a set, moved to a select around it: `(a UNION ALL b) ORDER BY x LIMIT 1 WITH TIES`
 * → `SELECT * FROM (a UNION ALL b) ORDER BY x LIMIT 1 WITH TIES`.
 */

import type * as ast from '../syntax/ast.ts'
import { NO_LIMITS } from '../syntax/nodes.ts'
import { select } from '../template.ts'

/** The select around the set; null without WITH TIES. */
export function wrapTies(node: ast.SelectSetQuery): ast.SelectQuery | null {
  if (!node.limit_with_ties) return null
  const { order_by, limit, limit_percent, limit_with_ties, offset, start, end } = node
  const limits = { order_by, limit, limit_percent, limit_with_ties, offset }
  return { ...select`select * from ${{ ...node, ...NO_LIMITS }}`, ...limits, start, end }
}
