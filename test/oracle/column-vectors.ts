/**
 * Vectors over columns: constants are folded before anything is printed, columns are not.
 *
 *   dateAdd(DAY, 3, toDateTime('2024-03-31 00:30:00Z'))
 *   → select dateAdd(DAY, v1, v2) from (select materialize(3) as v1, materialize(toDateTime('2024-…Z')) as v2)
 */

import { parseExpr } from '../../src/hogql/parser/parser.ts'
import type { Expr, Node, SelectQuery } from '../../src/hogql/syntax/ast.ts'
import { alias, call, field } from '../../src/hogql/syntax/nodes.ts'
import { childrenOf, mapExpr } from '../../src/hogql/syntax/walk.ts'
import { select } from '../../src/hogql/template.ts'
import { type Vector } from './vectors.ts'

/** Calls that stand for a literal in vectors. */
const MAKERS: ReadonlySet<string> = new Set(['map', 'nullIf', 'toDate', 'toDateTime'])

/** Whether a tree is a literal, or what vectors write for one of its type. */
function isLiteral(node: Node): node is Expr {
  if (node.kind === 'Array' || node.kind === 'Tuple') return node.exprs.every(isLiteral)
  if (node.kind === 'ArithmeticOperation') return isLiteral(node.left) && isLiteral(node.right)
  if (node.kind === 'Call') return MAKERS.has(node.name) && node.args.every(isLiteral)
  return node.kind === 'Constant'
}

/** The greatest literals inside of a tree, from left to right; NULL has no type as a column. */
function literalsIn(tree: Node): readonly Expr[] {
  return childrenOf(tree).flatMap((child) => {
    if (!isLiteral(child)) return literalsIn(child)
    return child.kind === 'Constant' && child.value === null ? [] : [child]
  })
}

/** An expression over columns, and the values of these. */
export type ColumnVector = {
  readonly value: Expr
  readonly columns: readonly Expr[]
}

/** The vector with the literals of these positions as columns; `name` begins their names. */
function withColumns(root: Expr, positions: readonly number[], name: string): ColumnVector {
  const literals = literalsIn(root)
  const names = new Map(positions.map((position) => [literals[position], `${name}_${position}`]))
  const columns = [...names].flatMap(([literal, column]) =>
    literal === undefined ? [] : [alias(call('materialize', [literal]), column)],
  )
  const value = mapExpr(root, (node) => {
    const column = names.get(node)
    return column === undefined ? node : field([column])
  })
  return { value, columns }
}

/** The query of several vectors over one row. */
export function selectOverColumns(vectors: readonly ColumnVector[]): SelectQuery {
  const columns = vectors.flatMap((vector) => vector.columns)
  const values = vectors.map(({ value }) => value)
  return columns.length === 0
    ? select`select ${values}`
    : select`select ${values} from ${select`select ${columns}`}`
}

/** Makes columns of all literals that may be one: `isTaken` says whether a query is compiled. */
export class ColumnMaker {
  readonly #isTaken: (query: SelectQuery) => boolean
  /** By template. */
  readonly #positions = new Map<string, readonly number[]>()
  #last_name = 0

  constructor(isTaken: (query: SelectQuery) => boolean) {
    this.#isTaken = isTaken
  }

  /** Null where no literal may be a column. */
  make({ template, hogql }: Vector): ColumnVector | null {
    const root = parseExpr(hogql)
    let positions = this.#positions.get(template)
    positions ??= this.#positionsOf(root)
    this.#positions.set(template, positions)
    this.#last_name += 1
    return positions.length === 0 ? null : withColumns(root, positions, `v${this.#last_name}`)
  }

  #positionsOf(root: Expr): readonly number[] {
    const all = [...literalsIn(root).keys()]
    if (this.#takes(root, all)) return all
    let taken: readonly number[] = []
    for (const position of all)
      if (this.#takes(root, [...taken, position])) taken = [...taken, position]
    return taken
  }

  #takes(root: Expr, positions: readonly number[]): boolean {
    return this.#isTaken(selectOverColumns([withColumns(root, positions, 'v')]))
  }
}
