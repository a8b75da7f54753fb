/** Trees written as HogQL with holes: `{name}` takes an expression, in FROM a select. */
import type { Expr, Select, SelectQuery } from '../hogql/ast.ts'
import type { JoinExpr, Table } from '../hogql/ast-parts.ts'
import { parseExpr, parseSelect } from '../hogql/parser.ts'
import { mapExpr } from '../hogql/walk.ts'

/** What stands in the holes, by name. */
export type Parts = Readonly<Record<string, Expr | Select>>

/**
 * One SELECT from a text of ours; what callers send only ever comes in as parts, which are trees. Throws where the
 * text is no select, or a hole has no part: both are faults of ours.
 */
export function written(text: string, parts: Parts = {}): SelectQuery {
  const tree = parseSelect(text)
  if (tree.kind !== 'SelectQuery') throw new Error(`not a select: ${text}`)
  return fillRows(fillExprs(tree, parts), parts)
}

/** One expression from a text of ours. */
export function writtenExpr(text: string, parts: Parts = {}): Expr {
  const tree = parseExpr(text)
  // The root itself may be a hole, which only the rewrite of a node that holds it would see.
  return tree.kind === 'Placeholder' ? partOf(tree, parts) : fillExprs(tree, parts)
}

function fillExprs<Root extends Expr>(tree: Root, parts: Parts): Root {
  return mapExpr(tree, (expr) => (expr.kind === 'Placeholder' ? partOf(expr, parts) : expr))
}

/** Selects in FROM are rows and no expressions: they are put in along the joins, and below sub-selects of the text. */
function fillRows(select: SelectQuery, parts: Parts): SelectQuery {
  return { ...select, select_from: fillJoin(select.select_from, parts) }
}

function fillJoin(join: JoinExpr | null, parts: Parts): JoinExpr | null {
  if (join === null) return null
  return {
    ...join,
    table: fillTable(join.table, parts),
    next_join: fillJoin(join.next_join, parts),
  }
}

function fillTable(table: Table, parts: Parts): Table {
  if (table.kind === 'SelectQuery') return fillRows(table, parts)
  if (table.kind !== 'Placeholder') return table
  const part = partOf(table, parts)
  if (part.kind === 'SelectQuery' || part.kind === 'SelectSetQuery') return part
  throw new Error(`not rows: ${part.kind}`)
}

function partOf(hole: Extract<Expr, { kind: 'Placeholder' }>, parts: Parts): Expr {
  const name = hole.expr.kind === 'Field' ? hole.expr.chain.join('.') : ''
  const part = Object.hasOwn(parts, name) ? parts[name] : undefined
  if (part === undefined) throw new Error(`no part for {${name}}`)
  return part
}
