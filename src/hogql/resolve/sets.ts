/** Set operations and VALUES: legs of one width, their columns brought to common types. */

import { rewriteSet } from '../extensions/rewrites.ts'
import { mapExpr } from '../passes/walk.ts'
import {
  NO_LIMITS,
  type OrderBy,
  type Output,
  queryColumns,
  type ResolvedExpr,
  type ResolvedQuery,
  type ResolvedSelect,
  type SelectLimits,
  type SetOperation,
  type SetQuery,
  selectFrom,
} from '../sql/ir.ts'
import { applyFragment, NULL_VALUE } from '../sql/sql-fragments.ts'
import type * as ast from '../syntax/ast.ts'
import { superType } from '../types/type-unify.ts'
import type { Type } from '../types/types.ts'
import { declareCtes } from './from/ctes.ts'
import { openColumns } from './from/sources.ts'
import { resolveLimits } from './limits.ts'
import { refuse } from './refusals.ts'
import { innerScope, type NamedQuery, type NameScope, type Resolver } from './scope.ts'

/** INTERSECT and EXCEPT without a word are ALL, as in ClickHouse. */
const OPERATORS: Readonly<Record<string, SetOperation>> = {
  'UNION ALL': 'UNION ALL',
  'UNION DISTINCT': 'UNION',
  INTERSECT: 'INTERSECT ALL',
  'INTERSECT ALL': 'INTERSECT ALL',
  'INTERSECT DISTINCT': 'INTERSECT',
  EXCEPT: 'EXCEPT ALL',
  'EXCEPT ALL': 'EXCEPT ALL',
  'EXCEPT DISTINCT': 'EXCEPT',
}

/** Resolves legs joined by UNION, INTERSECT and EXCEPT. */
export function resolveSet(
  node: ast.SelectSetQuery,
  outer: NameScope,
  resolver: Resolver,
): NamedQuery {
  const plain_node = rewriteSet(node)
  if (plain_node !== null) return resolver.query(plain_node, outer)
  const scope = innerScope(outer)
  // The first leg's WITH is visible in all legs.
  const first = hoistCtes(node.initial_select_query, scope)
  const own_legs = [
    resolver.query(first, scope),
    ...node.subsequent_select_queries.map((leg) => resolver.query(leg.select_query, scope)),
  ]
  const legs = isByName(node) ? alignNames(own_legs, node, resolver) : own_legs
  const [head, ...others] = legs
  if (head === undefined) throw new Error('a set operation has a first leg')
  const shapes = legs.map((leg) => queryColumns(leg.query))
  const width = shapes[0]?.length ?? 0
  for (const index of others.keys()) {
    if (shapes[index + 1]?.length === width) continue
    throw refuse(
      'All parts of a set operation need the same number of columns',
      node.subsequent_select_queries[index] ?? node,
    )
  }
  resolver.spend(width * legs.length, node)
  const types = Array.from({ length: width }, (_, index) =>
    superType(shapes.flatMap((columns) => columns[index]?.type ?? [])),
  )
  const aligned = legs.map((leg) => alignTypes(leg.query, types, resolver))
  const [first_query, ...rest] = aligned
  if (first_query === undefined) throw new Error('a set operation has a first leg')
  const operators = node.subsequent_select_queries.map((leg) => operatorOf(leg))
  const columns = queryColumns(first_query).map((column, index) => ({
    ...column,
    type: types[index] ?? column.type,
  }))
  const set: SetQuery = {
    kind: 'set',
    columns,
    first: first_query,
    rest: rest.map((query, index) => ({ operator: operators[index] ?? 'UNION ALL', query })),
    ...NO_LIMITS,
  }
  const limits = limitsOfSet(node, set, { names: head.names, resolver })
  const query = limits.order_by.some(isFloatDown)
    ? orderInSelect(set, limits, resolver)
    : { ...set, ...limits }
  return { query, names: head.names }
}

const isFloatDown = ({ expr, descending }: OrderBy): boolean =>
  descending && expr.type.kind === 'float'

/** Wraps a set in a select to order it: NaN must sort last, and a set can only be ordered by column names. */
function orderInSelect(set: SetQuery, limits: SelectLimits, resolver: Resolver): ResolvedSelect {
  resolver.next.relation += 1
  const relation = { kind: 'derived', id: resolver.next.relation, query: set } as const
  const columns = set.columns.map(({ id, type }): Output => {
    resolver.next.column += 1
    const expr: ResolvedExpr = { kind: 'column', relation: relation.id, name: `c${id}`, type }
    return { id: resolver.next.column, expr }
  })
  const expr = (part: ResolvedExpr): ResolvedExpr =>
    part.kind === 'column' && part.relation === 0 ? { ...part, relation: relation.id } : part
  const order_by = limits.order_by.map((order) => ({
    ...order,
    expr: mapExpr(order.expr, { expr }),
  }))
  return { ...selectFrom(columns, relation), ...limits, order_by }
}

function operatorOf(leg: ast.SelectSetNode): SetOperation {
  const operator = OPERATORS[leg.set_operator.replace(BY_NAME, '')]
  if (operator === undefined) throw new Error(`a set operator is called ${leg.set_operator}`)
  return operator
}

const BY_NAME = / BY NAME$/

/** Whether legs are matched by column names. Refuses a mix. */
function isByName(node: ast.SelectSetQuery): boolean {
  const [first, ...others] = node.subsequent_select_queries.map((leg) => ({
    leg,
    by_name: BY_NAME.test(leg.set_operator),
  }))
  const odd = others.find((other) => other.by_name !== first?.by_name)
  if (odd !== undefined) throw refuse('BY NAME goes for all parts or for none', odd.leg)
  return first?.by_name ?? false
}

/** Every leg with all columns, NULL where it has none of that name. */
function alignNames(
  legs: readonly NamedQuery[],
  node: ast.SelectSetQuery,
  resolver: Resolver,
): readonly NamedQuery[] {
  const names = [...new Set(legs.flatMap((leg) => leg.names))]
  resolver.spend(names.length * legs.length, node)
  return legs.map((leg) => {
    const columns = queryColumns(leg.query).map((column, index) => ({
      ...column,
      name: leg.names[index] ?? '',
    }))
    resolver.next.relation += 1
    const relation = { kind: 'derived', id: resolver.next.relation, query: leg.query } as const
    const entry = openColumns(null, columns, relation)
    const outputs = names.map((name): Output => {
      const member = entry.find(name)
      resolver.next.column += 1
      return { id: resolver.next.column, expr: member?.kind === 'value' ? member.expr : NULL_VALUE }
    })
    return { query: selectFrom(outputs, relation), names }
  })
}

function hoistCtes(
  node: ast.Select | ast.ValuesQuery,
  scope: NameScope,
): ast.Select | ast.ValuesQuery {
  if (node.kind !== 'SelectQuery') return node
  declareCtes(node.ctes, scope)
  return { ...node, ctes: [] }
}

/** ORDER BY of a whole set refers to its column names. */
function limitsOfSet(
  node: ast.SelectSetQuery,
  set: SetQuery,
  { names, resolver }: { readonly names: readonly string[]; readonly resolver: Resolver },
): SelectLimits {
  const columns = set.columns.map((column, index) => ({ ...column, name: names[index] ?? '' }))
  // Relation 0 prints as a bare column name.
  const entry = openColumns(null, columns, { kind: 'cte_scan', id: 0, cte: 0 })
  const scope = innerScope(null, { entries: [entry] })
  return resolveLimits(node, { scope, resolver, columns: entry.star() })
}

/** The query with its columns converted to the given types; a set is wrapped in a select for that. */
function alignTypes(
  query: ResolvedQuery,
  types: readonly Type[],
  resolver: Resolver,
): ResolvedQuery {
  if (query.kind === 'select') {
    const columns = query.columns.map((column, index) => ({
      ...column,
      expr: convertTo(column.expr, types[index] ?? column.expr.type),
    }))
    return { ...query, columns }
  }
  resolver.next.relation += 1
  const relation = { kind: 'derived', id: resolver.next.relation, query } as const
  const columns = query.columns.map(({ id, type }, index): Output => {
    resolver.next.column += 1
    const expr: ResolvedExpr = { kind: 'column', relation: relation.id, name: `c${id}`, type }
    return { id: resolver.next.column, expr: convertTo(expr, types[index] ?? type) }
  })
  return selectFrom(columns, relation)
}

function convertTo(expr: ResolvedExpr, type: Type): ResolvedExpr {
  return expr.type.kind === type.kind && !['array', 'tuple', 'map'].includes(type.kind)
    ? { ...expr, type }
    : applyFragment('asType', [expr], type)
}

// ── VALUES ───────────────────────────────────────────────────────────────────────────────────

/** Resolves VALUES. */
export function resolveValues(
  node: ast.ValuesQuery,
  scope: NameScope,
  resolver: Resolver,
): NamedQuery {
  const rows = node.rows.map((row) => row.map((expr) => resolver.expr(expr, scope)))
  const width = rows[0]?.length ?? 0
  if (rows.some((row) => row.length !== width))
    throw refuse('All rows of VALUES need the same number of items', node)
  const types = Array.from({ length: width }, (_, index) =>
    superType(rows.flatMap((row) => (row[index] === undefined ? [] : [row[index].type]))),
  )
  const aligned = rows.map((row) =>
    row.map((expr, index) => convertTo(expr, types[index] ?? expr.type)),
  )
  resolver.next.relation += 1
  const id = resolver.next.relation
  const columns = types.map((type, index): Output => {
    resolver.next.column += 1
    return {
      id: resolver.next.column,
      expr: { kind: 'column', relation: id, name: `c${index + 1}`, type },
    }
  })
  return {
    query: selectFrom(columns, { kind: 'rows', id, rows: aligned }),
    names: types.map((_, index) => `col${index}`),
  }
}
