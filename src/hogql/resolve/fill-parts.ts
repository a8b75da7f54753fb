/** What filling a select works with: its own rows under generated names, its keys, and the grid of values there should be. */

import type * as ast from '../ast.ts'
import type { OrderExpr } from '../ast-parts.ts'
import { field, joinOf, selectOf } from '../nodes.ts'
import type { Grid } from './fill-grids.ts'

// No question can mean these names.
export const ROWS = '\u0000rows'
export const OWN = '\u0000own'
export const RUN = '\u0000run'
export const ROW = '\u0000row'
export const BEFORE = '\u0000before'
export const cell = (index: number): string => `\u0000c${index}`
export const pointName = (index: number): string => `\u0000p${index}`
export const keyName = (index: number): string => `\u0000k${index}`

/** The select as written without filling, and what its columns are. */
export type Filled = {
  readonly node: ast.SelectQuery
  readonly names: readonly string[]
  /** What a missing row shows in each column: the number of the key it is, or a default. */
  readonly shown: readonly (ast.Expr | number)[]
  readonly keys: readonly { readonly order: OrderExpr; readonly missing: ast.Expr }[]
  /** The keys that are filled, side by side; those before them make groups that are filled each. */
  readonly fills: readonly [Fill, ...Fill[]]
}

/** A key that is filled: its place among the keys, and the values there should be. */
export type Fill = { readonly at: number; readonly grid: Grid }

/** A select from something, its columns still to be put in. */
export function from(table: ast.SelectQuery | ast.SelectSetQuery | ast.Field): ast.SelectQuery {
  return { ...selectOf([]), select_from: joinOf(table) }
}

/** The keys before one. */
export function keysBefore(at: number): readonly ast.Field[] {
  return Array.from({ length: at }, (_, index) => field([keyName(index)]))
}
