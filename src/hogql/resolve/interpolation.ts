/** INTERPOLATE: what rows that were put in show, carried on from the row before or computed from it. */

import type * as ast from '../ast.ts'
import type { WindowExpr, WindowFrameExpr } from '../ast-parts.ts'
import { alias, call, compare, constant, field, NOWHERE, tuple } from '../nodes.ts'
import { mapExpr, visitNodes } from '../walk.ts'
import {
  BEFORE,
  cell,
  type Filled,
  from,
  keyName,
  keysBefore,
  OWN,
  ROW,
  RUN,
} from './fill-parts.ts'
import { refuse } from './refuse.ts'

/** Every row with the number of own rows up to it: what follows an own row carries on from it. */
export function numbered(filled: Filled, rows: ast.SelectSetQuery): ast.SelectQuery {
  const { names, keys } = filled
  const columns = [
    ...names.map((_, index) => cell(index)),
    ...keys.map((_, index) => keyName(index)),
    OWN,
  ]
  const run = windowOf('sum', [field([OWN])], inOrder(filled, []))
  return {
    ...from(rows),
    select: [...columns.map((name) => field([name])), alias(run, RUN)],
  }
}

function inOrder(filled: Filled, more: readonly ast.Expr[]): WindowExpr {
  const { keys, fills } = filled
  const ordered = fills.flatMap(({ at }) => {
    const order = keys[at]?.order
    return order === undefined ? [] : [{ ...order, with_fill: null, expr: field([keyName(at)]) }]
  })
  return {
    kind: 'WindowExpr',
    partition_by: [...keysBefore(fills[0].at), ...more],
    order_by: ordered,
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

/** A column as it is shown: missing rows carry the last own value on, or have the value that is written. */
export function interpolated(filled: Filled, index: number): ast.Expr {
  const own = field([cell(index)])
  const rule = ruleOf(filled, index)
  if (rule === null) return own
  const { value, others } = rule
  const is_own = compare(field([OWN]), '==', constant(1n))
  const last = windowOf('first_value', [own], inOrder(filled, [field([RUN])]))
  if (value === null) return call('if', [is_own, own, last])
  if (others) return call('if', [is_own, own, followed(filled, { index, value })])
  const is_constant = !readsFields(value)
  return call('if', [is_own, own, is_constant ? value : repeated(value, last, filled)])
}

type Rule = {
  /** What a missing row shows, over the row before; null for just what that one shows. */
  readonly value: ast.Expr | null
  /** Whether other columns are looked at. */
  readonly others: boolean
}

function ruleOf(filled: Filled, index: number): Rule | null {
  const name = filled.names[index]
  const rules = filled.node.interpolate ?? []
  const rule = rules.find(({ expr }) => expr.kind === 'Field' && expr.chain.at(-1) === name)
  // Without a list all columns but the keys carry on.
  const is_all = filled.node.interpolate?.length === 0 && typeof filled.shown[index] !== 'number'
  if (rule === undefined && !is_all) return null
  const value = rule?.value ?? null
  if (value === null || isNamed(value, name)) return { value: null, others: false }
  let others = false
  visitNodes(value, (node) => {
    if (node.kind === 'Field' && !isNamed(node, name)) others = true
  })
  return { value, others }
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

/** A formula over the row before, as often as there are missing rows since the last own one. */
function repeated(formula: ast.Expr, last: ast.Expr, filled: Filled): ast.Expr {
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
 * A formula over several columns of the row before. A row that was put in shows other columns' defaults to it, even of
 * those with a rule of their own: so the original computes.
 */
function followed(filled: Filled, { index, value }: Place): ast.Expr {
  const others = filled.names.map((_, at) => at).filter((at) => at !== index)
  const within = inOrder(filled, [field([RUN])])
  const before: WindowExpr = {
    ...within,
    frame_method: 'ROWS',
    frame_start: boundOf('PRECEDING', null),
    frame_end: boundOf('PRECEDING', 1n),
  }
  const row = tuple([constant(0n), ...others.map((at) => field([cell(at)]))])
  const rows = windowOf('groupArray', [row], before)
  // Before the first own row stands one of defaults.
  const nothing = tuple([constant(0n), ...others.map((at) => missingIn(filled, at))])
  const is_first = compare(field([RUN]), '==', constant(0n))
  const all = call('if', [is_first, call('arrayPushFront', [rows, nothing]), rows])
  const columnBefore = (node: ast.Field): ast.Expr => {
    const at = filled.names.indexOf(String(node.chain.at(-1)))
    if (at < 0) throw refuse('INTERPOLATE computes from columns of the select', node)
    if (at === index) return field([BEFORE])
    return call('tupleElement', [field([ROW]), constant(BigInt(others.indexOf(at) + 2))])
  }
  const step: ast.Lambda = {
    kind: 'Lambda',
    args: [BEFORE, ROW],
    expr: mapExpr(value, (node) => (node.kind === 'Field' ? columnBefore(node) : node)),
    ...NOWHERE,
  }
  return call('arrayFold', [step, all, windowOf('first_value', [field([cell(index)])], within)])
}

type Place = { readonly index: number; readonly value: ast.Expr }

function missingIn({ shown, keys }: Filled, index: number): ast.Expr {
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
