/**
 * FUNNELS: windowFunnel, retention, sequenceMatch, sequenceCount: aggregates over one actor's
 * ordered rows.
 */

import { FUNNEL_MODES } from '../../scalars/window-funnel.ts'
import type { Apply, OrderBy, ResolvedExpr } from '../../sql/ir.ts'
import {
  aggregateFragment,
  bindInt,
  bindText,
  constantText,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../../sql/sql-fragments.ts'
import { asCondition } from '../../types/convert.ts'
import { arrayType, INT64, STRING, TRUTH, type Type, UINT8, UINT64 } from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import { type FunctionDef, type Lowering, nonNull } from '../definition.ts'
import { aggregateCall, filterAggregate } from './aggregate-helpers.ts'
import { aggregateLine } from './aggregate-line.ts'
import { type PatternStep, patternNumbers, patternText, readPattern } from './sequence-patterns.ts'

const TIMES: Type = arrayType(INT64)

/** A time as a number, and how many of its units a second has. */
function numberOfTime(time: ResolvedExpr): { readonly at: ResolvedExpr; readonly unit: number } {
  const { kind } = time.type
  if (kind === 'datetime') return { at: sql`epoch_us(${time})`(INT64), unit: 1_000_000 }
  if (kind === 'date')
    return { at: sql`date_diff('day', DATE '1970-01-01', ${time})`(INT64), unit: 1 }
  if (kind === 'int') return { at: time, unit: 1 }
  return refuseArguments('The first argument must be a time or a whole number')
}

/** The bit mask of a row: one bit per condition. */
function maskOf(conditions: readonly ResolvedExpr[]): ResolvedExpr {
  const bits = conditions.map((one, index) =>
    sql`(CASE WHEN ${asCondition(one)} THEN ${bindInt(2 ** index, true)} ELSE 0 END)`(INT64),
  )
  return joinFragments(['(', ' + ', ')'], bits, INT64)
}

/**
 * Times and masks of the rows in order, as two lists; rows that match nothing only where the mode
 * needs them.
 */
type InOrder = { readonly times: ResolvedExpr; readonly masks: ResolvedExpr; readonly unit: number }

function rowsInOrder(call: Apply, keeps_all: boolean): InOrder {
  const [time = NULL_VALUE, ...conditions] = call.args
  const { at, unit } = numberOfTime(time)
  const mask = maskOf(conditions)
  const timed = filterAggregate(call, sql`(${at} IS NOT NULL)`(TRUTH))
  const remaining = keeps_all ? timed : filterAggregate(timed, sql`(${mask} > 0)`(TRUTH))
  const order_by = [at, mask].map((expr): OrderBy => ({ expr, descending: false, nulls: null }))
  const list = (expr: ResolvedExpr): ResolvedExpr =>
    sql`coalesce(${aggregateFragment('list', [expr], TIMES, { ...remaining.aggregate, order_by })}, [])`(
      TIMES,
    )
  return { times: list(at), masks: list(mask), unit }
}

function numbersOf(numbers: readonly ResolvedExpr[]): ResolvedExpr {
  return joinFragments(['[', ', ', ']'], numbers, TIMES)
}

/** Sorted lists, folded by a scalar in TypeScript. */
const windowFunnel: Lowering = (call) => {
  const modes = modesOf(call)
  const { times, masks, unit } = rowsInOrder(call, (modes & FUNNEL_MODES.strict_order) !== 0)
  const window = sql`(${call.params[0] ?? bindInt(0)} * ${bindInt(unit)})`(INT64)
  const how = numbersOf([bindInt(call.args.length - 1, true), window, bindInt(modes, true)])
  return sql`js_window_funnel(${times}, ${masks}, ${how})`(call.type)
}

function modesOf(call: Apply): number {
  const modes = bitsOf(call)
  const { allow_reentry, strict_order } = FUNNEL_MODES
  if ((modes & allow_reentry) !== 0 && (modes & strict_order) === 0)
    return refuseArguments("windowFunnel takes 'allow_reentry' beside 'strict_order' only")
  return modes
}

function bitsOf(call: Apply): number {
  return call.params.slice(1).reduce((modes, mode) => {
    const name = constantText(mode) ?? ''
    const known = Object.entries(FUNNEL_MODES).find(([text]) => text === name)
    return modes | (known?.[1] ?? refuseArguments(`windowFunnel has no mode '${name}'`))
  }, 0)
}

/** Per condition, whether any row matched both the first and that one. */
const retention: Lowering = (call) => {
  const any = call.args.map((one) =>
    sql`coalesce(${aggregateCall('bool_or', call, [asCondition(one)], TRUTH)}, false)`(TRUTH),
  )
  const [first = NULL_VALUE] = any
  const marks = any.map((one) => sql`(${first} AND ${one})::BIGINT`(UINT8))
  return joinFragments(['[', ', ', ']'], marks, call.type)
}

const CONDITIONS_MAX = 10

/** Rows that match any condition, in order, as one letter each: a pattern is then a regular expression. */
function lettersOf(call: Apply): ResolvedExpr {
  const { masks } = rowsInOrder(call, false)
  return sql`array_to_string(list_transform(${masks}, lambda e: chr((19968 + e)::INTEGER)), '')`(
    STRING,
  )
}

/** The steps of the pattern of sequenceMatch or sequenceCount; refuses an unreadable one. */
export function patternOf(call: Apply): readonly PatternStep[] {
  const text = constantText(call.params[0])
  const steps = text === null ? null : readPattern(text, call.args.length - 1)
  return steps ?? refuseArguments(`'${call.name}' needs a constant pattern such as '(?1).*(?2)'`)
}

/** Patterns with times use the matcher in scalars/sequences.ts; others are regular expressions. */
function sequence(
  timed: (rows: InOrder, steps: ResolvedExpr, type: Type) => ResolvedExpr,
  plain: (letters: ResolvedExpr, pattern: ResolvedExpr, type: Type) => ResolvedExpr,
): Lowering {
  return (call) => {
    const count = call.args.length - 1
    if (count > CONDITIONS_MAX)
      return refuseArguments(`'${call.name}' takes at most ${CONDITIONS_MAX} conditions`)
    const steps = patternOf(call)
    if (!steps.some((step) => step.kind === 'time'))
      return plain(lettersOf(call), bindText(patternText(steps, count)), call.type)
    const rows = rowsInOrder(call, false)
    const numbers = patternNumbers(steps, rows.unit).map((number) => bindInt(number, true))
    return timed(rows, numbersOf(numbers), call.type)
  }
}

const sequenceMatch = sequence(
  ({ times, masks }, steps, type) => sql`js_sequence_match(${times}, ${masks}, ${steps})`(type),
  (letters, pattern, type) => sql`regexp_matches(${letters}, ${pattern}, 's')`(type),
)
const sequenceCount = sequence(
  ({ times, masks }, steps, type) => sql`js_sequence_count(${times}, ${masks}, ${steps})`(type),
  (letters, pattern, type) => sql`len(regexp_extract_all(${letters}, ${pattern}, 0, 's'))`(type),
)

/** Funnel and sequence aggregates. Adding one means adding a line. */
export const FUNNELS: readonly FunctionDef[] = [
  aggregateLine(['windowFunnel', '2-33'], nonNull(UINT8), windowFunnel, { params: '1-6' }),
  aggregateLine(['retention', '1-32'], nonNull(arrayType(UINT8)), retention),
  aggregateLine(['sequenceMatch', '2-33'], nonNull(TRUTH), sequenceMatch, { params: '1' }),
  aggregateLine(['sequenceCount', '2-33'], nonNull(UINT64), sequenceCount, { params: '1' }),
]
