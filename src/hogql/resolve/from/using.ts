/** USING: columns of one name on both sides of a join are merged. */

import type { JoinKind, ResolvedExpr } from '../../sql/ir.ts'
import type { JoinConstraint } from '../../syntax/ast.ts'
import { applyFunction } from '../calls/calls.ts'
import { refuse, suggestName } from '../refusals.ts'
import { bareColumns, findBare, type NameScope, type Resolver, type ScopeEntry } from '../scope.ts'

type Sides = {
  readonly before: readonly ScopeEntry[]
  readonly entry: ScopeEntry
  readonly kind: JoinKind | null
  readonly at: { readonly scope: NameScope; readonly resolver: Resolver }
}

/**
 * The equalities of USING; in an ASOF join the last column is the order. Unqualified names then
 * refer to the merged column.
 */
export function joinUsing(
  constraint: JoinConstraint,
  { before, entry, kind, at }: Sides,
): ResolvedExpr {
  const columns = constraint.expr.kind === 'Tuple' ? constraint.expr.exprs : [constraint.expr]
  const is_asof = kind === 'ASOF' || kind === 'ASOF LEFT'
  const conditions = columns.map((column, index) => {
    const name = column.kind === 'Field' ? (column.chain[0] ?? '') : ''
    const left = before.find((known) => valueIn(known, name) !== null)
    const right = entry.find(name)
    const own = left === undefined ? null : valueIn(left, name)
    if (left === undefined || own === null || right?.kind !== 'value') {
      const names = bareColumns(entry).map((known) => known.name)
      throw refuse(`Unable to resolve field: ${name}${suggestName(name, names)}`, column)
    }
    entry.merged.add(name)
    const apply = (called: string, args: readonly ResolvedExpr[]): ResolvedExpr =>
      applyFunction(called, args, { ...at, node: column })
    const condition = apply(
      is_asof && index === columns.length - 1 ? 'greaterOrEquals' : 'equals',
      [own, right.expr],
    )
    if (kind === 'RIGHT' || kind === 'FULL') unite(name, { left, right: entry, kind, apply })
    return condition
  })
  const [only] = conditions
  if (conditions.length === 1 && only !== undefined) return only
  return applyFunction('and', conditions, { ...at, node: constraint })
}

function valueIn(entry: ScopeEntry, name: string): ResolvedExpr | null {
  const member = findBare(entry, name)
  return member?.kind === 'value' ? member.expr : null
}

type Union = {
  readonly left: ScopeEntry
  readonly right: ScopeEntry
  readonly kind: 'FULL' | 'RIGHT'
  readonly apply: (called: string, args: readonly ResolvedExpr[]) => ResolvedExpr
}

/**
 * Makes one column of both sides': when the left side may have no row, the right side's value takes its place.
 * Evaluated late, because joins that follow can make sides nullable.
 */
function unite(name: string, { left, right, kind, apply }: Union): void {
  const known = left.united.get(name)
  const read = (): readonly ResolvedExpr[] => {
    const before = known === undefined ? left.find(name) : { kind: 'value' as const, expr: known() }
    const after = right.find(name)
    return [before, after].flatMap((member) => (member?.kind === 'value' ? [member.expr] : []))
  }
  left.united.set(name, () => {
    const sides = read()
    const last = sides.at(-1)
    return kind === 'RIGHT' && last !== undefined ? last : apply('coalesce', sides)
  })
}
