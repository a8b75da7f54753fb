/** windowFunnel, retention, sequenceMatch, sequenceCount: what one actor's rows did in order. */

import { asCondition } from '../convert.ts'
import type { Apply, Expr, Local } from '../ir.ts'
import { bindInt, bindText, constantText, gather, NULL_VALUE, spellList, sql } from '../spell.ts'
import { arrayType, INT64, STRING, TRUTH, type Type, UINT8, UINT64, UNKNOWN } from '../types.ts'
import { aggregateLine } from './aggregate-line.ts'
import { always, type FunctionDef, type Lowering } from './definition.ts'
import { filtered, gathered } from './gathering.ts'
import { refuseUse } from './refuse-use.ts'
import { matchSteps, type PatternStep, patternText, readPattern } from './sequence-patterns.ts'

const TIMES: Type = arrayType(INT64)

/** A moment as a number, and how many of its units a second (or the argument's own unit) has. */
function clockOf(time: Expr): { readonly at: Expr; readonly unit: number } {
  const { kind } = time.type
  if (kind === 'datetime') return { at: sql`epoch_us(${time})`(INT64), unit: 1_000_000 }
  if (kind === 'date')
    return { at: sql`date_diff('day', DATE '1970-01-01', ${time})`(INT64), unit: 1 }
  if (kind === 'int') return { at: time, unit: 1 }
  return refuseUse('The first argument must be a time or a whole number')
}

/** The moments of the rows that meet a condition, in order. */
function momentsOf(call: Apply, at: Expr, condition: Expr): Expr {
  const kept = filtered(call, asCondition(condition))
  const list = gathered('list', filtered(kept, sql`(${at} IS NOT NULL)`(TRUTH)), [at], TIMES)
  return sql`list_sort(coalesce(${list}, []))`(TIMES)
}

const reached = (level: number): Local => ({ kind: 'local', id: -100 - level, type: UNKNOWN })

/**
 * The furthest level within the window of its first: the moments that reached a level carry the latest start they can
 * have, so that the next level only looks back at the last of them. Each level is bound once, by a list of one.
 */
const windowFunnel: Lowering = (call) => {
  const [time = NULL_VALUE, ...conditions] = call.args
  const { at, unit } = clockOf(time)
  const strict = strictOf(call)
  const window = sql`(${call.params[0] ?? bindInt(0)} * ${bindInt(unit)})`(INT64)
  const [first = NULL_VALUE, ...following] = conditions.map((one) => momentsOf(call, at, one))
  const start = sql`list_transform(${first}, lambda e: {'s': e, 't': e})`(UNKNOWN)
  return bound(start, reached(1), levelFrom(following, 1, { window, strict }), call.type)
}

type How = { readonly window: Expr; readonly strict: boolean }

function levelFrom(lists: readonly Expr[], level: number, how: How): Expr {
  const before = reached(level)
  const [next, ...following] = lists
  const none = bindInt(level - 1, true)
  if (next === undefined)
    return sql`CASE WHEN len(${before}) = 0 THEN ${none} ELSE ${bindInt(level, true)} END`(UINT8)
  const earlier = sql`(list_filter(${before}, lambda f: f.t <= e))[-1]`(UNKNOWN)
  const all =
    sql`list_transform(${next}, lambda e: list_transform([${earlier}], lambda h: {'s': h.s, 'p': h.t, 't': e})[1])`(
      UNKNOWN,
    )
  // A later start takes the place of an earlier one, even where strictness then finds it too late.
  const after = how.strict
    ? sql`list_filter(${all}, lambda g: g.t - g.s <= ${how.window} AND g.p < g.t)`(UNKNOWN)
    : sql`list_filter(${all}, lambda g: g.t - g.s <= ${how.window})`(UNKNOWN)
  const deeper = bound(after, reached(level + 1), levelFrom(following, level + 1, how), UINT8)
  return sql`CASE WHEN len(${before}) = 0 THEN ${none} ELSE ${deeper} END`(UINT8)
}

/** `LET local = value IN body`, which the engine has no word for. */
function bound(value: Expr, local: Local, body: Expr, type: Type): Expr {
  return sql`(list_transform([${value}], lambda ${local}: ${body}))[1]`(type)
}

function strictOf(call: Apply): boolean {
  let strict = false
  for (const mode of call.params.slice(1)) {
    const name = constantText(mode)
    if (name !== 'strict_increase') refuseUse(`windowFunnel mode '${name ?? '?'}' is not supported`)
    strict = true
  }
  return strict
}

/** Whether any row met the first condition, and with it each of the others. */
const retention: Lowering = (call) => {
  const any = call.args.map((one) =>
    sql`coalesce(${gathered('bool_or', call, [asCondition(one)], TRUTH)}, false)`(TRUTH),
  )
  const [first = NULL_VALUE] = any
  const marks = any.map((one) => sql`(${first} AND ${one})::BIGINT`(UINT8))
  return spellList(['[', ', ', ']'], marks, call.type)
}

const CONDITIONS_MAX = 10

/** The rows that meet any condition, in order, as moments `t` and bits `m`. */
function rowsInOrder(call: Apply, time: Expr, conditions: readonly Expr[]): Expr {
  if (conditions.length > CONDITIONS_MAX)
    refuseUse(`'${call.name}' takes at most ${CONDITIONS_MAX} conditions`)
  const bits = conditions.map((one, index) =>
    sql`(CASE WHEN ${asCondition(one)} THEN ${bindInt(2 ** index, true)} ELSE 0 END)`(INT64),
  )
  const mask = spellList(['(', ' + ', ')'], bits, INT64)
  const kept = filtered(call, sql`(${mask} > 0)`(TRUTH))
  const row = sql`{'t': ${clockOf(time).at}, 'm': ${mask}}`(UNKNOWN)
  const list = gather('list', [row], UNKNOWN, kept.aggregate ?? {})
  return sql`list_sort(coalesce(${list}, []))`(UNKNOWN)
}

/** Each row as one letter, so that a pattern is a regular expression over them. */
function lettersOf(rows: Expr): Expr {
  return sql`array_to_string(list_transform(${rows}, lambda e: chr((19968 + e.m)::INTEGER)), '')`(
    STRING,
  )
}

function patternOf(call: Apply): {
  readonly steps: readonly PatternStep[]
  readonly timed: boolean
} {
  const text = constantText(call.params[0])
  const steps = text === null ? null : readPattern(text, call.args.length - 1)
  if (steps === null)
    return refuseUse(`'${call.name}' needs a constant pattern such as '(?1).*(?2)'`)
  return { steps, timed: steps.some((step) => step.kind === 'time') }
}

const sequenceMatch: Lowering = (call) => {
  const [time = NULL_VALUE, ...conditions] = call.args
  const { steps, timed } = patternOf(call)
  const rows = rowsInOrder(call, time, conditions)
  if (timed) return matchSteps(rows, steps, clockOf(time).unit)
  const pattern = bindText(patternText(steps, conditions.length))
  return sql`regexp_matches(${lettersOf(rows)}, ${pattern}, 's')`(call.type)
}

const sequenceCount: Lowering = (call) => {
  const [time = NULL_VALUE, ...conditions] = call.args
  const { steps, timed } = patternOf(call)
  if (timed) return refuseUse('sequenceCount with a time condition is not supported')
  const pattern = bindText(patternText(steps, conditions.length))
  const letters = lettersOf(rowsInOrder(call, time, conditions))
  return sql`len(regexp_extract_all(${letters}, ${pattern}, 0, 's'))`(call.type)
}

/** What ClickHouse's users expect for funnels and sequences. */
export const FUNNELS: readonly FunctionDef[] = [
  aggregateLine(['windowFunnel', '2-33'], always(UINT8), windowFunnel, { params: '1-4' }),
  aggregateLine(['retention', '1-32'], always(arrayType(UINT8)), retention),
  aggregateLine(['sequenceMatch', '2-33'], always(TRUTH), sequenceMatch, { params: '1' }),
  aggregateLine(['sequenceCount', '2-33'], always(UINT64), sequenceCount, { params: '1' }),
]
