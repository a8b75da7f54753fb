/** Columns beside aggregations: each must be a key of GROUP BY, or the question means nothing. */

import type { Place } from '../ast.ts'
import type { Expr } from '../ir.ts'
import type { GroupBy, Relation } from '../ir-queries.ts'
import { mapChildren } from '../passes/walk.ts'
import { refuse } from './refuse.ts'

/** Part of a select that shows or orders groups, with its name and place in the text. */
export type Shown = { readonly expr: Expr; readonly name: string; readonly at: Place }

/** Refuses a select that groups, or aggregates all rows, and shows a column which is neither gathered nor a key. */
export function requireGrouped(
  shown: readonly Shown[],
  group_by: GroupBy | null,
  from: Relation | null,
): void {
  if (group_by?.mode === 'all' || from === null) return
  const keys = group_by?.sets.flat() ?? []
  if (keys.length === 0 && !shown.some(({ expr }) => gathers(expr))) return
  const known = new Map<string, Set<string>>()
  for (const key of keys) {
    const same_kind = known.get(key.kind) ?? new Set()
    known.set(key.kind, same_kind.add(identity(key)))
  }
  const own = relationsIn(from)
  for (const { expr, name, at } of shown) {
    if (!isLoose(expr, known, own)) continue
    throw refuse(`Column '${name}' is not under an aggregate function and not in GROUP BY`, at)
  }
}

/** Refuses aggregations where there are no groups yet. */
export function requireUngathered(parts: readonly Expr[], clause: string, at: Place): void {
  for (const part of parts) {
    if (gathers(part)) throw refuse(`Aggregations cannot stand in ${clause}`, at)
  }
}

/** Whether an aggregation is in it. The function of a window is none, but its arguments may hold some. */
function gathers(expr: Expr): boolean {
  if (expr.kind === 'apply' && expr.aggregate !== null) return true
  if (expr.kind === 'window' && expr.call.kind === 'apply') return expr.call.args.some(gathers)
  return someChild(expr, gathers)
}

/** Whether a test holds for any expression directly inside; sub-selects are not looked into. */
function someChild(expr: Expr, test: (child: Expr) => boolean): boolean {
  let found = false
  mapChildren(
    expr,
    (child) => {
      found ||= test(child)
      return child
    },
    (query) => query,
  )
  return found
}

/** Whether a column of the select's own rows is reached without passing a key or an aggregation. */
function isLoose(
  expr: Expr,
  keys: ReadonlyMap<string, Set<string>>,
  own: ReadonlySet<number>,
): boolean {
  if (expr.kind === 'apply' && expr.aggregate !== null) return false
  if (keys.get(expr.kind)?.has(identity(expr)) === true) return false
  if (expr.kind === 'column') return own.has(expr.relation)
  // The call of a window stands for itself: only what it works on must be grouped.
  if (expr.kind === 'window' && expr.call.kind === 'apply') {
    return expr.call.args.some((arg) => isLoose(arg, keys, own))
  }
  return someChild(expr, (child) => isLoose(child, keys, own))
}

function relationsIn(relation: Relation, found: Set<number> = new Set()): ReadonlySet<number> {
  if (relation.kind !== 'join') return found.add(relation.id)
  relationsIn(relation.left, found)
  return relationsIn(relation.right, found)
}

/** The same text for the same expression. */
export function identity(expr: Expr | undefined): string {
  return JSON.stringify(expr, (key, value: unknown) => {
    if (key === 'at') return undefined
    return typeof value === 'bigint' ? `${value}n` : value
  })
}

/** The same text for expressions that only differ in which parameters their lambdas have. No parameter from outside may be in it. */
export function likeness(expr: Expr): string {
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
