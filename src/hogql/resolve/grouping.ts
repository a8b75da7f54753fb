/** GROUP BY checks: every column beside an aggregation must depend on a key. */

import { GROUPING_OF_KEYS } from '../functions/aggregates/grouping-sets.ts'
import { mapChildren, operandsOf, someExpr } from '../passes/walk.ts'
import {
  type GroupBy,
  type ItemOf,
  type Relation,
  type ResolvedExpr,
  type ResolvedSelect,
  relationIds,
} from '../sql/ir.ts'
import type { SourceSpan } from '../syntax/ast.ts'
import { refuse } from './refusals.ts'

type TupleKeyItems = {
  /** Identities of the keys. */
  readonly keys: ReadonlySet<string>
  readonly items: ReadonlyMap<string, ItemOf>
  /** Keys with lambdas, by likeness: lambda parameters have different ids at each occurrence. */
  readonly alike: ReadonlyMap<string, ResolvedExpr>
}

/** The select with its columns, orders and HAVING reading the items of tuple keys. */
export function resolveGroupKeys(select: ResolvedSelect): ResolvedSelect {
  const known = itemsOf(select.group_by)
  if (known === null) return select
  return mapGroupedParts(select, (expr) => readItems(expr, known))
}

/** Maps the expressions that are computed per group: columns, HAVING, QUALIFY and orders. */
function mapGroupedParts(
  select: ResolvedSelect,
  map: (expr: ResolvedExpr) => ResolvedExpr,
): ResolvedSelect {
  return {
    ...select,
    columns: select.columns.map((column) => ({ ...column, expr: map(column.expr) })),
    having: select.having === null ? null : map(select.having),
    qualify: select.qualify === null ? null : map(select.qualify),
    order_by: select.order_by.map((order) => ({ ...order, expr: map(order.expr) })),
  }
}

function itemsOf(group_by: GroupBy | null): TupleKeyItems | null {
  const keys = group_by?.sets.flat() ?? []
  const known = new Set(keys.map(groupKeyIdentity))
  const items = new Map<string, ItemOf>()
  for (const key of keys) {
    if (key.kind !== 'tuple') continue
    for (const [index, item] of key.items.entries()) {
      const name = groupKeyIdentity(item)
      if (known.has(name)) continue
      items.set(name, { kind: 'item', of: key, position: index + 1, type: item.type })
    }
  }
  const alike = new Map(
    keys
      .filter((key) => someExpr(key, ({ kind }) => kind === 'lambda'))
      .map((key) => [groupKeyLikeness(key), key]),
  )
  return items.size + alike.size === 0 ? null : { keys: known, items, alike }
}

/** Top-down: does not descend into keys and aggregations. */
function readItems(expr: ResolvedExpr, known: TupleKeyItems): ResolvedExpr {
  if (expr.kind === 'apply' && expr.aggregate !== null) return expr
  const name = groupKeyIdentity(expr)
  if (known.keys.has(name)) return expr
  const key = known.alike.size === 0 ? undefined : known.alike.get(groupKeyLikeness(expr))
  if (key !== undefined) return key
  const item = known.items.get(name)
  if (item !== undefined && expr.kind !== 'value') return item
  return mapChildren(
    expr,
    (child) => readItems(child, known),
    (query) => query,
  )
}

/** The select with its calls of grouping() lowered; calls elsewhere are refused later. */
export function resolveGroupingCalls(select: ResolvedSelect): ResolvedSelect {
  const { group_by } = select
  if (group_by === null || group_by.mode === 'all') return select
  const keys = new Set(group_by.sets.flat().map(groupKeyIdentity))
  return mapGroupedParts(select, (expr) => replaceGroupingCalls(expr, keys))
}

/** Does not descend into aggregations: their arguments are not grouped yet. */
function replaceGroupingCalls(expr: ResolvedExpr, keys: ReadonlySet<string>): ResolvedExpr {
  if (expr.kind === 'apply' && expr.aggregate !== null) return expr
  if (expr.kind === 'apply' && expr.name.toLowerCase() === 'grouping') {
    return expr.args.every((arg) => keys.has(groupKeyIdentity(arg)))
      ? { ...expr, name: GROUPING_OF_KEYS }
      : expr
  }
  return mapChildren(
    expr,
    (child) => replaceGroupingCalls(child, keys),
    (query) => query,
  )
}

/** A column or order of a grouped select, with its name and source span. */
export type OutputExpr = {
  readonly expr: ResolvedExpr
  readonly name: string
  readonly at: SourceSpan
}

/**
 * Refuses a select that groups, or aggregates all rows, and has a column that is neither aggregated
 * nor a key.
 */
export function requireGrouped(
  shown: readonly OutputExpr[],
  group_by: GroupBy | null,
  from: Relation | null,
): void {
  if (group_by?.mode === 'all' || from === null) return
  const keys = group_by?.sets.flat() ?? []
  if (keys.length === 0 && !shown.some(({ expr }) => hasAggregate(expr))) return
  const known = new Map<string, Set<string>>()
  for (const key of keys) {
    const same_kind = known.get(key.kind) ?? new Set()
    known.set(key.kind, same_kind.add(groupKeyIdentity(key)))
  }
  const own_relations = new Set(relationIds(from))
  for (const { expr, name, at } of shown) {
    if (!isUngrouped(expr, known, own_relations)) continue
    throw refuse(`Column '${name}' is not under an aggregate function and not in GROUP BY`, at)
  }
}

/** Refuses aggregations where rows are not grouped yet. */
export function refuseAggregates(
  parts: readonly ResolvedExpr[],
  clause: string,
  at: SourceSpan,
): void {
  for (const part of parts) {
    if (hasAggregate(part)) throw refuse(`Aggregations cannot stand in ${clause}`, at)
  }
}

/**
 * Whether an expression contains an aggregation. A window function is none, but its arguments may
 * contain some.
 */
function hasAggregate(expr: ResolvedExpr): boolean {
  if (expr.kind === 'apply' && expr.aggregate !== null) return true
  if (expr.kind === 'window' && expr.call.kind === 'apply') return expr.call.args.some(hasAggregate)
  return operandsOf(expr).some(hasAggregate)
}

/** Whether a column of the select's rows is reached without passing a key or an aggregation. */
function isUngrouped(
  expr: ResolvedExpr,
  keys: ReadonlyMap<string, Set<string>>,
  own_relations: ReadonlySet<number>,
): boolean {
  if (expr.kind === 'apply' && expr.aggregate !== null) return false
  if (keys.get(expr.kind)?.has(groupKeyIdentity(expr)) === true) return false
  if (expr.kind === 'column') return own_relations.has(expr.relation)
  // Of a window call only the arguments must be grouped.
  if (expr.kind === 'window' && expr.call.kind === 'apply') {
    return expr.call.args.some((arg) => isUngrouped(arg, keys, own_relations))
  }
  return operandsOf(expr).some((operand) => isUngrouped(operand, keys, own_relations))
}

/** A canonical text of an expression: equal for equal expressions. */
export function groupKeyIdentity(expr: ResolvedExpr | undefined): string {
  return JSON.stringify(expr, (key, value: unknown) => {
    if (key === 'at') return undefined
    return typeof value === 'bigint' ? `${value}n` : value
  })
}

/**
 * A canonical text that ignores the ids of lambda parameters. The expression must not contain
 * parameters of outer lambdas.
 */
export function groupKeyLikeness(expr: ResolvedExpr): string {
  const ids = new Map<unknown, number>()
  const renamed = (value: unknown): unknown => {
    if (typeof value === 'bigint') return `${value}n`
    if (!isLocal(value)) return value
    const id = ids.get(value.id) ?? ids.size
    ids.set(value.id, id)
    return { ...value, id }
  }
  return JSON.stringify(expr, (key, value: unknown) => (key === 'at' ? undefined : renamed(value)))
}

function isLocal(value: unknown): value is { readonly kind: 'local'; readonly id: number } {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'local'
}
