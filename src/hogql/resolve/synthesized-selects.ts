/** Selects built by the resolver, for forms that abbreviate one. */

import type * as ast from '../ast.ts'
import type { TableExpr } from '../ast.ts'
import { field, joinOf, selectOf } from '../nodes.ts'

/** `SELECT * FROM table AS alias`. */
export function selectStarFrom(table: TableExpr, alias: string | null = null): ast.SelectQuery {
  return {
    ...selectOf([field(['*'], table)], table),
    select_from: { ...joinOf(table, table), alias },
  }
}
