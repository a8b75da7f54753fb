/** CTEs: names from WITH, resolved once when first used, and hoisted to the front of the statement. */

import { queryColumns } from '../../sql/ir.ts'
import type * as ast from '../../syntax/ast.ts'
import { refuse } from '../refusals.ts'
import {
  type CteRows,
  type CteSlot,
  innerScope,
  type NamedColumn,
  type NamedQuery,
  type NameScope,
  type Resolver,
  withoutRows,
} from '../scope.ts'

/** Declares the names of a WITH in a scope. */
export function declareCtes(ctes: readonly ast.CTE[], scope: NameScope): void {
  for (const node of ctes) {
    if (scope.ctes.has(node.name)) throw refuse(`WITH defines ${node.name} twice`, node)
    scope.ctes.set(node.name, { node, scope, rows: null, is_busy: false })
  }
}

/**
 * The CTE of that name; null when no scope has it. Inside its own definition a name keeps its outer
 * meaning.
 */
export function findRows(name: string, scope: NameScope, resolver: Resolver): CteRows | null {
  for (let at: NameScope | null = scope; at !== null; at = at.parent) {
    const slot = at.ctes.get(name)
    if (slot === undefined || slot.node.cte_type !== 'subquery') continue
    if (slot.rows !== null) return slot.rows
    if (!slot.is_busy) return resolveRows(slot, resolver)
  }
  return null
}

function resolveRows(slot: CteSlot, resolver: Resolver): CteRows {
  const { node } = slot
  const { expr } = node
  if (
    expr.kind !== 'SelectQuery' &&
    expr.kind !== 'SelectSetQuery' &&
    expr.kind !== 'ValuesQuery' &&
    expr.kind !== 'Placeholder'
  ) {
    throw refuse(`WITH ${node.name} is not a select`, node)
  }
  if (node.using_key !== null) throw refuse('USING KEY is not supported', node)
  slot.is_busy = true
  const around = withoutRows(slot.scope) ?? innerScope(null)
  const rows =
    node.recursive && expr.kind === 'SelectSetQuery'
      ? resolveRecursive(slot, expr, { around, resolver })
      : declare(slot, resolver.query(expr, around), resolver)
  slot.is_busy = false
  return rows
}

function declare(slot: CteSlot, named: NamedQuery, resolver: Resolver): CteRows {
  resolver.next.cte += 1
  const id = resolver.next.cte
  slot.rows = { id, columns: columnsOf(slot.node, named) }
  resolver.ctes.push({
    id,
    query: named.query,
    materialized: slot.node.materialized,
    recursive: null,
  })
  return slot.rows
}

function columnsOf(node: ast.CTE, { query, names }: NamedQuery): readonly NamedColumn[] {
  return queryColumns(query).map((column, index) => ({
    ...column,
    name: node.columns?.[index] ?? names[index] ?? '',
  }))
}

/** The first leg decides the columns; the others may read the name itself. */
function resolveRecursive(
  slot: CteSlot,
  set: ast.SelectSetQuery,
  { around, resolver }: { around: NameScope; resolver: Resolver },
): CteRows {
  resolver.next.cte += 1
  const id = resolver.next.cte
  const start = resolver.query(set.initial_select_query, around)
  slot.rows = { id, columns: columnsOf(slot.node, start) }
  const whole = resolver.query(set, around)
  const recursive = slot.rows.columns.map((column) => column.id)
  resolver.ctes.push({ id, query: whole.query, materialized: null, recursive })
  return slot.rows
}
