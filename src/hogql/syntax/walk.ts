/** Walks over syntax trees: bottom-up rewrites (`mapExpr`, `mapSelect`) and visits. */

import type { ArithmeticOperation, Expr, Node, SelectQuery } from './ast.ts'

/** Nodes that are not expressions, although they contain some. */
const PARTS = {
  CTE: true,
  GroupingSet: true,
  HogQLXAttribute: true,
  InterpolateExpr: true,
  JoinConstraint: true,
  JoinExpr: true,
  LimitByExpr: true,
  NamedWindow: true,
  OrderExpr: true,
  PivotColumn: true,
  PivotExpr: true,
  RatioExpr: true,
  SampleExpr: true,
  SelectSetNode: true,
  UnpivotColumn: true,
  UnpivotExpr: true,
  ValuesQuery: true,
  WindowExpr: true,
  WindowFrameExpr: true,
  WithFillExpr: true,
} as const satisfies Record<Exclude<Node, Expr>['kind'], true>

/** Fields that need rows, not a value: a select there may change inside, but remains a select. */
const ROWS = new Set(['table', 'initial_select_query', 'select_query'])

/**
 * The tree with every expression replaced by `rewrite` of it, children first, also inside selects.
 * Names of tables are not expressions; a select used for its rows (in FROM, in a UNION, in WITH) is
 * not replaced itself.
 */
export function mapExpr<Root extends Node>(root: Root, rewrite: (expr: Expr) => Expr): Root {
  return mapNode(root, (node, wants_rows) => (isExpr(node) && !wants_rows ? rewrite(node) : node))
}

/** The tree with every SELECT replaced by `rewrite` of it, innermost first. */
export function mapSelect<Root extends Node>(
  root: Root,
  rewrite: (select: SelectQuery) => SelectQuery,
): Root {
  return mapNode(root, (node) => (node.kind === 'SelectQuery' ? rewrite(node) : node))
}

function isExpr(node: Node): node is Expr {
  return !(node.kind in PARTS)
}

type NodeChange = (node: Node, wants_rows: boolean) => Node

/**
 * The one place that rebuilds nodes without naming their kinds. Every change replaces an expression
 * by an expression or a select by a select, so the tree keeps its type.
 */
function mapNode<Root extends Node>(root: Root, change: NodeChange): Root {
  return mapOne(root, change, false) as Root
}

function mapOne(node: Node, change: NodeChange, wants_rows: boolean): Node {
  if (node.kind === 'ArithmeticOperation') return mapChain(node, change, wants_rows)
  return change(mapChildren(node, change), wants_rows)
}

/** `a + b + c + …` is a left-deep tree as deep as it is long; its left spine is walked without recursion. */
function mapChain(outermost: ArithmeticOperation, change: NodeChange, wants_rows: boolean): Node {
  const spine = spineOf(outermost)
  let left: Node = mapOne(spine.at(-1)?.left ?? outermost.left, change, false)
  for (const link of spine.toReversed()) {
    const right = mapOne(link.right, change, false)
    const same = left === link.left && right === link.right
    const rebuilt = same ? link : ({ ...link, left, right } as ArithmeticOperation)
    left = change(rebuilt, link === outermost && wants_rows)
  }
  return left
}

/** The operations of a left spine, outermost first: each is the left side of the one before it. */
export function spineOf(outermost: ArithmeticOperation): readonly ArithmeticOperation[] {
  const spine = [outermost]
  for (let { left } = outermost; left.kind === 'ArithmeticOperation'; { left } = left) {
    spine.push(left)
  }
  return spine
}

/** Returns the node itself when nothing in it changed: most of a text's thousands of nodes do not. */
function mapChildren(node: Node, change: NodeChange): Node {
  let changed: Record<string, unknown> | null = null
  for (const [key, value] of Object.entries(node)) {
    if (typeof value !== 'object' || value === null) continue
    const wants_rows = ROWS.has(key) || (node.kind === 'CTE' && node.cte_type === 'subquery')
    const after = mapValue(value, change, wants_rows)
    if (after === value) continue
    changed ??= { ...node }
    changed[key] = after
  }
  return changed === null ? node : (changed as Node)
}

function mapValue(value: unknown, change: NodeChange, wants_rows: boolean): unknown {
  if (Array.isArray(value)) return mapItems(value, change, wants_rows)
  return isNode(value) ? mapOne(value, change, wants_rows) : value
}

function mapItems(items: readonly unknown[], change: NodeChange, wants_rows: boolean): unknown {
  const after = items.map((item) => mapValue(item, change, wants_rows))
  return after.every((item, index) => item === items[index]) ? items : after
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'kind' in value
}

/** The nodes directly inside a node, in the order of its fields. */
export function childrenOf(node: Node): readonly Node[] {
  const children: Node[] = []
  const waiting: unknown[] = Object.values(node)
  for (const value of waiting) {
    if (isNode(value)) children.push(value)
    else if (Array.isArray(value)) for (const item of value) waiting.push(item)
  }
  return children
}

/** Calls `visit` for every node, parents before children. Iterative, so that no tree is too deep. */
export function visitNodes(root: Node, visit: (node: Node) => void): void {
  const waiting: Node[] = [root]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    visit(node)
    for (const child of childrenOf(node)) waiting.push(child)
  }
}

/** Nodes on the longest path from the root to a leaf; a chain of + - * / % counts as one. */
export function heightOf(root: Node): number {
  let highest = 0
  const waiting: (readonly [Node, number])[] = [[root, 1]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [node, height] = next
    highest = Math.max(highest, height)
    for (const child of childrenOf(node)) {
      const in_chain = node.kind === 'ArithmeticOperation' && child.kind === node.kind
      waiting.push([child, in_chain && child === node.left ? height : height + 1])
    }
  }
  return highest
}
