/**
 * Template tags that build syntax trees from HogQL with holes: the text is a constant of this program, holes take trees.
 * Every query that code builds is written so; what varies is spread over it: `{ ...select`…`, where: and(conditions) }`.
 */

import { parseExpr, parseSelect } from './parser/parser.ts'
import type { Expr, JoinExpr, Node, SelectQuery, TableExpr } from './syntax/ast.ts'
import { mapExpr, mapSelect } from './syntax/walk.ts'

/** The value of a hole: an expression, several (`select ${columns}`, at least one), or a table after FROM. */
type TemplatePart = Expr | JoinExpr | readonly Expr[]

/** A SELECT: `` select`select count() from ${events} where ${condition}` ``. */
export function select(
  texts: TemplateStringsArray,
  ...parts: readonly TemplatePart[]
): SelectQuery {
  const { text, holes } = withHoles(texts, parts)
  const tree = parseSelect(text)
  if (tree.kind !== 'SelectQuery') throw new Error('a template of a select holds another tree')
  return fill(tree, holes)
}

/** An expression: `` expr`count() / ${all}` ``. */
export function expr(texts: TemplateStringsArray, ...parts: readonly TemplatePart[]): Expr {
  const { text, holes } = withHoles(texts, parts)
  return fill(parseExpr(text), holes)
}

type TemplateHoles = ReadonlyMap<string, Expr | JoinExpr>

function withHoles(
  texts: TemplateStringsArray,
  parts: readonly TemplatePart[],
): { readonly text: string; readonly holes: TemplateHoles } {
  const holes = new Map<string, Expr | JoinExpr>()
  const name = (part: Expr | JoinExpr): string => {
    const hole = `hole_${holes.size}`
    holes.set(hole, part)
    return `{${hole}}`
  }
  const filled = parts.map((part) => ('kind' in part ? [part] : part).map(name).join(', '))
  return {
    text: texts.reduce((text, next, index) => text + (filled[index - 1] ?? '') + next),
    holes,
  }
}

function fill<Root extends Node>(root: Root, holes: TemplateHoles): Root {
  const with_tables = mapSelect(root, (query) => ({
    ...query,
    select_from: fillTables(query.select_from, holes),
  }))
  return mapExpr(with_tables, (node) => {
    const part = holes.get(holeName(node) ?? '')
    if (part === undefined) return node
    if (part.kind === 'JoinExpr') throw new Error('a table stands where a value is expected')
    return part
  })
}

function fillTables(join: JoinExpr | null, holes: TemplateHoles): JoinExpr | null {
  if (join === null) return null
  const part = holes.get(holeName(join.table) ?? '')
  const next_join = fillTables(join.next_join, holes)
  if (part === undefined) return { ...join, next_join }
  if (part.kind !== 'JoinExpr') return { ...join, table: tableOf(part), next_join }
  return { ...join, table: part.table, sample: part.sample, next_join }
}

function tableOf(part: Expr): TableExpr {
  if (part.kind === 'SelectQuery' || part.kind === 'SelectSetQuery' || part.kind === 'Field') {
    return part
  }
  throw new Error(`${part.kind} is no table`)
}

function holeName(node: Node): string | null {
  if (node.kind !== 'Placeholder' || node.expr.kind !== 'Field') return null
  return node.expr.chain.join('.')
}
