/** The select list: stars and COLUMNS expanded, every column with the name the answer shows. */

import { RE2JS } from 're2js'

import type * as ast from '../ast.ts'
import { accessMember, resolveAlias } from './fields.ts'
import type { Shown } from './grouping.ts'
import { meant, refuse } from './refuse.ts'
import { bareColumns, type NamedExpr, type Resolver, type Scope } from './scope.ts'

/** How an expression without a name of its own is called: its canonical text. */
export type NameOf = (node: ast.Expr) => string

/** All columns of a select list, in order. */
export function resolveColumns(
  list: readonly ast.Expr[],
  scope: Scope,
  { resolver, nameOf }: { readonly resolver: Resolver; readonly nameOf: NameOf },
): readonly Shown[] {
  return list.flatMap((node): readonly Shown[] => {
    const here = (columns: readonly NamedExpr[]): readonly Shown[] =>
      columns.map((column) => ({ ...column, at: node }))
    if (node.kind === 'Field' && node.chain.at(-1) === '*') {
      return here(starOf(node.chain.slice(0, -1), scope, node))
    }
    const tuple = untupled(node)
    if (tuple !== null) return here(itemsOf(tuple, scope, { resolver, nameOf }))
    if (node.kind === 'ColumnsExpr') return here(columnsOf(node, scope, resolver))
    const slot = node.kind === 'Alias' ? scope.aliases.get(node.alias) : undefined
    const expr =
      slot !== undefined && node.kind === 'Alias' && slot.node === node.expr
        ? resolveAlias(slot, scope, resolver)
        : resolver.expr(node, scope)
    return [{ name: nameOf(node), expr, at: node }]
  })
}

/** A tuple whose items shall be columns of their own, and what they are called together. */
type Untupled = { readonly node: ast.Expr; readonly name: string | null }

function untupled(node: ast.Expr): Untupled | null {
  const called = node.kind === 'Alias' ? node.expr : node
  const [only] = called.kind === 'Call' && called.name === 'untuple' ? called.args : []
  if (only === undefined) return null
  return { node: only, name: node.kind === 'Alias' ? node.alias : null }
}

function itemsOf(
  { node, name }: Untupled,
  scope: Scope,
  { resolver, nameOf }: { readonly resolver: Resolver; readonly nameOf: NameOf },
): readonly NamedExpr[] {
  const tuple = resolver.expr(node, scope)
  if (tuple.type.kind !== 'tuple') throw refuse('untuple needs a tuple', node)
  return tuple.type.items.map((_, index) => ({
    name: `${name ?? nameOf(node)}.${index + 1}`,
    expr: accessMember(tuple, index + 1, { node, resolver }),
  }))
}

/** What a star stands for: all columns of FROM, or those of one table. */
export function starOf(
  chain: readonly string[],
  scope: Scope,
  node: ast.Place,
): readonly NamedExpr[] {
  const [name] = chain
  if (scope.entries.length === 0) throw refuse('Cannot use "*" without a FROM clause', node)
  if (name === undefined) {
    return scope.entries.flatMap(bareColumns)
  }
  const entry = scope.entries.find((known) => known.name === name)
  if (entry === undefined || chain.length > 1) {
    const names = scope.entries.map((known) => known.name ?? '')
    throw refuse(`Unable to resolve field: ${chain.join('.')}.*${meant(name, names)}`, node)
  }
  return entry.star()
}

const PATTERN_LENGTH_MAX = 1000

function columnsOf(node: ast.ColumnsExpr, scope: Scope, resolver: Resolver): readonly NamedExpr[] {
  if (node.columns !== null) {
    return node.columns.map((column) => ({
      name: column.kind === 'Field' ? (column.chain.at(-1) ?? '') : '',
      expr: resolver.expr(column, scope),
    }))
  }
  const all = starOf(node.table ?? [], scope, node)
  const kept = all.filter((column) => !node.exclude.includes(column.name))
  if (node.regex === null) return kept
  const matches = nameMatcher(node.regex, node)
  return kept.filter((column) => matches(column.name))
}

/** Patterns run over a few dozen names of the catalogue and aliases; RE2 keeps them linear. */
function nameMatcher(pattern: string, node: ast.Place): (name: string) => boolean {
  if (pattern.length > PATTERN_LENGTH_MAX) throw refuse('The pattern of COLUMNS is too long', node)
  try {
    const compiled = RE2JS.compile(pattern)
    return (name) => compiled.matcher(name).find()
  } catch {
    throw refuse(`Not a regular expression: ${pattern}`, node)
  }
}
