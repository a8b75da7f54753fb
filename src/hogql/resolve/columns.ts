/** The select list: expands `*`, COLUMNS and untuple; names every column of the result. */

import { RE2JS } from 're2js'
import type * as ast from '../syntax/ast.ts'
import { childrenOf } from '../syntax/walk.ts'
import { accessMember, resolveAlias } from './fields.ts'
import type { OutputExpr } from './grouping.ts'
import { refuse, suggestName } from './refusals.ts'
import { bareColumns, type NamedExpr, type NameScope, type Resolver } from './scope.ts'
import { openColumnCount, partsOfName } from './size-limits.ts'

const OPAQUE: ReadonlySet<ast.Node['kind']> = new Set<ast.Node['kind']>([
  'Lambda',
  'SelectQuery',
  'SelectSetQuery',
])

/** Every alias with its expression, outermost first. */
export function aliasesIn(list: readonly ast.Expr[]): readonly (readonly [string, ast.Expr])[] {
  const aliases: (readonly [string, ast.Expr])[] = []
  const waiting: ast.Node[] = list.toReversed()
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'Alias') aliases.push([node.alias, node.expr])
    if (!OPAQUE.has(node.kind)) waiting.push(...childrenOf(node).toReversed())
  }
  return aliases
}

/** The name of an expression without an alias: its canonical text. */
export type NameOf = (node: ast.Expr) => string

/** All columns of a select list, in order. */
export function resolveColumns(
  list: readonly ast.Expr[],
  scope: NameScope,
  { resolver, nameOf }: ColumnTools,
): readonly OutputExpr[] {
  const count = openColumnCount()
  const outputs: OutputExpr[] = []
  for (const at of list) {
    for (const { name, expr } of columnsFor(at, scope, { resolver, nameOf })) {
      count(name, at)
      outputs.push({ name, expr, at })
    }
  }
  return outputs
}

type ColumnTools = { readonly resolver: Resolver; readonly nameOf: NameOf }

/** The columns that one item of the list expands to. */
function columnsFor(node: ast.Expr, scope: NameScope, tools: ColumnTools): readonly NamedExpr[] {
  const { resolver } = tools
  if (node.kind === 'Field' && node.chain.at(-1) === '*') {
    return starOf(node.chain.slice(0, -1), scope, { resolver, node })
  }
  const tuple = readUntuple(node)
  if (tuple !== null) return itemsOf(tuple, scope, tools)
  if (node.kind === 'ColumnsExpr') return columnsOf(node, scope, resolver)
  const slot = node.kind === 'Alias' ? scope.aliases.get(node.alias) : undefined
  const expr =
    slot !== undefined && node.kind === 'Alias' && slot.node === node.expr
      ? resolveAlias(slot, scope, resolver)
      : resolver.expr(node, scope)
  return [{ name: printedName(node, tools), expr }]
}

function printedName(node: ast.Expr, { resolver, nameOf }: ColumnTools): string {
  const name = nameOf(node)
  // Selects inside selects print their names at each level, so names are charged.
  resolver.spend(partsOfName(name), node)
  return name
}

/** A tuple whose items become columns, and the name they share. */
type TupleColumns = { readonly node: ast.Expr; readonly name: string | null }

function readUntuple(node: ast.Expr): TupleColumns | null {
  const called = node.kind === 'Alias' ? node.expr : node
  const [only] = called.kind === 'Call' && called.name === 'untuple' ? called.args : []
  if (only === undefined) return null
  return { node: only, name: node.kind === 'Alias' ? node.alias : null }
}

function itemsOf(
  { node, name }: TupleColumns,
  scope: NameScope,
  tools: ColumnTools,
): readonly NamedExpr[] {
  const { resolver } = tools
  const tuple = resolver.expr(node, scope)
  if (tuple.type.kind !== 'tuple') throw refuse('untuple needs a tuple', node)
  const common = name ?? printedName(node, tools)
  return tuple.type.items.map((_, index) => ({
    name: `${common}.${index + 1}`,
    expr: accessMember(tuple, index + 1, { node, resolver }),
  }))
}

/** Expands `*`: all columns of FROM, or those of one table. */
export function starOf(
  chain: readonly string[],
  scope: NameScope,
  { resolver, node }: { readonly resolver: Resolver; readonly node: ast.SourceSpan },
): readonly NamedExpr[] {
  const [name] = chain
  const charged = (columns: readonly NamedExpr[]): readonly NamedExpr[] => {
    resolver.spend(columns.length, node)
    return columns
  }
  if (scope.entries.length === 0) throw refuse('Cannot use "*" without a FROM clause', node)
  if (name === undefined) {
    return scope.entries.flatMap((entry) => charged(bareColumns(entry)))
  }
  const entry = scope.entries.find((known) => known.name === name)
  if (entry === undefined || chain.length > 1) {
    const names = scope.entries.map((known) => known.name ?? '')
    throw refuse(`Unable to resolve field: ${chain.join('.')}.*${suggestName(name, names)}`, node)
  }
  return charged(entry.star())
}

const PATTERN_LENGTH_MAX = 1000
/** Maximum states of a pattern's automaton: `(a{100}){10}` has 1000. */
const PATTERN_STATES_MAX = 1000
/** Longer names match no pattern: the catalog has none, but aliases can have any length. */
const MATCHED_NAME_LENGTH_MAX = 400
/** The work charged for compiling a pattern. */
const PATTERN_PARTS = 200
/** Per character of a name a pattern can be in any of its states: this many steps are charged as one part. */
const STEPS_PER_PART = 1000

function columnsOf(
  node: ast.ColumnsExpr,
  scope: NameScope,
  resolver: Resolver,
): readonly NamedExpr[] {
  if (node.columns !== null) {
    return node.columns.map((column) => ({
      name: column.kind === 'Field' ? (column.chain.at(-1) ?? '') : '',
      expr: resolver.expr(column, scope),
    }))
  }
  const all = starOf(node.table ?? [], scope, { resolver, node })
  const excluded = new Set(node.exclude)
  const remaining = all.filter((column) => !excluded.has(column.name))
  if (node.regex === null) return remaining
  resolver.spend(PATTERN_PARTS, node)
  const pattern = compilePattern(node.regex, node)
  return remaining.filter(({ name }) => {
    if (name.length > MATCHED_NAME_LENGTH_MAX) return false
    resolver.spend(Math.ceil((pattern.programSize() * name.length) / STEPS_PER_PART), node)
    return pattern.matcher(name).find()
  })
}

function compilePattern(pattern: string, node: ast.SourceSpan): RE2JS {
  if (pattern.length > PATTERN_LENGTH_MAX) throw refuse('The pattern of COLUMNS is too long', node)
  const compiled = tryCompile(pattern)
  if (compiled === null) {
    throw refuse(`Not a regular expression: ${pattern}`, node)
  }
  if (compiled.programSize() <= PATTERN_STATES_MAX) return compiled
  throw refuse('The pattern of COLUMNS is too long', node)
}

function tryCompile(pattern: string): RE2JS | null {
  try {
    return RE2JS.compile(pattern)
  } catch {
    return null
  }
}
