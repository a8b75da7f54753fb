/** ORDER BY … WITH FILL: rows for the values that are missing, put among the select's own. */

import type * as ast from '../ast.ts'
import type { OrderExpr } from '../ast-parts.ts'
import { queryColumns } from '../ir-queries.ts'
import { alias, and, call, compare, constant, field, selectSetOf, tuple } from '../nodes.ts'
import { NULL, type Type } from '../types.ts'
import { defaultOf, type Grid, gridOf } from './fill-grids.ts'
import {
  cell,
  type Fill,
  type Filled,
  from,
  keyName,
  keysBefore,
  OWN,
  pointName,
  ROWS,
} from './fill-parts.ts'
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
  const places = placesOf(node)
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
  const typeOf = (at: number): Type => columns[count + at]?.type ?? NULL
  const fillOf = ({ at, order }: FillPlace): Fill => ({ at, grid: gridOf(order, typeOf(at)) })
  const [first, ...others] = places
  const last = others.at(-1) ?? first
  return {
    node,
    names: names.slice(0, count),
    shown: columns.slice(0, count).map((column, index) => {
      const key = exprs.indexOf(exprs[index] ?? '', count) - count
      return key >= 0 && key <= last.at ? key : defaultOf(column.type)
    }),
    keys: node.order_by.map((order, at) => ({ order, missing: defaultOf(typeOf(at)) })),
    fills: [fillOf(first), ...others.map(fillOf)],
  }
}

type FillPlace = { readonly at: number; readonly order: OrderExpr }

/** Which keys are filled. What lies between two filled ones would belong to neither. */
function placesOf(node: ast.SelectQuery): readonly [FillPlace, ...FillPlace[]] {
  const [first, ...others] = node.order_by
    .map((order, at) => ({ order, at }))
    .filter(({ order }) => order.with_fill !== null)
  if (first === undefined) throw refuse('INTERPOLATE needs WITH FILL', node)
  const apart = others.find(({ at }, index) => at !== first.at + index + 1)
  if (apart !== undefined) throw refuse('Keys that are filled stand side by side', apart.order)
  return [first, ...others]
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

/** The select's rows, and after them the missing ones: those of the first key, those of the next within its values … */
function allRows(filled: Filled): ast.SelectSetQuery {
  const { names, keys, fills } = filled
  const own: ast.SelectQuery = {
    ...from(field([ROWS])),
    select: [
      ...names.map((_, index) => field([cell(index)])),
      ...keys.map((_, index) => field([keyName(index)])),
      alias(constant(1n), OWN),
    ],
  }
  const missing = fills.map(
    (fill): ast.SelectSetNode => ({
      kind: 'SelectSetNode',
      set_operator: 'UNION ALL',
      select_query: missingRows(filled, fill),
      start: 0,
      end: 0,
    }),
  )
  return selectSetOf(own, missing)
}

function missingRows(filled: Filled, fill: Fill): ast.SelectQuery {
  const { shown, keys } = filled
  const { at, grid } = fill
  const prefix = keysBefore(at)
  const whole = wholeAfter(at, filled)
  const there: ast.SelectQuery = {
    ...from(field([ROWS])),
    select: [...prefix, field([keyName(at)])],
  }
  const point = field([pointName(at)])
  const value = (index: number): ast.Expr => {
    if (index < at) return field([keyName(index)])
    if (index === at) return point
    if (whole.some((other) => other.at === index)) return field([pointName(index)])
    const begun = filled.fills.find((other) => other.at === index)
    return begun?.grid.from ?? keys[index]?.missing ?? constant(null)
  }
  return {
    ...from(pointsOf(fill, whole)),
    select: [
      ...shown.map((one, index) => alias(typeof one === 'number' ? value(one) : one, cell(index))),
      ...keys.map((_, index) => alias(value(index), keyName(index))),
      alias(constant(0n), OWN),
    ],
    where: and([
      isBefore(point, grid, field(['hi'])),
      compare(at === 0 ? point : tuple([...prefix, point]), 'not in', there),
      ...filled.fills.filter((other) => other.at < at).map(isOnGrid),
      ...whole.map((one) => isBefore(field([pointName(one.at)]), one.grid, one.to)),
    ]),
  }
}

/** Each value the key should have in each group of the keys before it, along with all that later keys begin with. */
function pointsOf(
  { at, grid }: Fill,
  later: readonly WholeFill[],
  is_closed = false,
): ast.SelectQuery {
  const prefix = keysBefore(at)
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
    // Of no rows there are no bounds but the written ones.
    having:
      grid.from !== null && grid.to !== null ? null : compare(call('count', []), '>', constant(0n)),
  }
  let points: ast.SelectQuery = {
    ...from(bounds),
    select: [
      ...prefix,
      field(['hi']),
      alias(grid.values(field(['lo']), field(['hi']), is_closed), pointName(at)),
    ],
  }
  const kept: ast.Expr[] = [...prefix, field(['hi']), field([pointName(at)])]
  for (const one of later) {
    const name = pointName(one.at)
    points = { ...from(points), select: [...kept, alias(one.grid.values(one.from, one.to), name)] }
    kept.push(field([name]))
  }
  return points
}

type WholeFill = Fill & { readonly from: ast.Expr; readonly to: ast.Expr }

/** Where an earlier key has a gap, a later one runs from its FROM to its TO; without both there is one row. */
function wholeAfter(at: number, { fills }: Filled): readonly WholeFill[] {
  return fills.flatMap((fill) => {
    const { from: begin, to } = fill.grid
    return fill.at > at && begin !== null && to !== null ? [{ ...fill, from: begin, to }] : []
  })
}

/** Rows whose earlier key is none of the values there should be are left as they are. */
function isOnGrid(fill: Fill): ast.Expr {
  const { at, grid } = fill
  const prefix = keysBefore(at)
  const point = field([pointName(at)])
  const is_closed = grid.to === null
  const values: ast.SelectQuery = {
    ...from(pointsOf(fill, [], is_closed)),
    select: [...prefix, point],
    where: isBefore(point, grid, field(['hi']), is_closed),
  }
  const key = field([keyName(at)])
  return compare(at === 0 ? key : tuple([...prefix, key]), 'in', values)
}

function isBefore(
  point: ast.Expr,
  { descending }: Grid,
  end: ast.Expr,
  is_closed = false,
): ast.Expr {
  if (is_closed) return compare(point, descending ? '>=' : '<=', end)
  return compare(point, descending ? '>' : '<', end)
}
