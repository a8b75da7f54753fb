/** Arrays, tuples, dicts, indexes and the right side of IN. */

import { queryColumns, type ResolvedExpr, type ResolvedQuery, selectFrom } from '../sql/ir.ts'
import {
  applyFragment,
  bindInt,
  bindText,
  constantInt,
  constantText,
} from '../sql/sql-fragments.ts'
import type * as ast from '../syntax/ast.ts'
import { field, joinOf, selectOf } from '../syntax/nodes.ts'
import { tupleItem } from '../types/convert.ts'
import { superType } from '../types/type-unify.ts'
import {
  arrayType,
  elementType,
  STRING,
  TRUTH,
  type Type,
  tupleType,
  withNull,
} from '../types/types.ts'
import { accessMember } from './fields.ts'
import { refuse } from './refusals.ts'
import type { NameScope, Resolver } from './scope.ts'

/** `[a, b]`. */
export function resolveArray(
  node: ast.ArrayExpr,
  scope: NameScope,
  resolver: Resolver,
): ResolvedExpr {
  const args = node.exprs.map((expr) => resolver.expr(expr, scope))
  const type = arrayType(superType(args.map((arg) => arg.type)))
  return applyFragment('array', args, type)
}

/** `(a, b)`. */
export function resolveTuple(node: ast.Tuple, scope: NameScope, resolver: Resolver): ResolvedExpr {
  return tuple(node.exprs.map((expr) => resolver.expr(expr, scope)))
}

function tuple(items: readonly ResolvedExpr[]): ResolvedExpr {
  return { kind: 'tuple', items, type: tupleType(items.map((item) => item.type)) }
}

/** `{'k': v}`: a tagged tuple, as the interface reads it. */
export function resolveDict(node: ast.Dict, scope: NameScope, resolver: Resolver): ResolvedExpr {
  const members = node.items.flatMap((pair) => pair.map((expr) => resolver.expr(expr, scope)))
  return tuple([bindText('__hx_tag'), bindText('__hx_obj'), ...members])
}

/** `<Tag a={e}>…</Tag>`: a tagged tuple too, of alternating names and values. */
export function resolveTag(
  node: ast.HogQLXTag,
  scope: NameScope,
  resolver: Resolver,
): ResolvedExpr {
  const attributes = node.attributes.flatMap(({ name, value }) => [
    bindText(name),
    isList(value)
      ? tuple(value.map((child) => resolver.expr(child, scope)))
      : resolver.expr(value, scope),
  ])
  return tuple([bindText('__hx_tag'), bindText(node.tag), ...attributes])
}

function isList(value: ast.Expr | readonly ast.Expr[]): value is readonly ast.Expr[] {
  return Array.isArray(value)
}

/** `a[i]`: a member of JSON or of a map by its key, an element by its 1-based position. */
export function resolveIndex(
  node: ast.ArrayAccess,
  scope: NameScope,
  resolver: Resolver,
): ResolvedExpr {
  const of = resolver.expr(node.array, scope)
  const index = resolver.expr(node.property, scope)
  if (of.type.kind === 'array') {
    return applyFragment('arrayElement', [of, index], elementType(of.type))
  }
  const key = constantText(index) ?? constantInt(index)
  if (key !== null)
    return accessMember(of, typeof key === 'bigint' ? Number(key) : key, { node, resolver })
  if (of.type.kind === 'map') {
    return applyFragment('arrayElement', [of, index], elementType(of.type))
  }
  if (of.type.kind === 'json') {
    return applyFragment('memberOf', [of, index], withNull(STRING))
  }
  throw refuse('Only arrays, maps, tuples and properties can be indexed', node)
}

/** `a[from:to]`, both ends included. */
export function resolveSlice(
  node: ast.ArraySlice,
  scope: NameScope,
  resolver: Resolver,
): ResolvedExpr {
  const of = resolver.expr(node.array, scope)
  const from = node.start_expr === null ? bindInt(1, true) : resolver.expr(node.start_expr, scope)
  const to = node.end_expr === null ? [] : [resolver.expr(node.end_expr, scope)]
  return applyFragment('sliceOf', [of, from, ...to], of.type)
}

/** `x IN (…)`, `x IN [ … ]`, `x IN (select)`, `x IN rows`, and the negated forms. */
export function resolveIn(
  node: ast.CompareOperation,
  scope: NameScope,
  resolver: Resolver,
): ResolvedExpr {
  const name = node.op === 'not in' ? 'notIn' : 'in'
  const left = resolver.expr(node.left, scope)
  const query = queryOf(node.right, scope)
  if (query !== null) {
    const rows = resolver.query(query, scope).query
    return inQuery(name, left, mayMeetNull(left, rows) ? asTuples(rows, resolver) : rows)
  }
  // Constants in brackets are alternatives, even where their types have no common array type.
  if (node.right.kind === 'Array' && depthOf(left.type) === 0)
    return applyFragment(
      name,
      [left, ...node.right.exprs.map((item) => resolver.expr(item, scope))],
      TRUTH,
    )
  const right = resolver.expr(node.right, scope)
  const items = alternatives(left, right)
  if (items === null) return inArray(name, left, right)
  requireWidths(left, items, node)
  return applyFragment(name, [left, ...items], TRUTH)
}

/** Nesting depth of tuples and arrays, by their first items; it decides what IN compares. */
function depthOf(type: Type): number {
  if (type.kind === 'array') return 1 + depthOf(type.of)
  if (type.kind !== 'tuple') return 0
  const [first] = type.items
  return first === undefined ? 1 : 1 + depthOf(first)
}

/**
 * The alternatives of IN: the right side itself where it is nested as deeply as `left`, its items
 * where it is a tuple or an array literal. Null for arrays and maps that are known per row only.
 */
function alternatives(left: ResolvedExpr, right: ResolvedExpr): readonly ResolvedExpr[] | null {
  if (right.type.kind === 'map') return null
  if (depthOf(left.type) >= depthOf(right.type)) return [right]
  if (right.kind === 'tuple') return right.items
  if (right.kind === 'apply' && (right.name === 'tuple' || right.name === 'array'))
    return right.args
  if (right.type.kind !== 'tuple') return null
  return right.type.items.map((type, index) => tupleItem(right, index + 1, type))
}

/** Refuses rows whose width differs from the left side's. */
function requireWidths(
  left: ResolvedExpr,
  items: readonly ResolvedExpr[],
  node: ast.CompareOperation,
): void {
  if (left.type.kind !== 'tuple') return
  const width = left.type.items.length
  const is_odd = items.some(({ type }) => type.kind === 'tuple' && type.items.length !== width)
  if (is_odd) throw refuse('Both sides of IN need tuples of the same number of items', node)
}

function inArray(name: string, left: ResolvedExpr, right: ResolvedExpr): ResolvedExpr {
  const has = applyFragment('has', [right, left], TRUTH)
  return name === 'in' ? has : applyFragment('not', [has], TRUTH)
}

function inQuery(name: string, left: ResolvedExpr, query: ResolvedQuery): ResolvedExpr {
  const columns = queryColumns(query).map((column) => column.type)
  const [only] = columns
  const type = columns.length === 1 && only !== undefined ? only : tupleType(columns)
  return applyFragment(name, [left, { kind: 'subquery', form: 'rows', query, type }], TRUTH)
}

/** Whether rows of several columns are compared, some of which may be NULL. */
function mayMeetNull({ type }: ResolvedExpr, query: ResolvedQuery): boolean {
  const columns = queryColumns(query)
  if (type.kind !== 'tuple' || columns.length === 1) return false
  return [...type.items, ...columns.map((column) => column.type)].some((item) => item.nullable)
}

/**
 * Each row as one tuple: NULL inside a tuple compares like any value, inside a row it makes the
 * comparison NULL.
 */
function asTuples(query: ResolvedQuery, resolver: Resolver): ResolvedQuery {
  resolver.next.relation += 1
  resolver.next.column += 1
  const id = resolver.next.relation
  const items = queryColumns(query).map(
    (column): ResolvedExpr => ({
      kind: 'column',
      relation: id,
      name: `c${column.id}`,
      type: column.type,
    }),
  )
  const columns = [{ id: resolver.next.column, expr: tuple(items) }]
  return selectFrom(columns, { kind: 'derived', id, query })
}

/** A select, or the name of rows from WITH. */
function queryOf(right: ast.Expr, scope: NameScope): ast.Select | null {
  if (right.kind === 'SelectQuery' || right.kind === 'SelectSetQuery') return right
  if (right.kind !== 'Field' || right.chain.length !== 1) return null
  const [name = ''] = right.chain
  for (let at: NameScope | null = scope; at !== null; at = at.parent) {
    const slot = at.ctes.get(name)
    if (slot?.node.cte_type === 'subquery') return selectStarFrom(right)
  }
  return null
}

/** `SELECT * FROM table`. */
function selectStarFrom(table: ast.TableExpr): ast.SelectQuery {
  return { ...selectOf([field(['*'], table)], table), select_from: joinOf(table, table) }
}
