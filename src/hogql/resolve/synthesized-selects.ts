/** Selects built by the resolver, for forms that abbreviate one. */

import type * as ast from '../syntax/ast.ts'
import type { TableExpr } from '../syntax/ast.ts'
import { field, joinOf, selectOf } from '../syntax/nodes.ts'

/** `SELECT * FROM table AS alias`. */
export function selectStarFrom(table: TableExpr, alias: string | null = null): ast.SelectQuery {
  return {
    ...selectOf([field(['*'], table)], table),
    select_from: { ...joinOf(table, table), alias },
  }
}
