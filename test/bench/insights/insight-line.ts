/** One insight that is measured, and names for statements written by hand. */

import { neededColumnName } from '../../../src/column-names.ts'
import type { InsightQueryNode } from '../../../src/query/kinds/insight.ts'

/** A query, and the statement somebody would write for it; both ask about project 1, which is `$1`. */
export type InsightLine = {
  readonly name: string
  readonly query: InsightQueryNode
  readonly sql: string
}

/** The name of a property's column, for statements written by hand. */
export function column(kind: 'number' | 'text', name: string): string {
  return `"${neededColumnName({ kind, name })}"`
}
