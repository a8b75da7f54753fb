/**
 * ORDER BY … WITH FILL, rewritten: the select's rows UNION ALL rows for the missing values of the
 * filled keys, in order; INTERPOLATE computes their other columns.
 *
 *   SELECT n, x FROM t ORDER BY n WITH FILL
 *   → SELECT n, x FROM (SELECT n, x FROM t UNION ALL SELECT p, 0 FROM <p from min(n) to max(n)> WHERE p NOT IN (SELECT n FROM t)) ORDER BY n
 */

import { groupKeyIdentity } from '../resolve/grouping.ts'
import { refuse } from '../resolve/refusals.ts'
import type { NameScope, Resolver } from '../resolve/scope.ts'
import { queryColumns } from '../sql/ir.ts'
import type * as ast from '../syntax/ast.ts'
import type { OrderExpr, WindowExpr, WindowFrameExpr } from '../syntax/ast.ts'
import {
  alias,
  and,
  call,
  compare,
  constant,
  field,
  integer,
  NO_LIMITS,
  NOWHERE,
  positionOf,
  selectSetOf,
  tuple,
} from '../syntax/nodes.ts'
import { mapExpr, visitNodes } from '../syntax/walk.ts'
import { expr, select } from '../template.ts'
import { isNumeric, isText, NULL, type Type } from '../types/types.ts'

// Names that no text can contain.
const FILL_ROWS = '\u0000rows'
export const OWN = '\u0000own'
const RUN = '\u0000run'
const FILL_ROW = '\u0000row'
const BEFORE = '\u0000before'
const cellExpr = (index: number): string => `\u0000c${index}`
const pointName = (index: number): string => `\u0000p${index}`
const keyName = (index: number): string => `\u0000k${index}`

/** The select without its fill clauses, and the plan of filling. */
type FillPlan = {
  readonly node: ast.SelectQuery
  readonly names: readonly string[]
  /** The value of a missing row in each column: the index of its key, or a default. */
  readonly shown: readonly (ast.Expr | number)[]
  readonly keys: readonly { readonly order: OrderExpr; readonly missing: ast.Expr }[]
  /** The filled keys, adjacent; keys before them form groups that are filled separately. */
  readonly fills: readonly [Fill, ...Fill[]]
}

/** A filled key: its index among the keys, and the values it should have. */
export type Fill = { readonly at: number; readonly grid: Grid }

/** The keys before one. */
function keysBefore(at: number): readonly ast.Field[] {
  return Array.from({ length: at }, (_, index) => field([keyName(index)]))
}

/** The values a key should have, as HogQL over its present values. */
export type Grid = {
  readonly descending: boolean
  /** The bounds as written, as values of the key's type. */
  readonly from: ast.Expr | null
  readonly to: ast.Expr | null
  /** The first value. */
  readonly first: (key: ast.Expr) => ast.Expr
  /** The end, exclusive. */
  readonly end: (key: ast.Expr) => ast.Expr
  /** A row per step between two bounds, perhaps some beyond the end; with `is_closed` the end is included. */
  readonly values: (first: ast.Expr, end: ast.Expr, is_closed?: boolean) => ast.Expr
}

type FillStep = { readonly unit: string | null; readonly size: bigint | number }

/** Reads `WITH FILL FROM … TO … STEP …` for a key type. Refuses keys and steps that cannot be counted. */
function buildGrid(order: OrderExpr, type: Type): Grid {
  const { with_fill } = order
  const descending = order.order === 'DESC'
  const read = readerOf(type, order)
  const step = stepOf(order, type)
  if (step.size < 0 !== descending || Number(step.size) === 0) {
    throw refuse(`STEP must be ${descending ? 'negative' : 'positive'} here`, order)
  }
  const [least, most] = descending ? ['max', 'min'] : ['min', 'max']
  const text = (given: ast.Expr | null | undefined): ast.Expr | null => (given ? read(given) : null)
  const from = text(with_fill?.from_value)
  const to = text(with_fill?.to_value)
  return {
    descending,
    from,
    to,
    first: (key) => from ?? call(least, [key]),
    end: (key) => to ?? call(most, [key]),
    values: (first, end, is_closed = false) => {
      const offset = expr`multiply(i, ${constant(step.size)})`
      const shift = step.unit === null ? offset : call(`toInterval${step.unit}`, [offset])
      const steps = stepsBetween(first, end, step)
      const count = is_closed ? expr`plus(${steps}, 1)` : steps
      return expr`
        arrayJoin(arrayMap(i -> plus(${first}, ${shift}), range(toInt64(greatest(${count}, 0)))))`
    },
  }
}

function stepsBetween(first: ast.Expr, end: ast.Expr, { unit, size }: FillStep): ast.Expr {
  const distance =
    unit === null
      ? expr`minus(${end}, ${first})`
      : expr`dateDiff(${constant(unit.toLowerCase())}, ${first}, ${end})`
  const steps = expr`ceil(divide(${distance}, ${constant(size)}))`
  // A partial month counts as none.
  return unit === null ? steps : expr`plus(${steps}, 1)`
}

const INTERVAL = /^toInterval(Second|Minute|Hour|Day|Week|Month|Quarter|Year)$/

function stepOf(order: OrderExpr, type: Type): FillStep {
  const text = order.with_fill?.step_value ?? null
  const numeric = type.kind === 'date' ? 'Day' : type.kind === 'datetime' ? 'Second' : null
  if (text === null) return { unit: numeric, size: order.order === 'DESC' ? -1n : 1n }
  const unit = text.kind === 'Call' ? INTERVAL.exec(text.name)?.[1] : undefined
  const size = sizeOf(unit !== undefined && text.kind === 'Call' ? text.args[0] : text)
  if (size === null || (unit !== undefined && (numeric === null || typeof size !== 'bigint'))) {
    throw refuse('STEP needs a number or an interval as a constant', text)
  }
  return { unit: unit ?? numeric, size }
}

function sizeOf(node: ast.Expr | undefined): bigint | number | null {
  const value = node?.kind === 'Constant' ? node.value : null
  return typeof value === 'bigint' || typeof value === 'number' ? value : null
}

function readerOf(type: Type, order: OrderExpr): (given: ast.Expr) => ast.Expr {
  if (type.kind === 'date') return (given) => call('toDate', [given])
  if (type.kind === 'datetime') return (given) => call('toDateTime', [given])
  if (isNumeric(type)) return (given) => given
  throw refuse('WITH FILL needs numbers, dates or times', order)
}

/** The value of a column in a missing row. */
function fillDefault(type: Type): ast.Expr {
  if (type.nullable) return constant(null)
  if (isNumeric(type) || type.kind === 'truth') return constant(0n)
  if (isText(type)) return constant('')
  if (type.kind === 'bool') return constant(false)
  if (type.kind === 'date') return expr`toDate('1970-01-01')`
  if (type.kind === 'datetime') return expr`toDateTime(0)`
  if (type.kind === 'array') return expr`[]`
  if (type.kind === 'tuple') return tuple(type.items.map(fillDefault))
  if (type.kind === 'map') return call('map', [])
  return constant(null)
}

/** Numbers every row by the present rows up to it: missing rows continue from that row. */
function numberRows(filled: FillPlan, rows: ast.SelectSetQuery): ast.SelectQuery {
  const { names, keys } = filled
  const columns = [
    ...names.map((_, index) => cellExpr(index)),
    ...keys.map((_, index) => keyName(index)),
    OWN,
  ]
  const run = alias(windowOf('sum', [field([OWN])], inOrder(filled, [])), RUN)
  return select`select ${[...columns.map((name) => field([name])), run]} from ${rows}`
}

function inOrder(filled: FillPlan, more: readonly ast.Expr[]): WindowExpr {
  const { keys, fills } = filled
  const order_items = fills.flatMap(({ at }) => {
    const order = keys[at]?.order
    return order === undefined ? [] : [{ ...order, with_fill: null, expr: field([keyName(at)]) }]
  })
  return {
    kind: 'WindowExpr',
    partition_by: [...keysBefore(fills[0].at), ...more],
    order_by: order_items,
    frame_method: null,
    frame_start: null,
    frame_end: null,
    start: 0,
    end: 0,
  }
}

function windowOf(
  name: string,
  exprs: readonly ast.Expr[],
  over_expr: WindowExpr,
): ast.WindowFunction {
  return {
    kind: 'WindowFunction',
    name,
    exprs,
    args: null,
    ignore_nulls: false,
    filter_expr: null,
    over_expr,
    over_identifier: null,
    start: 0,
    end: 0,
  }
}

/** The value in the first row of a window, NULL too: in a tuple, because `first_value` passes over NULLs. */
function firstRow(value: ast.Expr, over: WindowExpr): ast.Expr {
  return call('tupleElement', [windowOf('first_value', [tuple([value])], over), constant(1n)])
}

/**
 * A column of the result: missing rows repeat the last present value, or compute the INTERPOLATE
 * expression.
 */
function interpolateColumns(filled: FillPlan, index: number): ast.Expr {
  const own_value = field([cellExpr(index)])
  const rule = ruleOf(filled, index)
  if (rule === null) return own_value
  const { value, reads_others } = rule
  const is_own = compare(field([OWN]), '==', constant(1n))
  const last = firstRow(own_value, inOrder(filled, [field([RUN])]))
  if (value === null) return call('if', [is_own, own_value, last])
  if (reads_others) return call('if', [is_own, own_value, applyFormula(filled, { index, value })])
  const is_constant = !readsFields(value)
  return call('if', [is_own, own_value, is_constant ? value : repeatFormula(value, last, filled)])
}

type InterpolationRule = {
  /** The value of a missing row, over the row before; null to repeat that row's value. */
  readonly value: ast.Expr | null
  /** Whether the expression reads other columns. */
  readonly reads_others: boolean
}

function ruleOf(filled: FillPlan, index: number): InterpolationRule | null {
  const name = filled.names[index]
  const rules = filled.node.interpolate ?? []
  const rule = rules.find(
    ({ expr: column }) => column.kind === 'Field' && column.chain.at(-1) === name,
  )
  // Without a list all columns but the keys are repeated.
  const is_all = filled.node.interpolate?.length === 0 && typeof filled.shown[index] !== 'number'
  if (rule === undefined && !is_all) return null
  const value = rule?.value ?? null
  if (value === null || isNamed(value, name)) return { value: null, reads_others: false }
  let reads_others = false
  visitNodes(value, (node) => {
    if (node.kind === 'Field' && !isNamed(node, name)) reads_others = true
  })
  return { value, reads_others }
}

function readsFields(value: ast.Expr): boolean {
  let reads = false
  visitNodes(value, (node) => {
    reads ||= node.kind === 'Field'
  })
  return reads
}

function isNamed(node: ast.Expr, name: string | undefined): boolean {
  return node.kind === 'Field' && node.chain.at(-1) === name
}

/** Iterates a formula over the row before, once per missing row since the last present one. */
function repeatFormula(formula: ast.Expr, last: ast.Expr, filled: FillPlan): ast.Expr {
  const place = windowOf('row_number', [], inOrder(filled, [field([RUN])]))
  const own_rows = call('least', [field([RUN]), constant(1n)])
  const step: ast.Lambda = {
    kind: 'Lambda',
    args: [BEFORE, 'i'],
    expr: mapExpr(formula, (node) => (node.kind === 'Field' ? field([BEFORE]) : node)),
    start: formula.start,
    end: formula.end,
  }
  const times = call('range', [call('toInt64', [call('minus', [place, own_rows])])])
  return call('arrayFold', [step, times, last])
}

/**
 * A formula over several columns of the row before. A missing row shows other columns' defaults to
 * it, even of those with their own formula, as in ClickHouse.
 */
function applyFormula(filled: FillPlan, { index, value }: InterpolatedColumn): ast.Expr {
  const others = filled.names.map((_, at) => at).filter((at) => at !== index)
  const within = inOrder(filled, [field([RUN])])
  const before: WindowExpr = {
    ...within,
    frame_method: 'ROWS',
    frame_start: boundOf('PRECEDING', null),
    frame_end: boundOf('PRECEDING', 1n),
  }
  const row = tuple([constant(0n), ...others.map((at) => field([cellExpr(at)]))])
  const rows = windowOf('groupArray', [row], before)
  // Before the first present row there is one of defaults.
  const nothing = tuple([constant(0n), ...others.map((at) => missingIn(filled, at))])
  const is_first = compare(field([RUN]), '==', constant(0n))
  const all = call('if', [is_first, call('arrayPushFront', [rows, nothing]), rows])
  const columnBefore = (node: ast.Field): ast.Expr => {
    const at = filled.names.indexOf(String(node.chain.at(-1)))
    if (at < 0) throw refuse('INTERPOLATE computes from columns of the select', node)
    if (at === index) return field([BEFORE])
    return call('tupleElement', [field([FILL_ROW]), integer(others.indexOf(at) + 2)])
  }
  const step: ast.Lambda = {
    kind: 'Lambda',
    args: [BEFORE, FILL_ROW],
    expr: mapExpr(value, (node) => (node.kind === 'Field' ? columnBefore(node) : node)),
    ...NOWHERE,
  }
  return call('arrayFold', [step, all, firstRow(field([cellExpr(index)]), within)])
}

type InterpolatedColumn = { readonly index: number; readonly value: ast.Expr }

function missingIn({ shown, keys }: FillPlan, index: number): ast.Expr {
  const one = shown[index] ?? constant(null)
  return typeof one === 'number' ? (keys[one]?.missing ?? constant(null)) : one
}

function boundOf(
  frame_type: WindowFrameExpr['frame_type'],
  frame_value: bigint | null,
): WindowFrameExpr {
  return {
    kind: 'WindowFrameExpr',
    frame_type,
    frame_value: frame_value === null ? null : constant(frame_value),
    ...NOWHERE,
  }
}

/** Adds the rows that are missing; null without fill clauses. Its own rows become a CTE of the scope. */
export function fillGaps(
  node: ast.SelectQuery,
  scope: NameScope,
  resolver: Resolver,
): ast.SelectQuery | null {
  const is_filled =
    node.interpolate !== null || node.order_by.some((order) => order.with_fill !== null)
  if (!is_filled) return null
  const filled = readFilled(node, scope, resolver)
  const { names, keys } = filled
  const rows = node.interpolate === null ? allRows(filled) : numberRows(filled, allRows(filled))
  const columns = names.map((name, index) => alias(interpolateColumns(filled, index), name, node))
  return {
    ...select`select ${columns} from ${rows}`,
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

function readFilled(node: ast.SelectQuery, scope: NameScope, resolver: Resolver): FillPlan {
  const places = placesOf(node)
  const key_exprs = node.order_by.map((order) => keyExpr(order, node.select))
  const inner: ast.SelectQuery = {
    ...node,
    select: [...node.select, ...key_exprs.map((key, index) => alias(key, keyName(index), key))],
    interpolate: null,
    limit_by: null,
    ...NO_LIMITS,
  }
  const { query, names } = resolver.query(inner, scope)
  const columns = queryColumns(query)
  const exprs =
    query.kind === 'select' ? query.columns.map((column) => groupKeyIdentity(column.expr)) : []
  const count = names.length - key_exprs.length
  const known = columns.map((column, index) => ({
    ...column,
    name: index < count ? cellExpr(index) : keyName(index - count),
  }))
  resolver.next.cte += 1
  const id = resolver.next.cte
  resolver.ctes.push({ id, query, materialized: true, recursive: null })
  scope.ctes.set(FILL_ROWS, {
    node: cteOf(inner),
    scope,
    rows: { id, columns: known },
    is_busy: false,
  })
  const typeOf = (at: number): Type => columns[count + at]?.type ?? NULL
  const fillOf = ({ at, order }: FillPlace): Fill => ({ at, grid: buildGrid(order, typeOf(at)) })
  const [first, ...others] = places
  const last = others.at(-1) ?? first
  return {
    node,
    names: names.slice(0, count),
    shown: columns.slice(0, count).map((column, index) => {
      const key = exprs.indexOf(exprs[index] ?? '', count) - count
      return key >= 0 && key <= last.at ? key : fillDefault(column.type)
    }),
    keys: node.order_by.map((order, at) => ({ order, missing: fillDefault(typeOf(at)) })),
    fills: [fillOf(first), ...others.map(fillOf)],
  }
}

type FillPlace = { readonly at: number; readonly order: OrderExpr }

/** The filled keys. Refuses a gap between two of them, which would belong to neither. */
function placesOf(node: ast.SelectQuery): readonly [FillPlace, ...FillPlace[]] {
  const [first, ...others] = node.order_by
    .map((order, at) => ({ order, at }))
    .filter(({ order }) => order.with_fill !== null)
  if (first === undefined) throw refuse('INTERPOLATE needs WITH FILL', node)
  const apart = others.find(({ at }, index) => at !== first.at + index + 1)
  if (apart !== undefined) throw refuse('Keys that are filled stand side by side', apart.order)
  return [first, ...others]
}

function cteOf(rows: ast.SelectQuery): ast.CTE {
  return {
    kind: 'CTE',
    name: FILL_ROWS,
    cte_type: 'subquery',
    expr: rows,
    columns: null,
    using_key: null,
    materialized: true,
    recursive: false,
    start: rows.start,
    end: rows.end,
  }
}

/** The column of a key that is a number. */
function keyExpr({ expr: key }: OrderExpr, columns: readonly ast.Expr[]): ast.Expr {
  const position = positionOf(key)
  const column = position === null ? key : columns[position - 1]
  if (column === undefined) throw refuse(`There is no column ${position} to go by`, key)
  return column.kind === 'Alias' ? column.expr : column
}

// ── the rows ─────────────────────────────────────────────────────────────────────────────────

/**
 * The select's rows, then the missing ones: those of the first filled key, those of the next within
 * its values …
 */
function allRows(filled: FillPlan): ast.SelectSetQuery {
  const { names, keys, fills } = filled
  const columns = [
    ...names.map((_, index) => field([cellExpr(index)])),
    ...keys.map((_, index) => field([keyName(index)])),
    alias(constant(1n), OWN),
  ]
  const own_rows = select`select ${columns} from ${field([FILL_ROWS])}`
  const missing = fills.map(
    (fill): ast.SelectSetNode => ({
      kind: 'SelectSetNode',
      set_operator: 'UNION ALL',
      select_query: missingRows(filled, fill),
      start: 0,
      end: 0,
    }),
  )
  return selectSetOf(own_rows, missing)
}

function missingRows(filled: FillPlan, fill: Fill): ast.SelectQuery {
  const { shown, keys } = filled
  const { at, grid } = fill
  const prefix = keysBefore(at)
  const whole = wholeAfter(at, filled)
  const there = select`select ${[...prefix, field([keyName(at)])]} from ${field([FILL_ROWS])}`
  const point = field([pointName(at)])
  const value = (index: number): ast.Expr => {
    if (index < at) return field([keyName(index)])
    if (index === at) return point
    if (whole.some((other) => other.at === index)) return field([pointName(index)])
    const begun = filled.fills.find((other) => other.at === index)
    return begun?.grid.from ?? keys[index]?.missing ?? constant(null)
  }
  const columns = [
    ...shown.map((one, index) =>
      alias(typeof one === 'number' ? value(one) : one, cellExpr(index)),
    ),
    ...keys.map((_, index) => alias(value(index), keyName(index))),
    alias(constant(0n), OWN),
  ]
  return {
    ...select`select ${columns} from ${pointsOf(fill, whole)}`,
    where: and([
      isBefore(point, grid, field(['hi'])),
      compare(at === 0 ? point : tuple([...prefix, point]), 'not in', there),
      ...filled.fills.filter((other) => other.at < at).map(isOnGrid),
      ...whole.map((one) => isBefore(field([pointName(one.at)]), one.grid, one.to)),
    ]),
  }
}

/** Each value the key should have, per group of the keys before it, with everything later keys need. */
function pointsOf(
  { at, grid }: Fill,
  later: readonly WholeFill[],
  is_closed = false,
): ast.SelectQuery {
  const prefix = keysBefore(at)
  const key = field([keyName(at)])
  const low_high = [alias(grid.first(key), 'lo'), alias(grid.end(key), 'hi')]
  const bounds: ast.SelectQuery = {
    // The count makes one row of all, also where both bounds are constants.
    ...select`select ${[...prefix, ...low_high]}, count() as n from ${field([FILL_ROWS])}`,
    group_by: prefix,
    // Over no rows only constant bounds exist.
    having: grid.from !== null && grid.to !== null ? null : expr`count() > 0`,
  }
  const first_points = alias(grid.values(field(['lo']), field(['hi']), is_closed), pointName(at))
  let points = select`select ${[...prefix, field(['hi']), first_points]} from ${bounds}`
  const remaining: ast.Expr[] = [...prefix, field(['hi']), field([pointName(at)])]
  for (const one of later) {
    const name = pointName(one.at)
    const next_points = alias(one.grid.values(one.from, one.to), name)
    points = select`select ${[...remaining, next_points]} from ${points}`
    remaining.push(field([name]))
  }
  return points
}

type WholeFill = Fill & { readonly from: ast.Expr; readonly to: ast.Expr }

/**
 * The fills of keys after a gap in an earlier key: each runs from its FROM to its TO; without both there
 * is one row.
 */
function wholeAfter(at: number, { fills }: FillPlan): readonly WholeFill[] {
  return fills.flatMap((fill) => {
    const { from: begin, to } = fill.grid
    return fill.at > at && begin !== null && to !== null ? [{ ...fill, from: begin, to }] : []
  })
}

/** Rows whose earlier key is not a step value are left unchanged. */
function isOnGrid(fill: Fill): ast.Expr {
  const { at, grid } = fill
  const prefix = keysBefore(at)
  const point = field([pointName(at)])
  const is_closed = grid.to === null
  const values = select`
    select ${[...prefix, point]} from ${pointsOf(fill, [], is_closed)}
    where ${isBefore(point, grid, field(['hi']), is_closed)}`
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
