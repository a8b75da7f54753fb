/** CLAUSES: the clauses of a select, in order. */

import type { ArrayJoinOp, Expr, GroupingSet, NamedWindow, SelectQuery } from '../../syntax/ast.ts'
import {
  advance,
  at,
  atPair,
  type Cursor,
  commaList,
  expect,
  expectName,
  peek,
  placeFrom,
  refuseSpan,
  take,
  takePair,
} from '../cursor.ts'
import { readExprs } from '../expressions/lists.ts'
import { POWER } from '../expressions/powers.ts'
import { atListEnd, operandFollowsSurely } from '../words.ts'
import { readFrom } from './joins.ts'
import { readInterpolate, readLimit, readOrders, readWindow } from './orders.ts'

/** A select whose clauses are being read. */
export type SelectDraft = { -readonly [Key in keyof SelectQuery]: SelectQuery[Key] }

type Clause = {
  readonly name: string
  /** Whether the clause begins at the current token. */
  readonly at: (cursor: Cursor) => boolean
  /** Reads the clause, keywords included, into the draft. */
  readonly read: (cursor: Cursor, draft: SelectDraft) => void
}

const QUALIFY: Clause = {
  name: 'QUALIFY',
  at: (cursor) => at(cursor, 'QUALIFY'),
  read: (cursor, draft) => {
    const { token } = cursor
    if (draft.qualify !== null) throw refuseSpan(cursor, token, 'QUALIFY stands twice.')
    draft.qualify = readCondition(cursor)
  },
}

/**
 * Every clause after the select list, in order; QUALIFY may come before or after WINDOW. Adding a
 * clause means adding a line.
 */
const CLAUSES: readonly Clause[] = [
  {
    name: 'FROM',
    at: (cursor) => at(cursor, 'FROM'),
    read: (cursor, draft) => {
      advance(cursor)
      draft.select_from = readFrom(cursor)
    },
  },
  { name: 'ARRAY JOIN', at: atArrayJoin, read: readArrayJoin },
  {
    name: 'PREWHERE',
    at: (cursor) => at(cursor, 'PREWHERE'),
    read: (cursor, draft) => {
      draft.prewhere = readCondition(cursor)
    },
  },
  {
    name: 'WHERE',
    at: (cursor) => at(cursor, 'WHERE'),
    read: (cursor, draft) => {
      draft.where = readCondition(cursor)
    },
  },
  { name: 'GROUP BY', at: (cursor) => atPair(cursor, 'GROUP', 'BY'), read: readGroupBy },
  { name: 'WITH', at: atGroupByMode, read: readGroupByModes },
  {
    name: 'HAVING',
    at: (cursor) => at(cursor, 'HAVING'),
    read: (cursor, draft) => {
      draft.having = readCondition(cursor)
    },
  },
  QUALIFY,
  { name: 'WINDOW', at: (cursor) => at(cursor, 'WINDOW'), read: readWindows },
  QUALIFY,
  {
    name: 'ORDER BY',
    at: (cursor) => atPair(cursor, 'ORDER', 'BY'),
    read: (cursor, draft) => {
      takePair(cursor, 'ORDER', 'BY')
      draft.order_by = readOrders(cursor)
    },
  },
  {
    name: 'INTERPOLATE',
    at: (cursor) => at(cursor, 'INTERPOLATE'),
    read: (cursor, draft) => {
      draft.interpolate = readInterpolate(cursor)
    },
  },
  { name: 'LIMIT', at: atLimit, read: readLimits },
]

/** Reads all clauses into the draft; refuses repeated clauses and wrong order. */
export function readClauses(cursor: Cursor, draft: SelectDraft): void {
  for (const clause of CLAUSES) if (clause.at(cursor)) clause.read(cursor, draft)
  const misplaced = CLAUSES.find((clause) => clause.at(cursor))
  if (misplaced === undefined) return
  const names = [...new Set(CLAUSES.map((clause) => clause.name))].join(', ')
  const message = `${misplaced.name} stands twice or out of order; the order is SELECT, ${names}.`
  throw refuseSpan(cursor, cursor.token, message)
}

function readCondition(cursor: Cursor): Expr {
  advance(cursor)
  return cursor.rules.expr(cursor, POWER.any)
}

function atArrayJoin(cursor: Cursor): boolean {
  if (atPair(cursor, 'ARRAY', 'JOIN')) return true
  return atPair(cursor, 'LEFT', 'ARRAY') || atPair(cursor, 'INNER', 'ARRAY')
}

function readArrayJoin(cursor: Cursor, draft: SelectDraft): void {
  const { token } = cursor
  let op: ArrayJoinOp = 'ARRAY JOIN'
  if (take(cursor, 'LEFT')) op = 'LEFT ARRAY JOIN'
  else if (take(cursor, 'INNER')) op = 'INNER ARRAY JOIN'
  advance(cursor)
  expect(cursor, 'JOIN', 'after ARRAY')
  if (draft.select_from === null)
    throw refuseSpan(cursor, token, 'ARRAY JOIN needs a FROM before it.')
  draft.array_join_op = op
  draft.array_join_list = readExprs(cursor)
  const unnamed = draft.array_join_list.find((expr) => expr.kind !== 'Alias')
  if (unnamed !== undefined) {
    throw refuseSpan(
      cursor,
      unnamed,
      'the arrays of ARRAY JOIN must have an alias (array AS name).',
    )
  }
}

function readGroupBy(cursor: Cursor, draft: SelectDraft): void {
  takePair(cursor, 'GROUP', 'BY')
  if (takePair(cursor, 'GROUPING', 'SETS')) {
    draft.group_by = readGroupingSets(cursor)
    draft.group_by_mode = 'grouping_sets'
    return
  }
  if (at(cursor, 'ALL') && !operandFollowsSurely(cursor) && !goesOn(cursor)) {
    advance(cursor)
    draft.group_by_mode = 'all'
    return
  }
  const exprs = readExprs(cursor)
  const [only] = exprs
  const name = only?.kind === 'Call' && exprs.length === 1 ? only.name.toLowerCase() : null
  const whole = name === 'rollup' || name === 'cube' ? name : null
  draft.group_by = whole !== null && only?.kind === 'Call' ? only.args : exprs
  draft.group_by_mode = whole
}

/** `all, x`, `all.x` and `all + 1` refer to a column named all. */
function goesOn(cursor: Cursor): boolean {
  const next = peek(cursor)
  return next.kind === 'symbol' && next.key !== ')' && next.key !== ';' && next.key !== '}'
}

function readGroupingSets(cursor: Cursor): GroupingSet[] {
  expect(cursor, '(', 'after GROUPING SETS')
  const sets = commaList(cursor, readGroupingSet, (inner) => at(inner, ')'))
  expect(cursor, ')', 'after the grouping sets')
  return sets
}

function readGroupingSet(cursor: Cursor): GroupingSet {
  const { start } = cursor.token
  expect(cursor, '(', 'before a grouping set')
  const exprs = at(cursor, ')') ? [] : readExprs(cursor)
  expect(cursor, ')', 'after a grouping set')
  return { kind: 'GroupingSet', ...placeFrom(cursor, start), exprs }
}

function atGroupByMode(cursor: Cursor): boolean {
  return ['TOTALS', 'ROLLUP', 'CUBE'].some((mode) => atPair(cursor, 'WITH', mode))
}

/** `WITH ROLLUP`, `WITH CUBE`, then optionally `WITH TOTALS`. */
function readGroupByModes(cursor: Cursor, draft: SelectDraft): void {
  const { token } = cursor
  if (takePair(cursor, 'WITH', 'ROLLUP')) draft.group_by_mode = 'rollup'
  else if (takePair(cursor, 'WITH', 'CUBE')) draft.group_by_mode = 'cube'
  if (takePair(cursor, 'WITH', 'TOTALS')) draft.with_totals = true
  if (draft.group_by_mode !== null && draft.group_by.length === 0) {
    throw refuseSpan(cursor, token, 'WITH ROLLUP and WITH CUBE need the columns of a GROUP BY.')
  }
}

function readWindows(cursor: Cursor, draft: SelectDraft): void {
  advance(cursor)
  draft.window_exprs = commaList(cursor, readNamedWindow, atListEnd)
}

function readNamedWindow(cursor: Cursor): NamedWindow {
  const { start } = cursor.token
  const name = expectName(cursor, 'the name of a window')
  expect(cursor, 'AS', 'after the name of the window')
  expect(cursor, '(', 'before the window')
  const expr = readWindow(cursor)
  expect(cursor, ')', 'after the window')
  return { kind: 'NamedWindow', ...placeFrom(cursor, start), name, expr }
}

/** Whether LIMIT or OFFSET begins at the current token. */
export function atLimit(cursor: Cursor): boolean {
  return at(cursor, 'LIMIT') || at(cursor, 'OFFSET')
}

/** `LIMIT n BY x`, then optionally the LIMIT of the whole. */
function readLimits(cursor: Cursor, draft: SelectDraft): void {
  const first = readLimit(cursor)
  if (!('kind' in first)) {
    Object.assign(draft, first)
    return
  }
  draft.limit_by = first
  const { token } = cursor
  if (!atLimit(cursor)) return
  const second = readLimit(cursor)
  if ('kind' in second) throw refuseSpan(cursor, token, 'LIMIT … BY stands twice.')
  Object.assign(draft, second)
}
