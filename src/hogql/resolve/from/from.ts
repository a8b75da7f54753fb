/** FROM: tables, sub-selects, CTEs and table functions as scope entries, and their joins. */

import type { NamesOf } from '../../extensions/expand-pivots.ts'
import { rewriteTable } from '../../extensions/rewrites.ts'
import { type JoinKind, queryColumns, type Relation, type ResolvedExpr } from '../../sql/ir.ts'
import type * as ast from '../../syntax/ast.ts'
import { field, tuple } from '../../syntax/nodes.ts'
import { RESOURCE_NAMES } from '../../tables/resources.ts'
import { TABLES } from '../../tables/tables.ts'
import { queryOfTag } from '../query-tags.ts'
import { nearestName, refuse } from '../refusals.ts'
import {
  type NamedColumn,
  type NameScope,
  type Resolver,
  type ScopeEntry,
  withoutRows,
} from '../scope.ts'
import { findRows } from './ctes.ts'
import { hasSwappedSides, joinKind, requireCondition } from './join-kinds.ts'
import { openResource } from './resources.ts'
import { openSchema, SCHEMA_TABLES } from './schema.ts'
import { openColumns, openTable } from './sources.ts'
import { arrayJoin, type JoinedSide, openSeries, sampleRelation } from './table-functions.ts'
import { joinUsing } from './using.ts'

/**
 * A resolved FROM. Call `relation` after every expression of the select is resolved, because fields
 * add joins.
 */
export type From = {
  readonly relation: () => Relation | null
  /** Conditions that FROM adds to WHERE: SAMPLE. */
  readonly conditions: readonly ResolvedExpr[]
}

type FromItem = {
  readonly entry: ScopeEntry
  readonly join: JoinKind | null
  readonly on: ResolvedExpr | null
  /** The sides are swapped: all tables before this one are its right side. */
  readonly is_swapped: boolean
}
type FromContext = { readonly scope: NameScope; readonly resolver: Resolver }

/** Resolves FROM with all joins and ARRAY JOIN; adds the entries to the scope. */
export function resolveFrom(select: ast.SelectQuery, scope: NameScope, resolver: Resolver): From {
  const at: FromContext = { scope, resolver }
  const items: FromItem[] = []
  const conditions: ResolvedExpr[] = []
  for (let join = select.select_from; join !== null; join = join.next_join) {
    const item = resolveJoin(join, at)
    items.push(item)
    if (join.sample !== null) conditions.push(...sampleRelation(join.sample, item.entry))
  }
  const arrays = select.array_join_list.length === 0 ? null : arrayJoin(select, at)
  return {
    conditions,
    relation: () => {
      const joined = joinAll(items)
      const with_arrays = arrays === null ? joined : joinTo(joined, arrays)
      return scope.unnests.reduce<Relation | null>(
        (left, unnest) => joinTo(left, { join: 'CROSS', right: unnest, on: null }),
        with_arrays,
      )
    },
  }
}

function joinTo(left: Relation | null, { join, right, on }: JoinedSide): Relation {
  return left === null ? right : { kind: 'join', join, left, right, on }
}

function joinAll(items: readonly FromItem[]): Relation | null {
  return items.reduce<Relation | null>((left, { entry, join, on, is_swapped }) => {
    const right = entry.relation()
    return is_swapped && left !== null
      ? joinTo(right, { join: join ?? 'CROSS', right: left, on })
      : joinTo(left, { join: join ?? 'CROSS', right, on })
  }, null)
}

// ── one table ────────────────────────────────────────────────────────────────────────────────

function resolveJoin(node: ast.JoinExpr, at: FromContext): FromItem {
  const { scope } = at
  const stated_kind = node.join_type === null ? null : joinKind(node)
  const entry = openEntry(node, at)
  if (entry.name !== null && scope.entries.some((other) => other.name === entry.name)) {
    throw refuse(`Already have joined a table called "${entry.name}". Can't redefine.`, node)
  }
  const before = [...scope.entries]
  scope.entries.push(entry)
  const constraint = node.natural ? commonColumns(node, before, entry) : node.constraint
  const on =
    constraint === null
      ? null
      : constraint.constraint_type === 'USING'
        ? joinUsing(constraint, { before, entry, kind: stated_kind, at })
        : at.resolver.expr(constraint.expr, scope)
  // A natural join without common columns is a cross join.
  const kind = node.natural && on === null ? 'CROSS' : stated_kind
  if (kind !== null) requireCondition(kind, on, node)
  if (kind === 'LEFT' || kind === 'ASOF LEFT' || kind === 'FULL') entry.loosen()
  if (kind === 'RIGHT' || kind === 'FULL') for (const left of before) left.loosen()
  // Semi and anti joins test for existence: the columns of that side are not visible.
  const is_swapped = hasSwappedSides(node)
  if (kind === 'SEMI' || kind === 'ANTI') hideEntries(scope, is_swapped ? before : [entry])
  if (is_swapped) entry.merged.clear()
  return { entry, join: kind, on, is_swapped }
}

function hideEntries({ entries }: NameScope, unread: readonly ScopeEntry[]): void {
  const read = entries.filter((entry) => !unread.includes(entry))
  entries.splice(0, entries.length, ...read)
}

/** NATURAL: USING with every name that both sides have. */
function commonColumns(
  node: ast.JoinExpr,
  before: readonly ScopeEntry[],
  entry: ScopeEntry,
): ast.JoinConstraint | null {
  const left_names = new Set(before.flatMap((left) => left.star().map((column) => column.name)))
  const names = entry.star().filter((column) => left_names.has(column.name))
  if (names.length === 0) return null
  const expr = tuple(
    names.map((column) => field([column.name], node)),
    node,
  )
  return {
    kind: 'JoinConstraint',
    constraint_type: 'USING',
    expr,
    start: node.start,
    end: node.end,
  }
}

function openEntry(node: ast.JoinExpr, at: FromContext): ScopeEntry {
  const { table } = node
  switch (table.kind) {
    case 'Field':
      return node.table_args === null ? openNamed(node, table, at) : openSeries(node, table, at)
    case 'SelectQuery':
    case 'SelectSetQuery':
      return openSelect(table, node, at)
    case 'ValuesQuery':
      return openSelect(table, node, at)
    case 'Placeholder':
      throw refuse('Unresolved placeholder', table)
    case 'PivotExpr':
    case 'UnpivotExpr':
      return openRewritten(table, node, at)
    case 'HogQLXTag':
      return openEntry({ ...node, table: tableOf(queryOfTag(table), table) }, at)
  }
}

function tableOf(query: ast.Select, tag: ast.HogQLXTag): ast.TableExpr {
  if (query.kind !== 'Placeholder') return query
  throw refuse('Unresolved placeholder', tag)
}

function openRewritten(table: ast.TableExpr, node: ast.JoinExpr, at: FromContext): ScopeEntry {
  const rows = rewriteTable(table, namesIn(at))
  if (rows === null) throw new Error(`no rewrite takes ${table.kind}`)
  return openSelect(rows, node, at)
}

/** Resolves a select only for the names of its columns. */
function namesIn({ scope, resolver }: FromContext): NamesOf {
  return (select) => resolver.query(select, withoutRows(scope) ?? scope).names
}

function openSelect(
  table: ast.SelectQuery | ast.SelectSetQuery | ast.ValuesQuery,
  node: ast.JoinExpr,
  { scope, resolver }: FromContext,
): ScopeEntry {
  const { query, names } = resolver.query(table, withoutRows(scope) ?? scope)
  const output_names = node.column_aliases ?? names
  const columns = queryColumns(query).map(
    ({ id, type }, index): NamedColumn => ({
      id,
      type,
      name: output_names[index] ?? names[index] ?? '',
    }),
  )
  resolver.next.relation += 1
  return openColumns(node.alias, columns, { kind: 'derived', id: resolver.next.relation, query })
}

function openNamed(node: ast.JoinExpr, table: ast.Field, at: FromContext): ScopeEntry {
  const name = table.chain.join('.')
  const alias = node.alias ?? table.chain.at(-1) ?? null
  const rows = table.chain.length === 1 ? findRows(name, at.scope, at.resolver) : null
  if (rows !== null) {
    at.resolver.next.relation += 1
    const columns = rows.columns.map((column, index) => ({
      ...column,
      name: node.column_aliases?.[index] ?? column.name,
    }))
    return openColumns(alias, columns, {
      kind: 'cte_scan',
      id: at.resolver.next.relation,
      cte: rows.id,
    })
  }
  const def = TABLES.get(name)
  if (def !== undefined) return openTable(def, alias, at.resolver)
  const other = openSchema(name, alias, at.resolver) ?? openResource(name, alias, at.resolver)
  if (other !== null) return other
  const nearest = nearestName(name, [...TABLES.keys(), ...RESOURCE_NAMES, ...SCHEMA_TABLES])
  const hint = nearest === null ? '' : ` Perhaps you meant "${nearest}"?`
  throw refuse(`Unknown table \`${name}\`.${hint}`, table)
}
