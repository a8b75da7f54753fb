/** ORDER BY … WITH FILL: rows for the values that are missing, put among the select's own. */

import type * as ast from '../ast.ts'
import type { OrderExpr } from '../ast-parts.ts'
import { queryColumns } from '../ir-queries.ts'
import { alias, and, call, compare, constant, field, selectSetOf, tuple } from '../nodes.ts'
import { defaultOf, gridOf } from './fill-grids.ts'
import { cell, type Filled, from, keyName, OWN, prefixOf, ROWS } from './fill-parts.ts'
import { identity } from './grouping.ts'
import { interpolated, numbered } from './interpolation.ts'
import { refuse } from './refuse.ts'
import type { Resolver, Scope } from './scope.ts'

/** The select that fills. Its own rows become a name from WITH in the scope. */
export function fillSelect(
  node: ast.SelectQuery,
  scope: Scope,
  resolver: Resolver,
): ast.SelectQuery {
  const filled = readFilled(node, scope, resolver)
  const { names, keys } = filled
  const rows = node.interpolate === null ? allRows(filled) : numbered(filled, allRows(filled))
  return {
    ...from(rows),
    select: names.map((name, index) => alias(interpolated(filled, index), name, node)),
    order_by: keys.map(({ order }, index) => ({
      ...order,
      with_fill: null,
      expr: field([keyName(index)], order),
    })),
    limit_by: node.limit_by,
    limit: node.limit,
    limit_percent: node.limit_percent,
    limit_with_ties: node.limit_with_ties,
    offset: node.offset,
  }
}

function readFilled(node: ast.SelectQuery, scope: Scope, resolver: Resolver): Filled {
  const fills = node.order_by.filter((order) => order.with_fill !== null)
  const [fill, second] = fills
  if (fill === undefined) throw refuse('INTERPOLATE needs WITH FILL', node)
  if (second !== undefined) throw refuse('Only one key can be filled', second)
  const written = node.order_by.map((order) => keyExpr(order, node.select))
  const inner: ast.SelectQuery = {
    ...node,
    select: [...node.select, ...written.map((expr, index) => alias(expr, keyName(index), expr))],
    order_by: [],
    interpolate: null,
    limit_by: null,
    limit: null,
    limit_percent: false,
    limit_with_ties: false,
    offset: null,
  }
  const { query, names } = resolver.query(inner, scope)
  const columns = queryColumns(query)
  const exprs = query.kind === 'select' ? query.columns.map(({ expr }) => identity(expr)) : []
  const count = names.length - written.length
  const known = columns.map((column, index) => ({
    ...column,
    name: index < count ? cell(index) : keyName(index - count),
  }))
  resolver.next.cte += 1
  const id = resolver.next.cte
  resolver.ctes.push({ id, query, materialized: true, recursive: null })
  scope.ctes.set(ROWS, {
    node: cteOf(inner),
    scope,
    rows: { id, columns: known },
    busy: false,
  })
  const at = node.order_by.indexOf(fill)
  const type = columns[count + at]?.type
  if (type === undefined) throw new Error('a key has a type')
  return {
    node,
    names: names.slice(0, count),
    shown: columns.slice(0, count).map((column, index) => {
      const key = exprs.indexOf(exprs[index] ?? '', count) - count
      return key >= 0 && key <= at ? key : defaultOf(column.type)
    }),
    keys: node.order_by.map((order, index) => ({
      order,
      missing: defaultOf(columns[count + index]?.type ?? type),
    })),
    at,
    grid: gridOf(fill, type),
  }
}

function cteOf(expr: ast.SelectQuery): ast.CTE {
  return {
    kind: 'CTE',
    name: ROWS,
    cte_type: 'subquery',
    expr,
    columns: null,
    using_key: null,
    materialized: true,
    recursive: false,
    start: expr.start,
    end: expr.end,
  }
}

/** A key written as a number is the column at that place. */
function keyExpr({ expr }: OrderExpr, select: readonly ast.Expr[]): ast.Expr {
  const position =
    expr.kind === 'PositionalRef'
      ? expr.index
      : expr.kind === 'Constant' && typeof expr.value === 'bigint'
        ? Number(expr.value)
        : null
  const column = position === null ? expr : select[position - 1]
  if (column === undefined) throw refuse(`There is no column ${position} to go by`, expr)
  return column.kind === 'Alias' ? column.expr : column
}

// ── the rows ─────────────────────────────────────────────────────────────────────────────────

/** The select's rows, and after them the missing ones. */
function allRows(filled: Filled): ast.SelectSetQuery {
  const { names, keys } = filled
  const own: ast.SelectQuery = {
    ...from(field([ROWS])),
    select: [
      ...names.map((_, index) => field([cell(index)])),
      ...keys.map((_, index) => field([keyName(index)])),
      alias(constant(1n), OWN),
    ],
  }
  return selectSetOf(own, [
    {
      kind: 'SelectSetNode',
      set_operator: 'UNION ALL',
      select_query: missingRows(filled),
      start: 0,
      end: 0,
    },
  ])
}

function missingRows(filled: Filled): ast.SelectQuery {
  const { shown, keys, at, grid } = filled
  const prefix = prefixOf(filled)
  const key = field([keyName(at)])
  const bounds: ast.SelectQuery = {
    ...from(field([ROWS])),
    // The count makes one row of all, also where both bounds are written.
    select: [
      ...prefix,
      alias(grid.first(key), 'lo'),
      alias(grid.end(key), 'hi'),
      alias(call('count', []), 'n'),
    ],
    group_by: prefix,
  }
  const values: ast.SelectQuery = {
    ...from(bounds),
    select: [...prefix, field(['hi']), alias(grid.values(field(['lo']), field(['hi'])), 'at')],
  }
  const there: ast.SelectQuery = { ...from(field([ROWS])), select: [...prefix, key] }
  const point = field(['at'])
  const value = (index: number): ast.Expr => (index === at ? point : field([keyName(index)]))
  return {
    ...from(values),
    select: [
      ...shown.map((one, index) => alias(typeof one === 'number' ? value(one) : one, cell(index))),
      ...keys.map(({ missing }, index) =>
        alias(index <= at ? value(index) : missing, keyName(index)),
      ),
      alias(constant(0n), OWN),
    ],
    where: and([
      compare(point, grid.descending ? '>' : '<', field(['hi'])),
      compare(at === 0 ? point : tuple([...prefix, point]), 'not in', there),
    ]),
  }
}
